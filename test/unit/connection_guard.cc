// The guard before libpmix' listener, with a library of the test's own behind it: what reaches it, and
// what does not.
#include "server-glue/guard/connection_guard.h"

#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "test/unit/check.h"
#include "test/unit/hello.h"

using namespace pmixhost;
using namespace pmixhost::test;
using namespace std::chrono_literals;

namespace {

// Listens as the library does, and takes what it is given.
struct Fixture {
    std::unique_ptr<EventLoop> loop;
    UniqueFd log_read, log_write, library;
    std::unique_ptr<Log> log;
    sockaddr_in address{};
    std::unique_ptr<ConnectionGuard> guard;
    std::string broken;
    std::vector<std::string> heard; // of registered processes
    DescriptorRange range{512};
    bool lets_tools_in = true;
    std::vector<std::string> visits; // of tools
    pid_t visitors_pid = 0;

    explicit Fixture(GuardLimits limits = {}) {
        loop = EventLoop::create([](const std::string &) { std::abort(); }).value();
        int pipe_ends[2];
        assert_int_equal(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
        log_read.reset(pipe_ends[0]);
        log_write.reset(pipe_ends[1]);
        log = std::make_unique<Log>(log_write.get(), LogLevel::warning, "test");
        auto takeover = ListenerTakeover::create().value();
        library.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        assert_int_equal(::bind(library.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
        getsockname(library.get(), reinterpret_cast<sockaddr *>(&address), &size);
        assert_false(ListenerTakeover::wants(library.get()));
        {
            ListenerTakeover::Scope scope(*takeover);
            assert_true(ListenerTakeover::wants(library.get()));
            assert_int_equal(ListenerTakeover::take(library.get()), 0);
            assert_false(ListenerTakeover::wants(library.get())); // the first one only
        }
        ConnectionGuard::Names names;
        names.owner_of = [](const std::string &nspace, Rank rank) -> std::optional<ProcessOwner> {
            if (nspace != "slurm.1.0" || rank > 3)
                return std::nullopt;
            return ProcessOwner{geteuid(), getegid()};
        };
        names.known = [](const std::string &nspace) { return nspace == "slurm.1.0"; };
        names.let_in = [this](const std::string &nspace, Rank rank, const std::string &version) {
            heard.push_back(fmt::format("{} {} {}", nspace, rank, version));
        };
        names.turned_away = [this](const std::string &nspace, Rank rank, const std::string &why) {
            heard.push_back(fmt::format("{} {}: {}", nspace, rank, why));
        };
        names.tool_may_come = [this](const ToolVisitor &) -> std::optional<Result<void>> {
            return lets_tools_in ? Result<void>() : error(ErrorKind::denied, "no tools");
        };
        names.tool_came = [this](const ToolVisitor &visitor, const ToolConnection &connection) {
            assert_true(connection.is_here() && connection.unsent() == 0 && connection.connection.is_here());
            visits.push_back(fmt::format("'{}' {} from '{}'", visitor.nspace, visitor.rank, visitor.origin.from));
            visitors_pid = visitor.pid();
        };
        auto on_broken = [this](Error why) {
            broken = why.text;
            loop->stop();
        };
        guard =
            ConnectionGuard::open(*loop, *log, std::move(takeover), range, std::move(names), on_broken, limits).value();
    }
    // As long as `goes_on` says, for ten seconds at most.
    bool until(std::function<bool()> done) {
        TimePoint limit = loop->now() + 10s;
        while (!done()) {
            if (loop->now() > limit)
                return false;
            auto soon = loop->after(2ms, [this] { loop->stop(); });
            assert_true(loop->run().ok());
        }
        return true;
    }
    // Runs the loop until the guard has dealt with all that was sent before.
    void settle() {
        UniqueFd last = connect();
        shutdown(last.get(), SHUT_WR);
        assert_true(until([&] { return at_end(last); }));
    }
    UniqueFd connect(uid_t uid = geteuid()) {
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (uid != geteuid())
            assert_int_equal(fchown(fd.get(), uid, uid), 0);
        assert_int_equal(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        return fd;
    }
    static void say(const UniqueFd &fd, const std::string &bytes) {
        assert_int_equal(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
    }
    // The peer has closed, without a byte.
    static bool at_end(const UniqueFd &fd) {
        char byte;
        ssize_t n = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT);
        assert_true(n <= 0);
        return n == 0 || errno == ECONNRESET;
    }
    bool library_has_one() const {
        pollfd poll{library.get(), POLLIN, 0};
        return ::poll(&poll, 1, 0) > 0;
    }
    UniqueFd library_takes() { return UniqueFd(ListenerTakeover::accept(library.get())); }
    std::string logged() const {
        char text[8192];
        ssize_t n = ::read(log_read.get(), text, sizeof text);
        return std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
};

HelloText own_hello() {
    HelloText text;
    text.uid = geteuid();
    text.gid = getegid();
    text.credential = native_credential(text.uid, text.gid);
    return text;
}

void a_whole_hello_is_handed_over_unread(void **) {
    Fixture f;
    UniqueFd client = f.connect();
    std::string message = own_hello().message();
    Fixture::say(client, message + "and what comes next");
    assert_true(f.until([&] { return f.library_has_one(); }));
    UniqueFd taken = f.library_takes();
    assert_true(taken.get() >= f.range.first());
    assert_int_equal(fcntl(taken.get(), F_GETFD), FD_CLOEXEC);
    char bytes[1024];
    ssize_t n = ::recv(taken.get(), bytes, sizeof bytes, 0);
    assert_true(std::string(bytes, static_cast<std::size_t>(n)) == message + "and what comes next");
    int low_water = 0;
    socklen_t size = sizeof low_water;
    getsockopt(taken.get(), SOL_SOCKET, SO_RCVLOWAT, &low_water, &size);
    assert_int_equal(low_water, 1);
    assert_false(f.library_has_one());
    assert_int_equal(f.library_takes().get(), -1);
    assert_int_equal(errno, EAGAIN); // which the library takes for nothing
    assert_string_equal(f.logged().c_str(), "");
}

void what_the_library_has_is_not_watched_any_more(void **) {
    Fixture f;
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    UniqueFd taken = f.library_takes();
    Fixture::say(client, "what the library does not read at once");
    int rounds = 0;
    auto each = f.loop->before_waiting([&] { ++rounds; });
    auto end = f.loop->after(50ms, [&] { f.loop->stop(); });
    assert_true(f.loop->run().ok());
    assert_in_range(rounds, 1, 20);
}

void what_a_process_says_is_known(void **) {
    Fixture f;
    HelloText text = own_hello();
    text.version = "5.0.7a1";
    UniqueFd client = f.connect();
    Fixture::say(client, text.message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
    text.credential = native_credential(geteuid() + 1, getegid());
    UniqueFd mapped = f.connect();
    Fixture::say(mapped, text.message());
    assert_true(f.until([&] { return Fixture::at_end(mapped); }));
    text.rank = 4; // nobody's
    UniqueFd nobody = f.connect();
    Fixture::say(nobody, text.message());
    assert_true(f.until([&] { return Fixture::at_end(nobody); }));
    assert_int_equal(f.heard.size(), 2);
    assert_string_equal(f.heard[0].c_str(), "slurm.1.0 0 5.0.7a1");
    assert_string_equal(
        f.heard[1].c_str(),
        fmt::format("slurm.1.0 0: it claims uid {} and is of uid {}", geteuid() + 1, geteuid()).c_str());
}

void half_a_hello_is_not(void **) {
    Fixture f;
    UniqueFd client = f.connect();
    std::string message = own_hello().message();
    for (std::size_t i = 0; i + 1 < message.size(); ++i) {
        Fixture::say(client, message.substr(i, 1));
        if (i % 16 == 0)
            f.settle();
        assert_false(f.library_has_one());
    }
    Fixture::say(client, message.substr(message.size() - 1));
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
}

void silent_ones_hold_nobody_up(void **) {
    Fixture f;
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 50; ++i)
        silent.push_back(f.connect());
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
    for (const auto &fd : silent)
        assert_false(Fixture::at_end(fd));
}

void a_silent_one_has_its_time(void **) {
    Fixture f({.hello = 50ms});
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message().substr(0, 40));
    assert_true(f.until([&] { return Fixture::at_end(client); }));
    assert_non_null(strstr(f.logged().c_str(), "did not say who it is in time"));
    assert_false(f.library_has_one());
}

void of_too_many_the_oldest_goes(void **) {
    Fixture f({.waiting = 8});
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 12; ++i)
        silent.push_back(f.connect());
    assert_true(f.until([&] { return Fixture::at_end(silent[3]); }));
    for (int i = 0; i < 12; ++i)
        assert_int_equal(Fixture::at_end(silent[static_cast<std::size_t>(i)]), i < 4);
}

void a_stranger_gets_no_byte(void **) {
    if (geteuid() != 0)
        skip(); // only root can be two users
    Fixture f;
    for (uid_t uid : {1u, 60002u}) {
        for (std::uint8_t kind : {0, 4, 5, 9}) {
            UniqueFd stranger = f.connect(uid);
            HelloText text = own_hello();
            text.kind = kind;
            [[maybe_unused]] ssize_t n =
                ::send(stranger.get(), text.message().data(), text.message().size(), MSG_NOSIGNAL);
            assert_true(f.until([&] { return Fixture::at_end(stranger); }));
        }
    }
    assert_false(f.library_has_one());
    std::string lines = f.logged();
    assert_non_null(strstr(lines.c_str(), fmt::format("uid 60002, process {}, from port", getpid()).c_str()));
    assert_true(std::count(lines.begin(), lines.end(), '\n') <= 5);
}

// A socket whose other end the guard has been given, as one of a tool on another host.
UniqueFd relayed(Fixture &f, const std::string &message) {
    int ends[2];
    assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    f.guard->admit_relayed(UniqueFd(ends[1]), {"10.1.2.3", {}}, 4321);
    Fixture::say(UniqueFd(::dup(ends[0])), message);
    return UniqueFd(ends[0]);
}

void a_relayed_tool_is_judged_as_one_of_another_host(void **) {
    Fixture f;
    HelloText text = own_hello();
    text.kind = 3; // a tool that wants a name
    UniqueFd tool = relayed(f, text.message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
    assert_int_equal(f.visits.size(), 1);
    assert_string_equal(f.visits[0].c_str(), "'' 0 from '10.1.2.3'");
    assert_int_equal(f.visitors_pid, 4321); // as the desk says
    text = own_hello();                     // a process of the job is on its own host
    UniqueFd client = relayed(f, text.message());
    assert_true(f.until([&] { return Fixture::at_end(client); }));
    assert_false(f.library_has_one());
    assert_non_null(strstr(f.logged().c_str(), "relayed from 10.1.2.3 was refused: it says that it is a process"));
    f.lets_tools_in = false;
    text.kind = 3;
    UniqueFd refused = relayed(f, text.message());
    assert_true(f.until([&] { return Fixture::at_end(refused); }));
    assert_int_equal(f.visits.size(), 1);
}

void what_is_not_true_is_not_let_in(void **) {
    Fixture f;
    std::vector<std::string> bad;
    HelloText text = own_hello();
    text.rank = 4; // of another host
    bad.push_back(text.message());
    text = own_hello();
    text.nspace = "slurm.2.0";
    bad.push_back(text.message());
    text = own_hello();
    text.psec = "munge";
    bad.push_back(text.message());
    text = own_hello();
    text.credential = native_credential(geteuid() + 1, getegid());
    bad.push_back(text.message());
    text = own_hello();
    text.kind = 4; // a tool with the name of a job
    bad.push_back(text.message());
    bad.push_back("GET / HTTP/1.0\r\n\r\n");
    bad.push_back(std::string(100, '\xff'));
    for (const auto &message : bad) {
        UniqueFd client = f.connect();
        Fixture::say(client, message);
        assert_true(f.until([&] { return Fixture::at_end(client); }));
        assert_false(f.library_has_one());
    }
    // And the process whose name it was comes in.
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
}

void one_that_goes_in_the_middle_is_forgotten(void **) {
    Fixture f;
    std::string message = own_hello().message();
    for (std::size_t size : {std::size_t(0), std::size_t(7), std::size_t(16), message.size() - 1}) {
        UniqueFd client = f.connect();
        Fixture::say(client, message.substr(0, size));
        shutdown(client.get(), SHUT_WR);
        assert_true(f.until([&] { return Fixture::at_end(client); }));
    }
    assert_false(f.library_has_one());
    assert_string_equal(f.logged().c_str(), "");
}

// A client that has said its hello, and what the library has of it.
struct LetIn {
    UniqueFd client, taken;
};
LetIn let_in(Fixture &f) {
    LetIn one{f.connect(), {}};
    Fixture::say(one.client, own_hello().message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    one.taken = f.library_takes();
    return one;
}

// The library would take the end of the earlier connection for the end of what the process does now.
void who_comes_again_waits_for_its_earlier_end(void **) {
    Fixture f;
    auto first = let_in(f);
    first.client.reset();
    UniqueFd again = f.connect();
    Fixture::say(again, own_hello().message());
    f.settle();
    assert_false(f.library_has_one());
    first.taken.reset(); // now the library has seen it
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
}

void a_second_connection_of_a_process_does_not_wait(void **) {
    Fixture f({.leaving = 1h});
    auto first = let_in(f);
    let_in(f);
}

void an_earlier_end_is_not_waited_for_for_ever(void **) {
    Fixture f({.leaving = 50ms});
    auto first = let_in(f);
    first.client.reset();
    let_in(f);
}

// A tool, with a name (kind 4) or none (kind 3), that has come in; without `taken` where it was not let in.
LetIn tool_comes(Fixture &f, const std::string &name) {
    LetIn tool{f.connect(), {}};
    HelloText text = own_hello();
    text.kind = name.empty() ? 3 : 4;
    text.nspace = name;
    Fixture::say(tool.client, text.message());
    f.settle();
    if (f.library_has_one())
        tool.taken = f.library_takes();
    return tool;
}

void tools_are_not_too_many_and_of_different_names(void **) {
    Fixture f({.tools = 3});
    auto named = tool_comes(f, "one");
    assert_true(bool(named.taken));
    assert_false(bool(tool_comes(f, "one").taken));
    assert_non_null(strstr(f.logged().c_str(), "a tool is called rank 0 of 'one' already"));
    auto other = tool_comes(f, "other"), nameless = tool_comes(f, "");
    assert_true(other.taken && nameless.taken);
    assert_false(bool(tool_comes(f, "").taken));
    assert_non_null(strstr(f.logged().c_str(), "3 tools are connected already"));
    let_in(f); // processes of the job are none
    // The name of one that has gone is free as soon as the library has seen it; so is its place.
    named.client.reset();
    auto again = tool_comes(f, "one");
    assert_false(bool(again.taken));
    named.taken.reset();
    assert_true(f.until([&] { return f.library_has_one(); }));
    again.taken = f.library_takes();
    assert_false(bool(tool_comes(f, "").taken));
    other.client.reset();
    other.taken.reset();
    assert_true(bool(tool_comes(f, "").taken));
}

void a_library_that_takes_nothing_is_reported(void **) {
    Fixture f({.look = 10ms});
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message());
    assert_true(f.until([&] { return !f.broken.empty(); }));
    assert_non_null(strstr(f.broken.c_str(), "libpmix has not taken a connection"));
}

void one_that_takes_its_time_is_not(void **) {
    Fixture f({.look = 20ms});
    UniqueFd client = f.connect();
    Fixture::say(client, own_hello().message());
    assert_true(f.until([&] { return f.library_has_one(); }));
    f.library_takes();
    auto later = f.loop->now() + 150ms;
    assert_true(f.until([&] { return f.loop->now() >= later; }));
    assert_string_equal(f.broken.c_str(), "");
}

// libpmix closes twice on its error paths, with another thread's open between the two.
void a_second_close_meets_nothing(void **) {
    DescriptorRange range(512);
    range.prepare();
    assert_int_equal(range.first(), 256);
    int last = -1;
    for (int i = 0; i < 1000; ++i) { // more than once round
        UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        int low = fd.get();
        auto moved = range.move_up(std::move(fd));
        assert_true(moved.ok());
        int number = moved->release();
        assert_true(number >= range.first() && number != last);
        last = number;
        assert_int_equal(::close(number), 0);
        UniqueFd another(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        auto next = range.move_up(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
        assert_int_equal(another.get(), low);
        assert_true(next->get() != number);
        assert_int_equal(::close(number), -1);
        assert_int_equal(errno, EBADF);
    }
}

void a_full_range_goes_on_beyond(void **) {
    DescriptorRange range(64);
    std::vector<UniqueFd> taken;
    for (int i = 0; i < 100; ++i) {
        auto moved = range.move_up(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
        assert_true(moved.ok());
        taken.push_back(std::move(*moved));
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_hello_is_handed_over_unread),
        cmocka_unit_test(what_the_library_has_is_not_watched_any_more),
        cmocka_unit_test(what_a_process_says_is_known),
        cmocka_unit_test(half_a_hello_is_not),
        cmocka_unit_test(silent_ones_hold_nobody_up),
        cmocka_unit_test(a_silent_one_has_its_time),
        cmocka_unit_test(of_too_many_the_oldest_goes),
        cmocka_unit_test(a_stranger_gets_no_byte),
        cmocka_unit_test(a_relayed_tool_is_judged_as_one_of_another_host),
        cmocka_unit_test(what_is_not_true_is_not_let_in),
        cmocka_unit_test(one_that_goes_in_the_middle_is_forgotten),
        cmocka_unit_test(who_comes_again_waits_for_its_earlier_end),
        cmocka_unit_test(a_second_connection_of_a_process_does_not_wait),
        cmocka_unit_test(an_earlier_end_is_not_waited_for_for_ever),
        cmocka_unit_test(tools_are_not_too_many_and_of_different_names),
        cmocka_unit_test(a_library_that_takes_nothing_is_reported),
        cmocka_unit_test(one_that_takes_its_time_is_not),
        cmocka_unit_test(a_second_close_meets_nothing),
        cmocka_unit_test(a_full_range_goes_on_beyond),
    };
    return cmocka_run_group_tests_name("connection_guard", tests, nullptr, nullptr);
}
