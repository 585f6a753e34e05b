// What `pmixhost doctor` makes of what it sees, and the program itself with set-ups that are broken.
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/check/finding.h"
#include "common/process/captured_command.h"
#include "common/process/topology.h"
#include "common/rendezvous/gate_door.h"
#include "tools/doctor/bounded_look.h"
#include "tools/doctor/host_checks.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

constexpr char program[] = PMIXHOST_TOP_BUILDDIR "/tools/pmixhost";
using Level = Finding::Level;

void a_finding_goes_through_a_line(void **) {
    Finding finding{Level::warning, "ports", "a\ttab and a\nline", "do this"};
    std::string line = finding_line(finding);
    assert_string_equal(line.c_str(), "warning\tports\ta tab and a line\tdo this\n");
    auto parsed = parse_finding(std::string_view(line).substr(0, line.size() - 1));
    assert_true(parsed.has_value());
    assert_true(parsed->level == Level::warning);
    assert_string_equal(parsed->text.c_str(), "a tab and a line");
    assert_string_equal(parsed->cure.c_str(), "do this");
    for (const char *none : {"", "ok", "ok\tx\ty", "ok\tx\ty\tz\tmore", "fine\tx\ty\tz", "ok\t\ty\tz"})
        assert_false(parse_finding(none).has_value());
    assert_true(parse_finding("problem\tx\ty\t")->cure.empty());
    assert_true(parse_finding("ok\tx\t\x1b[2J\t")->text.find('\x1b') == std::string::npos);
}

void ports_are_judged_by_how_many_are_free(void **) {
    KernelPorts kernels{{32768, 60999}};
    assert_true(finding_of_ports({0, 0}, 0, kernels).level == Level::ok);
    assert_true(finding_of_ports({6000, 6100}, 101, kernels).level == Level::ok);
    assert_true(finding_of_ports({6000, 6100}, 0, kernels).level == Level::problem);
    assert_true(finding_of_ports({6000, 6100}, 3, std::nullopt).level == Level::warning);
    auto inside = finding_of_ports({40000, 40100}, 101, kernels);
    assert_true(inside.level == Level::warning);
    assert_non_null(
        std::strstr(inside.cure.c_str(), "add 40000-40100 to the list in net.ipv4.ip_local_reserved_ports"));
    assert_true(finding_of_ports({60000, 61000}, 1001, kernels).level == Level::warning);
    // What is reserved, the kernel gives to nobody.
    for (const char *all : {"40000-40100", "5000,39990-40100,50000", "40000-40050,40051-40099,40100\n"})
        assert_true(finding_of_ports({40000, 40100}, 101, KernelPorts{{32768, 60999}, all}).level == Level::ok);
    for (const char *some : {"40000-40099", "40001-40100", "40000-40050,40052-40100", "8080", "x"})
        assert_true(finding_of_ports({40000, 40100}, 101, KernelPorts{{32768, 60999}, some}).level == Level::warning);
    assert_true(finding_of_ports({60000, 61000}, 1001, KernelPorts{{32768, 60999}, "60000-60999"}).level == Level::ok);
}

void what_hangs_is_a_finding(void **) {
    bool hung = false;
    auto quick = look_within(
        "quick", std::chrono::seconds(60), [] { return Findings{fine("quick", "looked at")}; }, hung);
    assert_true(quick.size() == 1 && quick[0].level == Level::ok && !hung);
    auto never = std::make_shared<std::promise<void>>(); // which nobody keeps
    auto slow = look_within(
        "slow", std::chrono::milliseconds(20), [never] { return never->get_future().wait(), Findings(); }, hung);
    assert_true(slow.size() == 1 && slow[0].level == Level::problem && hung);
    assert_string_equal(slow[0].check.c_str(), "slow");
}

void room_is_judged_by_bytes_and_files(void **) {
    auto level = [](Room room) { return finding_of_room("directory", "/d", room).level; };
    assert_true(level({1ull << 30, 100000, true}) == Level::ok);
    assert_true(level({1ull << 30, 0, false}) == Level::ok); // a file system that does not count them
    assert_true(level({32ull << 20, 100000, true}) == Level::warning);
    assert_true(level({1ull << 20, 100000, true}) == Level::problem);
    assert_true(level({1ull << 30, 500, true}) == Level::warning);
    assert_true(level({1ull << 30, 0, true}) == Level::problem);
}

void debugging_is_judged_by_yama(void **) {
    assert_true(finding_of_debugging(0, "/usr/bin/gdb").level == Level::ok);
    assert_true(finding_of_debugging(0, "").level == Level::ok); // a site may do without
    auto forbidden = finding_of_debugging(1, "/usr/bin/gdb");
    assert_true(forbidden.level == Level::warning);
    assert_non_null(std::strstr(forbidden.cure.c_str(), "kernel.yama.ptrace_scope=0"));
}

void what_the_gate_refuses_is_a_warning(void **) {
    auto level = [](const Result<Refusals> &said) { return finding_of_refusals(said).level; };
    assert_true(level(Refusals()) == Level::ok);
    assert_true(level(error(ErrorKind::not_found, "no such file")) == Level::ok); // most hosts have none
    assert_true(level(error(ErrorKind::unreachable, "refused")) == Level::ok);
    assert_true(level(error(ErrorKind::timeout, "late")) == Level::warning);
    auto old = finding_of_refusals(error(ErrorKind::invalid, "'refusals' is no wish of a visitor"));
    assert_true(old.level == Level::warning && old.cure.find("systemctl restart") != old.cure.npos);
    auto some = finding_of_refusals(Refusals{30, std::chrono::minutes(5), std::chrono::seconds(12), "why\x1b"});
    assert_true(some.level == Level::warning);
    assert_string_equal(some.text.c_str(),
                        "it has refused tools of yours 30 times in the last 5 min, and the last time 12 s ago: why?");
    auto one = finding_of_refusals(Refusals{1, std::chrono::seconds(3), std::chrono::seconds(3), "why"});
    assert_string_equal(one.text.c_str(), "it has refused tools of yours once, 3 s ago: why");
}

void libraries_are_compared(void **) {
    auto level = [](LibraryVersions versions) { return finding_of_libraries(versions).level; };
    assert_true(level({"4.2.2", "4.2.2", "4.2.2"}) == Level::ok);
    assert_true(level({"4.2.2", "4.2.9", ""}) == Level::ok);
    assert_true(level({"4.2.2", "4.2.10", "4.2.9"}) == Level::ok);
    assert_true(level({"4.2.10", "4.2.9", ""}) == Level::warning);
    assert_true(level({"4.2.2", "5.0.7", ""}) == Level::problem);
    assert_true(level({"4.2.2", "4.2.2", "5.0.7"}) == Level::warning);
    assert_true(level({"4.2.2", "", "5.0.7"}) == Level::problem);
}

void a_library_that_is_never_late_is_named(void **) {
    assert_true(finding_of_library_start("late").level == Level::ok);
    assert_true(finding_of_library_start("").level == Level::warning);
    auto never = finding_of_library_start("PMIX_X is set for the PMIx library");
    assert_true(never.level == Level::warning);
    assert_non_null(std::strstr(never.text.c_str(), "PMIX_X is set"));
    assert_non_null(std::strstr(never.cure.c_str(), "daemon.library"));
}

void faults_that_are_not_mended_are_named(void **) {
    auto none = findings_of_library_faults("");
    assert_true(none.size() == 1 && none[0].level == Level::ok);
    auto two = findings_of_library_faults("with libpmix 5.0.3 this\nwith libpmix 5.0.3 that\n");
    assert_int_equal(two.size(), 2);
    for (const auto &each : two)
        assert_true(each.level == Level::warning && each.cure.starts_with("build pmixhost on a host"));
    assert_string_equal(two[1].text.c_str(), "with libpmix 5.0.3 that");
}

void commands_are_captured_and_ended(void **) {
    auto said = run_captured({"sh", "-c", "echo out; echo err >&2; exit 7"}, std::chrono::seconds(20));
    assert_true(said.ok());
    assert_int_equal(said->code, 7);
    assert_string_equal(said->out.c_str(), "out\n");
    assert_string_equal(said->err.c_str(), "err\n");
    said = run_captured({"sh", "-c", "kill -TERM $$"}, std::chrono::seconds(20));
    assert_true(said.ok() && said->code == 143);
    said = run_captured({"sh", "-c", "echo $A-$HOME"}, std::chrono::seconds(20), std::vector<std::string>{"A=b"});
    assert_true(said.ok() && said->out == "b-\n");
    assert_true(run_captured({"/nonexistent/x"}, std::chrono::seconds(20)).failure().kind == ErrorKind::not_found);
    // With what it has started, which holds the pipe.
    auto begin = std::chrono::steady_clock::now();
    auto late = run_captured({"sh", "-c", "sleep 60 & sleep 60"}, std::chrono::milliseconds(200));
    assert_true(!late && late.failure().kind == ErrorKind::timeout);
    assert_true(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    assert_true(run_captured({"yes"}, std::chrono::seconds(60)).failure().kind == ErrorKind::limit);
}

void what_was_said_is_kept(void **) {
    CaptureBounds bounds;
    bounds.patience = std::chrono::milliseconds(500);
    auto said = capture_what_comes({"sh", "-c", "echo kept; echo why >&2; sleep 60"}, bounds);
    assert_true(said.ok() && said->cut && said->cut->kind == ErrorKind::timeout);
    assert_string_equal(said->out.c_str(), "kept\n");
    assert_string_equal(said->err.c_str(), "why\n");
    // In order, with a last word, as soon as somebody wants it.
    bounds.patience = bounds.to_end = std::chrono::seconds(60);
    char directory[] = "/tmp/pmixhost-capture-XXXXXX";
    assert_non_null(mkdtemp(directory));
    std::string ready = std::string(directory) + "/ready"; // it is there once the signal is expected
    bounds.stop = [&ready] { return std::filesystem::exists(ready); };
    auto begin = std::chrono::steady_clock::now();
    said = capture_what_comes(
        {"sh", "-c", "trap 'echo last; exit 4' TERM; echo first; : >" + ready + "; while :; do sleep 0.05; done"},
        bounds);
    assert_true(said.ok() && said->cut && said->code == 4);
    assert_string_equal(said->out.c_str(), "first\nlast\n");
    assert_true(std::chrono::steady_clock::now() - begin < std::chrono::seconds(40));
    // Or by the end of its input alone.
    bounds.to_end_by_input = std::chrono::seconds(60);
    std::filesystem::remove(ready);
    said = capture_what_comes(
        {"sh", "-c", "trap 'exit 5' TERM; echo first; : >" + ready + "; read nothing; echo ended; exit 6"}, bounds);
    assert_true(said.ok() && said->cut && said->code == 6);
    assert_string_equal(said->out.c_str(), "first\nended\n");
    // By force where that does not help.
    bounds.to_end = bounds.to_end_by_input = std::chrono::milliseconds(300);
    std::filesystem::remove(ready);
    said = capture_what_comes({"sh", "-c", "trap '' TERM; : >" + ready + "; while :; do sleep 1; done"}, bounds);
    std::filesystem::remove_all(directory);
    assert_true(said.ok() && said->cut && said->code == 128 + SIGKILL);
    bounds = {};
    bounds.most = 1000;
    said = capture_what_comes({"yes"}, bounds);
    assert_true(said.ok() && said->cut && said->cut->kind == ErrorKind::limit && said->out.size() == 1000);
}

void the_machine_has_a_shape(void **) {
    auto shape = look_at_machine();
    assert_true(shape.ok());
    assert_true(shape->cpus >= 1 && shape->cpus >= shape->own_cpus && shape->own_cpus >= 1);
}

// A directory with a configuration file, and a port that is taken.
struct Host {
    std::string path;
    int listener = -1;
    unsigned port = 0;
    Host() {
        path = (std::filesystem::temp_directory_path() / "pmixhost-doctor-XXXXXX").string();
        assert_non_null(::mkdtemp(path.data()));
        listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t size = sizeof address;
        assert_int_equal(::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        assert_int_equal(::listen(listener, 1), 0);
        assert_int_equal(::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size), 0);
        port = ntohs(address.sin_port);
    }
    ~Host() {
        ::close(listener);
        std::filesystem::remove_all(path);
    }
    Host(const Host &) = delete;
    std::string config(const std::string &content) const {
        std::string file = path + "/pmixhost.conf";
        std::ofstream(file) << content;
        return file;
    }
};

// What doctor finds of one thing: the worst.
nlohmann::json look(const Host &host, const std::string &config, const std::string &check) {
    // Not the plugins' programs: what they ask is not there in a test.
    auto said = run_captured({"env", "PMIXHOST_PMIXHOSTD=" + host.path + "/none/pmixhostd", program, "doctor", "--json",
                              "--file", host.config(config)},
                             std::chrono::seconds(120));
    assert_true(said.ok());
    auto all = nlohmann::json::parse(said->out, nullptr, false);
    assert_true(all.is_array() && all.size() == 1);
    assert_int_equal(said->code, 1); // there is no daemon
    nlohmann::json worst;
    for (const auto &one : all[0]["findings"]) {
        bool worse =
            worst.is_null() || one["level"] == "problem" || (one["level"] == "warning" && worst["level"] == "ok");
        if (one["check"] == check && worse)
            worst = one;
        assert_true((one["level"] == "ok") == one["cure"].is_null());
    }
    if (worst.is_null())
        fail_msg("nothing of %s in %s", check.c_str(), said->out.c_str());
    return worst;
}

void finds(const nlohmann::json &finding, const char *level, const std::string &text, const std::string &cure) {
    assert_string_equal(finding["level"].get<std::string>().c_str(), level);
    if (finding["text"].get<std::string>().find(text) == std::string::npos)
        fail_msg("'%s' is not in %s", text.c_str(), finding.dump().c_str());
    if (!cure.empty() && finding["cure"].get<std::string>().find(cure) == std::string::npos)
        fail_msg("'%s' is not in %s", cure.c_str(), finding.dump().c_str());
}

void broken_set_ups_are_named_with_their_cure(void **) {
    Host host;
    finds(look(host, "", "configuration"), "ok", "", "");
    finds(look(host, "", "ports"), "ok", "any", "");
    finds(look(host, "", "policy"), "ok", "", "");
    finds(look(host, "", "remedies"), "ok", "openmpi-han", "");
    finds(look(host, "", "topology"), "ok", "CPUs", "");
    finds(look(host, "", "daemon"), "problem", "none/pmixhostd", "install pmixhost again");
    finds(look(host, "transport.ports = \"6100-6000\"\n", "configuration"), "problem",
          "pmixhost.conf:1: ", "mend that line");
    std::string port = std::to_string(host.port);
    finds(look(host, "transport.ports = \"" + port + "\"\n", "ports"), "problem", "0 of 1 free", "transport.ports");
    finds(look(host, "transport.interfaces = [\"nosuch0\"]\n", "interfaces"), "problem", "nosuch0",
          "transport.interfaces");
    finds(look(host, "directory.base = \"" + host.path + "/gone\"\n", "directory"), "problem", "/gone: No such file",
          "mkdir -m 1777 " + host.path + "/gone");
    finds(look(host, "directory.base = \"" + host.path + "/pmixhost.conf\"\n", "directory"), "problem", "no directory",
          "directory.base");
    finds(look(host, "tools.policy = [\"allow observe by nobodyofthatname to jobs of anyone from here\"]\n", "policy"),
          "problem", "nobodyofthatname", "mend that rule");
    finds(look(host,
               "tools.policy = [\"deny everything by anyone to jobs of anyone from anywhere\",\n"
               "\"allow observe by root to jobs of root from here\"]\n",
               "policy"),
          "warning", "can never match", "take it out");
    finds(look(host, "tools.policy = [\"allow input by root to jobs of anyone from 192.0.2.0/24\"]\n", "policy"),
          "warning", "gives nothing on jobs of others", "allow everything from an address");
    finds(look(host, "mpi.remedies = [\"pmix-store\"]\n", "remedies"), "warning", "openmpi-han", "mpi.remedies");
    finds(look(host, "directory.base = \"/var/tmp\"\n", "tools"), "warning", "servers are below /var/tmp",
          "PMIX_SYSTEM_TMPDIR=/var/tmp");
}

void a_directory_that_not_everybody_may_use_is_a_problem(void **) {
    Host host;
    std::string own = host.path + "/own";
    std::filesystem::create_directory(own);
    std::filesystem::permissions(own, std::filesystem::perms(::geteuid() == 0 ? 0700 : 0500));
    finds(look(host, "directory.base = \"" + own + "\"\n", "directory"), "problem", own, "chmod 1777");
}

// A gate that says to each who comes what it has refused.
void the_gate_is_asked(void **) {
    Host host;
    std::string config = "gate.door = \"" + host.path + "\"\n";
    finds(look(host, "gate.door = \"\"\n", "gate"), "ok", "gate.door is empty", "");
    finds(look(host, config, "gate"), "ok", "none runs on this host", "");
    UniqueFd door(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    gate_door_path(host.path).copy(address.sun_path, sizeof address.sun_path - 1);
    assert_int_equal(::bind(door.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    finds(look(host, config, "gate"), "ok", "none runs on this host", ""); // one that has not taken it away
    assert_int_equal(::listen(door.get(), 8), 0);
    std::string asked;
    std::thread gate([&] {
        UniqueFd comes(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char bytes[100];
        ssize_t there = ::recv(comes.get(), bytes, sizeof bytes, 0);
        asked.assign(bytes, static_cast<std::size_t>(std::max<ssize_t>(there, 0)));
        std::string word = refusals_word({3, std::chrono::seconds(60), std::chrono::seconds(7), "several steps"});
        ::send(comes.get(), word.data(), word.size(), MSG_NOSIGNAL);
    });
    auto found = look(host, config, "gate");
    ::shutdown(door.get(), SHUT_RDWR); // where nobody came
    gate.join();
    assert_string_equal(asked.c_str(), std::string(asks_for_refusals).c_str());
    finds(found, "warning", "refused tools of yours 3 times in the last 60 s, and the last time 7 s ago: several steps",
          "policy explain");
}

void a_wrong_command_line_is_another_code(void **) {
    auto said = run_captured({program, "doctor", "--what"}, std::chrono::seconds(60));
    assert_true(said.ok() && said->code == 2);
    said = run_captured({program, "doctor", "--help"}, std::chrono::seconds(60));
    assert_true(said.ok() && said->code == 0);
    assert_true(said->out.find("--all-hosts") != std::string::npos && said->out.find("--library") == std::string::npos);
}

} // namespace

int main() {
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
    ::setenv("TMPDIR", "/tmp", 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_goes_through_a_line),
        cmocka_unit_test(ports_are_judged_by_how_many_are_free),
        cmocka_unit_test(what_hangs_is_a_finding),
        cmocka_unit_test(room_is_judged_by_bytes_and_files),
        cmocka_unit_test(debugging_is_judged_by_yama),
        cmocka_unit_test(what_the_gate_refuses_is_a_warning),
        cmocka_unit_test(libraries_are_compared),
        cmocka_unit_test(a_library_that_is_never_late_is_named),
        cmocka_unit_test(faults_that_are_not_mended_are_named),
        cmocka_unit_test(commands_are_captured_and_ended),
        cmocka_unit_test(what_was_said_is_kept),
        cmocka_unit_test(the_machine_has_a_shape),
        cmocka_unit_test(broken_set_ups_are_named_with_their_cure),
        cmocka_unit_test(a_directory_that_not_everybody_may_use_is_a_problem),
        cmocka_unit_test(the_gate_is_asked),
        cmocka_unit_test(a_wrong_command_line_is_another_code),
    };
    return cmocka_run_group_tests_name("doctor", tests, nullptr, nullptr);
}
