// What a desk of the gate does with tools whose user has no job, where the lobbies do what the test says: they end at
// each point, answer late, twice or with nonsense, and do not end. A lobby is this program itself.
#include "server-glue/desk/desk_lobbies.h"

#include "common/base/fd_pair.h"
#include "server-glue/core/central_roles.h"

#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr const char *secret = "between a desk and its lobbies";

// --- a lobby ----------------------------------------------------------------------------------------

constexpr int channel = 3;
constexpr HostIndex the_desk = 1;

void say(const std::string &line) {
    [[maybe_unused]] ssize_t n = ::send(channel, line.data(), line.size(), MSG_NOSIGNAL);
}

// A daemon that relays nothing but echoes.
struct FakeLobby {
    std::string_view how;
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "lobby"};
    Settings settings;
    std::unique_ptr<Mesh> mesh;
    EventLoop::Handle watch;

    explicit FakeLobby(std::string_view mode) : how(mode) {
        auto made = EventLoop::create([](const std::string &) { _exit(9); });
        loop = std::move(*made);
        settings.transport_interfaces = {"lo"};
        watch = loop->watch(channel, EventLoop::readable, [this](unsigned) { hear(); });
    }
    template <typename Message> void tell(const Message &message) {
        mesh->send(the_desk, Message::type, share(wire::encode(message)));
    }
    void hear() {
        char bytes[8192];
        ssize_t n = ::recv(channel, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0)
            return;
        if (n == 0 || how == "ends when called")
            return loop->stop();
        std::string_view call(bytes, static_cast<std::size_t>(n));
        auto message = wire::decode<wire::DeskCall>(Bytes(call.substr(desk_call.size())));
        if (mesh || !message || how == "never comes")
            return;
        auto made = Mesh::create(
            *loop, log, settings, message->key, 0, 2, make_secret_authenticator(secret),
            {[this](HostIndex, std::uint8_t type, Bytes payload) { on_message(type, payload); },
             [this](HostIndex, Mesh::Gone, const Error &) { loop->post([this] { mesh.reset(); }); }, nullptr},
            Mesh::Listening::no);
        if (!made)
            return loop->stop();
        mesh = std::move(*made);
        mesh->on_contact(message->contact);
    }
    void greet() {
        wire::DeskGreeting greeting;
        greeting.nspace = greeting.server_nspace = "lobby";
        greeting.version = "1";
        if (how == "refuses")
            greeting.refusal = "the rules\nsay no";
        tell(greeting);
    }
    void on_message(std::uint8_t type, const Bytes &payload) {
        if (type == wire::DeskHello::type) {
            if (how == "ends when greeted")
                return loop->stop();
            if (how == "speaks nonsense") {
                mesh->send(the_desk, 7, share(Bytes("what is this")));
                mesh->send(the_desk, wire::DeskGreeting::type, share(Bytes("\xff\xff")));
                mesh->send(the_desk, wire::RelayTaken::type, share(wire::encode(wire::RelayTaken{77, 5})));
                mesh->send(the_desk, wire::RelayBytes::type, share(wire::encode(wire::RelayBytes{78, "x"})));
            }
            if (how == "comes late") {
                sigset_t go;
                sigemptyset(&go);
                sigaddset(&go, SIGUSR1);
                int number = 0;
                ::sigwait(&go, &number);
            }
            greet();
            if (how == "greets twice")
                greet();
        } else if (type == wire::RelayOpen::type && how == "ends with a tool") {
            loop->stop();
        } else if (type == wire::RelayBytes::type) {
            auto bytes = wire::decode<wire::RelayBytes>(payload);
            tell(wire::RelayTaken{bytes->id, static_cast<std::uint32_t>(bytes->bytes.size())});
            tell(*bytes);
        }
    }
};

int be_lobby(char **argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // also when an assertion has failed
    sigset_t go;
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &go, nullptr);
    std::string_view how = argv[3];
    if (how == "ends at once")
        return 0;
    std::filesystem::create_directories(std::string(argv[4]) + "/of-libpmix");
    say(fmt::format("pid {}", ::getpid()));
    if (how == "tells") {
        say("why\n\x1b[31mred");
        say(std::string(6000, 'x'));
        say("");
    }
    FakeLobby lobby(how);
    (void)lobby.loop->run();
    while (how == "does not end")
        ::pause();
    if (how != "is killed")
        std::filesystem::remove_all(argv[4]);
    return 0;
}

// --- the desk ---------------------------------------------------------------------------------------

struct Tool {
    UniqueFd fd;
    void say(std::string_view text) const {
        assert_int_equal(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), text.size());
    }
    // "(gone)" when it was closed.
    std::string heard() const {
        char bytes[256];
        ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : n == 0 ? "(gone)" : "";
    }
};

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "desk_lobbies"};
    Settings settings;
    std::string directory;
    std::vector<std::string> refused, told; // without "pid N"
    std::vector<pid_t> pids;
    std::optional<DeskLobbies> lobbies;
    EventLoop::Handle tidy;

    explicit Fixture(const std::string &how, Duration patience = 1min,
                     const std::string &program = std::filesystem::read_symlink("/proc/self/exe")) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        char name[] = "/tmp/pmixhost-desk-lobbies.XXXXXX";
        directory = mkdtemp(name);
        settings.directory_base = directory;
        settings.transport_interfaces = {"lo"};
        lobbies.emplace(DeskLobbies::Start{*loop, log, settings, how, program,
                                           [this](const std::string &why) { refused.push_back(why); },
                                           [this](const std::string &what) {
                                               int pid = 0;
                                               if (std::sscanf(what.c_str(), "pid %d", &pid) == 1)
                                                   pids.push_back(pid);
                                               else
                                                   told.push_back(what);
                                           },
                                           [] { return make_secret_authenticator(secret); }, patience});
        tidy = loop->before_waiting([this] { lobbies->tidy(); });
    }
    ~Fixture() {
        tidy.reset();
        lobbies.reset();
        for (pid_t pid : pids) { // those that have not been waited for are still this process' children
            if (::waitpid(pid, nullptr, WNOHANG) == 0 && ::kill(pid, SIGKILL) == 0)
                ::waitpid(pid, nullptr, 0);
        }
        std::filesystem::remove_all(directory);
    }
    Tool come() {
        auto ends = make_socket_pair(SOCK_STREAM, SOCK_NONBLOCK);
        assert_true(ends.ok());
        lobbies->take({std::move(ends->second)});
        return {std::move(ends->first)};
    }
    std::string await(const Tool &tool) const {
        std::string heard;
        run_until(*loop, [&] { return !(heard = tool.heard()).empty(); });
        return heard;
    }
    void serves(const Tool &tool) const {
        tool.say("hello");
        assert_string_equal(await(tool).c_str(), "hello");
    }
    void await_empty() const {
        run_until(*loop, [&] { return lobbies->size() == 0 && std::filesystem::is_empty(directory); });
    }
    // A tool comes, and is closed for this reason.
    void is_refused(const char *why) {
        Tool tool = come();
        assert_string_equal(await(tool).c_str(), "(gone)");
        assert_int_equal(refused.size(), 1);
        if (!std::strstr(refused[0].c_str(), why))
            fail_msg("%s", refused[0].c_str());
        await_empty();
    }
};

void a_tool_is_relayed_and_its_lobby_goes_with_it(void **) {
    Fixture f("serves");
    {
        Tool tool = f.come(), other = f.come();
        f.serves(tool);
        f.serves(other);
        assert_int_equal(f.lobbies->size(), 2);
        assert_int_equal(f.pids.size(), 2);
        tool.fd.reset();
        run_until(*f.loop, [&] { return f.lobbies->size() == 1; });
        f.serves(other);
    }
    f.await_empty();
    assert_int_equal(f.refused.size(), 0);
}

void a_lobby_that_ends_before_it_serves_closes_its_tool(void **) {
    for (const char *how : {"ends at once", "ends when called", "ends when greeted"}) {
        Fixture f(how);
        f.is_refused("the server for tools whose user has no job does not serve: ");
    }
}

void a_lobby_that_cannot_be_started_is_told(void **) {
    Fixture f("serves", 1min, "/nowhere/pmixhostd");
    f.is_refused("/nowhere/pmixhostd cannot be started: No such file or directory");
}

void a_lobby_that_ends_with_its_tool_there_closes_it(void **) {
    Fixture f("ends with a tool");
    Tool tool = f.come();
    assert_string_equal(f.await(tool).c_str(), "(gone)");
    f.await_empty();
    assert_int_equal(f.refused.size(), 0); // it has been served
}

void what_the_rules_refuse_is_told_in_one_line(void **) {
    Fixture f("refuses");
    f.is_refused("job lobby lets no tools of this host in: the rules say no");
}

void a_lobby_that_speaks_twice_or_nonsense_serves_all_the_same(void **) {
    for (const char *how : {"greets twice", "speaks nonsense"}) {
        Fixture f(how);
        {
            Tool tool = f.come();
            f.serves(tool);
        }
        f.await_empty();
        assert_int_equal(f.refused.size(), 0);
    }
}

void a_tool_that_goes_before_its_lobby_comes_leaves_nothing(void **) {
    Fixture f("comes late");
    {
        Tool tool = f.come();
        run_until(*f.loop, [&] { return f.pids.size() == 1; });
    }
    assert_int_equal(::kill(f.pids[0], SIGUSR1), 0);
    f.await_empty();
    assert_int_equal(f.refused.size(), 0);
}

void what_a_lobby_tells_comes_as_printable_text(void **) {
    Fixture f("tells");
    Tool tool = f.come();
    f.serves(tool);
    run_until(*f.loop, [&] { return f.told.size() == 2; });
    assert_null(std::strpbrk(f.told[0].c_str(), "\n\x1b"));
    assert_non_null(std::strstr(f.told[0].c_str(), "red"));
    assert_true(f.told[1].size() <= 4096 + 3);
    assert_true(f.refused.empty());
}

void a_killed_lobby_leaves_no_directory(void **) {
    Fixture f("is killed");
    Tool tool = f.come();
    f.serves(tool);
    assert_false(std::filesystem::is_empty(f.directory));
    assert_int_equal(::kill(f.pids.at(0), SIGKILL), 0);
    assert_string_equal(f.await(tool).c_str(), "(gone)");
    f.await_empty();
}

void there_are_so_many_tools_at_a_time(void **) {
    Fixture f("serves");
    std::vector<Tool> tools;
    for (std::size_t i = 0; i < DeskLobbies::most; ++i) {
        tools.push_back(f.come());
        f.serves(tools.back());
    }
    assert_string_equal(f.await(f.come()).c_str(), "(gone)");
    assert_int_equal(f.refused.size(), 1);
    assert_string_equal(f.refused[0].c_str(), "the user has no job, and 4 tools are here already that may start some");
    tools.pop_back();
    run_until(*f.loop, [&] { return f.lobbies->size() < DeskLobbies::most; });
    tools.push_back(f.come());
    f.serves(tools.back());
}

void lobbies_that_do_not_end_count(void **) {
    Fixture f("does not end");
    for (std::size_t i = 0; i < DeskLobbies::most_processes; ++i) {
        Tool tool = f.come();
        f.serves(tool);
        if (i == 0)
            assert_int_equal(::kill(f.pids[0], SIGSTOP), 0);
    }
    auto none_is_served = [&] {
        Tool late = f.come();
        return f.await(late) == "(gone)" && !f.refused.empty();
    };
    run_until(*f.loop, [] { return true; });
    assert_true(none_is_served());
    assert_non_null(std::strstr(f.refused.back().c_str(), "have not ended yet; what does not end within 60 s"));
    assert_int_equal(f.lobbies->size(), DeskLobbies::most_processes);
    assert_int_equal(::kill(f.pids[0], SIGKILL), 0);
    run_until(*f.loop, [&] { return f.lobbies->size() < DeskLobbies::most_processes; });
    Tool tool = f.come();
    f.serves(tool);
}

void a_lobby_that_does_not_end_is_killed(void **) {
    Fixture f("does not end", 50ms);
    {
        Tool tool = f.come();
        f.serves(tool);
        assert_int_equal(::kill(f.pids.at(0), SIGSTOP), 0); // which no signal ends but SIGKILL
    }
    f.await_empty();
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 5 && std::strcmp(argv[1], "--lobby") == 0)
        return be_lobby(argv);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_relayed_and_its_lobby_goes_with_it),
        cmocka_unit_test(a_lobby_that_ends_before_it_serves_closes_its_tool),
        cmocka_unit_test(a_lobby_that_cannot_be_started_is_told),
        cmocka_unit_test(a_lobby_that_ends_with_its_tool_there_closes_it),
        cmocka_unit_test(what_the_rules_refuse_is_told_in_one_line),
        cmocka_unit_test(a_lobby_that_speaks_twice_or_nonsense_serves_all_the_same),
        cmocka_unit_test(a_tool_that_goes_before_its_lobby_comes_leaves_nothing),
        cmocka_unit_test(what_a_lobby_tells_comes_as_printable_text),
        cmocka_unit_test(a_killed_lobby_leaves_no_directory),
        cmocka_unit_test(there_are_so_many_tools_at_a_time),
        cmocka_unit_test(lobbies_that_do_not_end_count),
        cmocka_unit_test(a_lobby_that_does_not_end_is_killed),
    };
    return cmocka_run_group_tests_name("lobbies of a desk", tests, nullptr, nullptr);
}
