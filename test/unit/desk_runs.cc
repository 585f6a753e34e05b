// What a desk runs for other users: who gets it, into which descriptors, with which environment, and that it ends.
#include "server-glue/desk/desk_runs.h"

#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "server-glue/gate/desk_channel.h"

#include "test/unit/check.h"
#include "test/unit/lingering.h"
#include "test/unit/run_until.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// In the place of pmixhost, by the job that it is asked for.
constexpr auto program = R"(#!/bin/sh
shift $(($# - 1))
case $1 in
says) echo out; echo err >&2; exit 3 ;;
environment) env | sort ;;
descriptors) ls -l /proc/self/fd | sed 's/.* \([0-9]* ->\)/\1/' ;;
group) ps -o pgid= -p $$ | tr -d ' ' ; echo $$ ;;
dies) kill -SEGV $$ ;;
stays) sleep 1000 & echo $!; echo $$; trap '' TERM; while :; do sleep 1000; done ;;
leaves) sleep 1000 & echo $!; exit 0 ;;
esac
)";

struct Asking {
    UniqueFd connection, out, err;
    std::string said() const {
        char bytes[4096];
        ssize_t there = ::recv(connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        return there > 0 ? std::string(bytes, static_cast<std::size_t>(there)) : there == 0 ? "(gone)" : "";
    }
};

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "desk_runs"};
    std::string directory;
    std::unique_ptr<DeskRuns> runs;

    Fixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        char name[] = "/tmp/pmixhost-desk-runs.XXXXXX";
        directory = mkdtemp(name);
        std::ofstream(directory + "/pmixhost") << program;
        assert_int_equal(::chmod((directory + "/pmixhost").c_str(), 0700), 0);
        runs = std::make_unique<DeskRuns>(*loop, log, directory + "/pmixhost");
    }
    ~Fixture() {
        runs.reset();
        std::filesystem::remove_all(directory);
    }
    Asking ask(const std::string &job, AskedRun run = {"ps", {}}, uid_t user = ::geteuid()) {
        auto ends = make_socket_pair(SOCK_SEQPACKET, SOCK_NONBLOCK);
        assert_true(ends.ok());
        runs->take(std::move(ends->second), {user, job, std::move(run)});
        return {std::move(ends->first), {}, {}};
    }
    std::string await(const Asking &asking) const {
        std::string word;
        run_until(*loop, [&] { return !(word = asking.said()).empty(); });
        return word;
    }
    void give_pipes(Asking &asking) const {
        auto out = make_pipe(), err = make_pipe();
        assert_true(out.ok() && err.ok());
        assert_true(
            send_descriptors(asking.connection.get(), std::string(run_pipes), {out->second.get(), err->second.get()})
                .ok());
        asking.out = std::move(out->first);
        asking.err = std::move(err->first);
        ::fcntl(asking.out.get(), F_SETFL, O_NONBLOCK);
        ::fcntl(asking.err.get(), F_SETFL, O_NONBLOCK);
    }
    Asking run(const std::string &job) {
        Asking asking = ask(job);
        assert_string_equal(await(asking).c_str(), "ready");
        give_pipes(asking);
        return asking;
    }
    // All of it, until nobody can write there any more.
    std::string read_all(const UniqueFd &from) const {
        std::string all;
        run_until(*loop, [&] {
            char bytes[4096];
            ssize_t there = ::read(from.get(), bytes, sizeof bytes);
            if (there > 0)
                all.append(bytes, static_cast<std::size_t>(there));
            return there == 0;
        });
        return all;
    }
    // So many lines with a number.
    std::vector<pid_t> read_numbers(const UniqueFd &from, std::size_t count) const {
        std::string all;
        run_until(*loop, [&] {
            char bytes[4096];
            ssize_t there = ::read(from.get(), bytes, sizeof bytes);
            if (there > 0)
                all.append(bytes, static_cast<std::size_t>(there));
            return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')) >= count;
        });
        std::istringstream in(all);
        std::vector<pid_t> numbers(count);
        for (auto &each : numbers)
            in >> each;
        return numbers;
    }
    void await_end_of(pid_t process) const {
        run_until(*loop, [process] {
            std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
            std::string text;
            std::getline(stat, text);
            // A zombie that this process' own parent does not wait for has ended as well.
            return text.empty() || text.substr(text.rfind(')') + 2, 1) == "Z";
        });
    }
};

void its_output_and_its_code_come(void **) {
    Fixture f;
    Asking asking = f.run("says");
    assert_string_equal(f.read_all(asking.out).c_str(), "out\n");
    assert_string_equal(f.read_all(asking.err).c_str(), "err\n");
    assert_string_equal(f.await(asking).c_str(), "ended 3");
    assert_string_equal(f.await(asking).c_str(), "(gone)");
    assert_int_equal(f.runs->size(), 0);
    asking = f.run("dies");
    assert_string_equal(f.await(asking).c_str(), fmt::format("ended {}", 128 + SIGSEGV).c_str());
}

void nothing_of_others_gets_there(void **) {
    ::setenv("LD_LIBRARY_PATH", "/of-somebody-else", 1);
    ::setenv("PMIXHOST_PMIXHOSTD", "/of-somebody-else", 1);
    ::setenv("PMIX_SERVER_URI4", "of-somebody-else", 1);
    UniqueFd open(::open("/dev/null", O_RDONLY)); // not close-on-exec
    Fixture f;
    Asking asking = f.run("environment");
    std::string all = f.read_all(asking.out);
    ::unsetenv("LD_LIBRARY_PATH"), ::unsetenv("PMIXHOST_PMIXHOSTD"), ::unsetenv("PMIX_SERVER_URI4");
    assert_null(strstr(all.c_str(), "of-somebody-else"));
    assert_non_null(strstr(all.c_str(), "\nPATH=/usr/local/bin:/usr/bin:/bin:"));
    assert_non_null(strstr(all.c_str(), fmt::format("PMIXHOST_ASKED_BY={} observe\n", ::geteuid()).c_str()));
    asking = f.run("descriptors");
    std::istringstream lines(f.read_all(asking.out));
    std::vector<std::string> fds;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("->") != line.npos && line.find("/proc/") == line.npos) // that ls(1) lists
            fds.push_back(line);
    }
    assert_int_equal(fds.size(), 3);
    assert_string_equal(fds[0].c_str(), "0 -> /dev/null");
    assert_true(fds[1].starts_with("1 -> pipe:") && fds[2].starts_with("2 -> "));
    asking = f.run("group");
    auto numbers = f.read_numbers(asking.out, 2);
    assert_int_equal(numbers[0], numbers[1]);
    assert_int_not_equal(numbers[0], ::getpgrp());
}

void only_two_pipes_will_do(void **) {
    Fixture f;
    UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC)), file(::open(f.directory.c_str(), O_RDONLY | O_CLOEXEC));
    auto pipe = make_pipe(), sockets = make_socket_pair();
    assert_true(pipe.ok() && sockets.ok());
    int end = pipe->second.get();
    auto refused = [&f](auto send) {
        Asking asking = f.ask("says");
        assert_string_equal(f.await(asking).c_str(), "ready");
        send(asking.connection.get());
        std::string said = f.await(asking);
        assert_true(said.starts_with("failed invalid "));
        assert_int_equal(f.runs->size(), 0);
    };
    for (int other : {null.get(), file.get(), sockets->first.get(), pipe->first.get()}) {
        refused([&](int to) { assert_true(send_descriptors(to, "pipes", {end, other}).ok()); });
        refused([&](int to) { assert_true(send_descriptors(to, "pipes", {other, end}).ok()); });
    }
    refused([&](int to) { assert_true(send_descriptors(to, "pipes", {end}).ok()); });
    refused([&](int to) { assert_true(send_descriptors(to, "Pipes", {end, end}).ok()); });
    refused([&](int to) { assert_int_equal(::send(to, "pipes", 5, 0), 5); });
    refused([&](int to) { // three
        iovec part{const_cast<char *>("pipes"), 5};
        alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = "";
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(3 * sizeof(int));
        const int three[] = {end, end, end};
        std::memcpy(CMSG_DATA(header), three, sizeof three);
        assert_int_equal(::sendmsg(to, &message, 0), 5);
    });
    // None of all these has stayed open here.
    pipe->second.reset();
    char byte = 0;
    assert_int_equal(::read(pipe->first.get(), &byte, 1), 0);
}

// A socket that takes its time to close, in the place of a pipe and behind what is read.
void what_is_sent_holds_nobody(void **) {
    Fixture f;
    auto pipe = make_pipe();
    assert_true(pipe.ok());
    auto begun = std::chrono::steady_clock::now();
    {
        Lingering first, second;
        Asking asking = f.ask("says");
        assert_string_equal(f.await(asking).c_str(), "ready");
        for (Lingering *each : {&first, &second}) {
            assert_true(send_descriptors(asking.connection.get(), "pipes", {pipe->second.get(), each->end.get()}).ok());
            each->end.reset();
        }
        assert_true(f.await(asking).starts_with("failed invalid "));
        run_until(*f.loop, [&] { return asking.said() == "(gone)"; });
    }
    assert_true(std::chrono::steady_clock::now() - begun < 10s);
}

void who_gives_no_pipes_is_refused(void **) {
    Fixture f;
    auto began = f.loop->now();
    Asking asking = f.ask("says");
    assert_string_equal(f.await(asking).c_str(), "ready");
    assert_true(f.await(asking).starts_with("failed timeout "));
    assert_true(f.loop->now() - began >= 5s && f.loop->now() - began < 15s);
    asking = f.ask("says");
    assert_string_equal(f.await(asking).c_str(), "ready");
    asking.connection.reset();
    run_until(*f.loop, [&f] { return f.runs->size() == 0; });
}

void the_gate_is_not_believed(void **) {
    Fixture f;
    assert_string_equal(f.await(f.ask("says", {"ps", {}}, ::geteuid() + 1)).c_str(), "(gone)"); // whoever it is
    assert_true(f.await(f.ask("says", {"with", {}})).starts_with("failed unsupported 'with'"));
    assert_true(f.await(f.ask("says", {"ps", {"--config=/x"}})).starts_with("failed unsupported "));
    assert_true(f.await(f.ask("says", {"get", {"0"}})).starts_with("failed invalid "));
    assert_int_equal(f.runs->size(), 0);
}

void it_ends_with_its_connection(void **) {
    Fixture f;
    Asking asking = f.run("stays"); // and does not heed SIGTERM
    auto processes = f.read_numbers(asking.out, 2);
    asking.connection.reset();
    f.await_end_of(processes[0]);
    f.await_end_of(processes[1]);
    run_until(*f.loop, [&f] { return f.runs->size() == 0; });
}

void what_it_started_ends_with_it(void **) {
    Fixture f;
    Asking asking = f.run("leaves");
    auto processes = f.read_numbers(asking.out, 1);
    assert_string_equal(f.await(asking).c_str(), "ended 0");
    f.await_end_of(processes[0]);
}

void it_ends_with_the_desk(void **) {
    Fixture f;
    Asking asking = f.run("stays");
    auto processes = f.read_numbers(asking.out, 2);
    f.runs.reset();
    f.await_end_of(processes[0]);
    f.await_end_of(processes[1]);
}

void so_many_at_a_time(void **) {
    Fixture f;
    std::vector<Asking> kept;
    for (std::size_t i = 0; i < DeskRuns::most_of_one; ++i)
        kept.push_back(f.run("stays"));
    assert_true(f.await(f.ask("says")).starts_with("failed limit 2 commands of yours "));
    kept.pop_back();
    run_until(*f.loop, [&f] { return f.runs->size() == DeskRuns::most_of_one - 1; });
    Asking next = f.run("says");
    assert_string_equal(f.read_all(next.out).c_str(), "out\n");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(its_output_and_its_code_come),  cmocka_unit_test(nothing_of_others_gets_there),
        cmocka_unit_test(only_two_pipes_will_do),        cmocka_unit_test(what_is_sent_holds_nobody),
        cmocka_unit_test(who_gives_no_pipes_is_refused), cmocka_unit_test(the_gate_is_not_believed),
        cmocka_unit_test(it_ends_with_its_connection),   cmocka_unit_test(what_it_started_ends_with_it),
        cmocka_unit_test(it_ends_with_the_desk),         cmocka_unit_test(so_many_at_a_time),
    };
    return cmocka_run_group_tests_name("what a desk runs for other users", tests, nullptr, nullptr);
}
