// Tools of other hosts: at the gate's door, of whom nothing is known, and at the desk, which does not believe the gate.
// munged is played by a function, but where it is not reached anyway.
#include "server-glue/desk/remote_tools.h"
#include "common/policy/accounts.h"
#include "server-glue/gate/remote_door.h"
#include "server-glue/guard/remote_hello.h"

#include "test/unit/check.h"
#include "test/unit/hello.h"
#include "test/unit/run_until.h"

#include <atomic>
#include <cstring>
#include <future>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace pmixhost;
using namespace pmixhost::test;
using namespace std::chrono_literals;

namespace {

HelloText tool_of(uid_t uid) {
    HelloText text;
    text.psec = "munge";
    text.credential = z("MUNGE:" + std::to_string(uid) + ":");
    text.kind = 3;
    text.uid = uid;
    return text;
}

struct Network {
    UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_in address{};
    Network() {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        assert_int_equal(::bind(listener.get(), generic(), size), 0);
        assert_int_equal(::listen(listener.get(), 64), 0);
        assert_int_equal(::getsockname(listener.get(), generic(), &size), 0);
    }
    sockaddr *generic() { return reinterpret_cast<sockaddr *>(&address); }
    UniqueFd connect(const std::string &says = "") {
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        assert_int_equal(::connect(fd.get(), generic(), sizeof address), 0);
        if (!says.empty())
            assert_int_equal(::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL), says.size());
        return fd;
    }
};

bool has_ended(const UniqueFd &fd) {
    char byte;
    ssize_t there = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT);
    return there == 0 || (there < 0 && errno == ECONNRESET);
}

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "remote_tools"};
    Network network;
    bool may_come = true;
    std::atomic<int> asked{0};
    std::vector<RemoteDoor::Tool> tools;      // that the gate knows
    std::vector<RemoteTools::Tool> at_desk;   // likewise the desk
    std::vector<std::string> why_not_at_desk; // it has refused one
    uid_t munge_says = 4711;
    bool agrees = true;                       // what else is known
    std::shared_future<void> munge_waits_for; // if there is any

    Fixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
    }
    std::function<Result<Identity>(const std::string &, const std::string &)> munge() {
        return [this, says = munge_says, waits_for = munge_waits_for](const std::string &,
                                                                      const std::string &address) -> Result<Identity> {
            ++asked;
            if (waits_for.valid())
                waits_for.wait();
            if (says == static_cast<uid_t>(-1) || address != "127.0.0.1")
                return error(ErrorKind::denied, "munge refuses the credential");
            return Identity{says, 100};
        };
    }
    std::function<Result<void>(int, const std::string &, uid_t)> others() {
        return [this](int connection, const std::string &address, uid_t user) -> Result<void> {
            assert_true(connection >= 0);
            assert_string_equal(address.c_str(), "127.0.0.1");
            assert_int_equal(user, munge_says);
            if (agrees)
                return {};
            return error(ErrorKind::denied, "the kernel knows better");
        };
    }
    std::unique_ptr<RemoteDoor> door(RemoteDoor::Limits limits = {}) {
        std::vector<UniqueFd> listeners;
        listeners.push_back(std::move(network.listener));
        return std::make_unique<RemoteDoor>(
            *loop, log, std::move(listeners),
            RemoteDoor::Port{[this](const std::string &) { return may_come; },
                             [this](RemoteDoor::Tool tool) { tools.push_back(std::move(tool)); }, munge(), others()},
            limits);
    }
    std::unique_ptr<RemoteTools> desk() {
        return std::make_unique<RemoteTools>(
            *loop,
            RemoteTools::Port{[this](RemoteTools::Tool tool) { at_desk.push_back(std::move(tool)); },
                              [this](const std::string &why) { why_not_at_desk.push_back(why); }, munge(), others()});
    }
    // As the gate has it, with a message that is there.
    std::pair<UniqueFd, UniqueFd> come(const std::string &says) {
        UniqueFd tool = network.connect(says);
        UniqueFd accepted;
        run_until(*loop, [&] {
            if (!accepted)
                accepted.reset(::accept4(network.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            char bytes[max_hello];
            return accepted && ::recv(accepted.get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT) ==
                                   static_cast<ssize_t>(says.size());
        });
        return {std::move(tool), std::move(accepted)};
    }
    void refused_at_desk(const char *why) {
        run_until(*loop, [&] { return !why_not_at_desk.empty(); });
        if (!strstr(why_not_at_desk.back().c_str(), why))
            fail_msg("'%s' instead of '%s'", why_not_at_desk.back().c_str(), why);
        why_not_at_desk.clear();
        assert_true(at_desk.empty());
    }
};

// --- at the gate

void a_tool_is_whose_munge_says_and_its_message_is_left(void **) {
    Fixture f;
    auto door = f.door();
    std::string message = tool_of(4711).message();
    UniqueFd tool = f.network.connect(message.substr(0, 7));
    run_until(*f.loop, [&] { return door->strangers() == 1; });
    for (std::size_t at = 7; at < message.size(); ++at) // however slowly it comes
        assert_int_equal(::send(tool.get(), message.data() + at, 1, MSG_NOSIGNAL), 1);
    run_until(*f.loop, [&] { return !f.tools.empty(); });
    assert_int_equal(f.tools[0].user, 4711);
    assert_string_equal(f.tools[0].address.c_str(), "127.0.0.1");
    assert_int_equal(door->strangers(), 0);
    assert_int_equal(f.asked, 1);
    int kept_alive = 0; // else a host that is gone would keep its place
    socklen_t length = sizeof kept_alive;
    assert_int_equal(::getsockopt(f.tools[0].connection.get(), SOL_SOCKET, SO_KEEPALIVE, &kept_alive, &length), 0);
    assert_int_equal(kept_alive, 1);
    int ends_after = -1; // who is there and does not read keeps it
    assert_int_equal(::getsockopt(f.tools[0].connection.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ends_after, &length), 0);
    assert_int_equal(ends_after, 0);
    std::string there(max_hello, '\0');
    ssize_t size = ::recv(f.tools[0].connection.get(), there.data(), there.size(), MSG_DONTWAIT);
    assert_true(there.substr(0, static_cast<std::size_t>(size)) == message);
}

void from_where_nobody_may_come_nothing_is_read(void **) {
    Fixture f;
    f.may_come = false;
    auto door = f.door();
    UniqueFd tool = f.network.connect(tool_of(4711).message());
    run_until(*f.loop, [&] { return has_ended(tool); });
    assert_true(f.tools.empty());
    assert_int_equal(f.asked, 0);
}

void whom_munge_does_not_know_is_closed(void **) {
    for (uid_t says : {static_cast<uid_t>(-1), uid_t{0}}) { // and root is
        Fixture f;
        f.munge_says = says;
        auto door = f.door();
        UniqueFd tool = f.network.connect(tool_of(0).message());
        run_until(*f.loop, [&] { return has_ended(tool); });
        assert_true(f.tools.empty());
        assert_int_equal(f.asked, 1);
        assert_int_equal(door->strangers(), 0);
    }
}

void whom_something_speaks_against_is_closed(void **) {
    Fixture f;
    f.agrees = false;
    auto door = f.door();
    UniqueFd tool = f.network.connect(tool_of(4711).message());
    run_until(*f.loop, [&] { return has_ended(tool); });
    assert_true(f.tools.empty());
    assert_int_equal(f.asked, 1);
    assert_int_equal(door->strangers(), 0);
}

void noise_and_silence_are_closed_and_hold_up_nobody(void **) {
    Fixture f;
    auto door = f.door({.unknown = {.places = 8}, .hello = 300ms});
    std::vector<UniqueFd> strangers;
    std::string message = tool_of(4711).message();
    strangers.push_back(f.network.connect());                        // silence
    strangers.push_back(f.network.connect(message.substr(0, 40)));   // half a message
    strangers.push_back(f.network.connect(std::string(70000, 'x'))); // noise
    auto begun = f.loop->now();
    UniqueFd tool = f.network.connect(message);
    run_until(*f.loop, [&] { return !f.tools.empty(); });
    run_until(*f.loop, [&] {
        return std::all_of(strangers.begin(), strangers.end(), [](const auto &each) { return has_ended(each); });
    });
    assert_true(f.loop->now() - begun >= 300ms);
    assert_int_equal(door->strangers(), 0);
}

void of_those_who_say_nothing_the_oldest_goes(void **) {
    Fixture f;
    auto door = f.door({.unknown = {.places = 2}, .hello = 20s});
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 5; ++i)
        silent.push_back(f.network.connect());
    run_until(*f.loop, [&] { return has_ended(silent[0]) && has_ended(silent[1]) && has_ended(silent[2]); });
    assert_int_equal(door->strangers(), 2);
    UniqueFd tool = f.network.connect(tool_of(4711).message());
    run_until(*f.loop, [&] { return !f.tools.empty(); });
    assert_false(has_ended(silent[4]));
}

void munge_is_asked_about_some_at_a_time(void **) {
    Fixture f;
    std::promise<void> munge_answers;
    f.munge_waits_for = munge_answers.get_future().share();
    auto door = f.door({.unknown = {.places = 3, .asked_at_once = 1}, .hello = 20s});
    std::string message = tool_of(4711).message();
    UniqueFd asked_about = f.network.connect(message);
    run_until(*f.loop, [&] { return f.asked == 1; });
    UniqueFd oldest = f.network.connect(message), silent = f.network.connect(), third = f.network.connect(message);
    run_until(*f.loop, [&] { return door->strangers() == 4; });
    UniqueFd newest = f.network.connect(message);
    run_until(*f.loop, [&] { return has_ended(oldest); });
    assert_int_equal(f.asked, 1);
    assert_false(has_ended(asked_about));
    assert_false(has_ended(silent));
    munge_answers.set_value();
    run_until(*f.loop, [&] { return f.tools.size() == 3; });
    assert_int_equal(f.asked, 3);
    assert_int_equal(door->strangers(), 1);
    // The silent one says it after all.
    assert_int_equal(::send(silent.get(), message.data(), message.size(), MSG_NOSIGNAL), message.size());
    run_until(*f.loop, [&] { return f.tools.size() == 4; });
}

// --- what is believed of a message

void expect_refusal(const HelloText &text, const char *why) {
    auto who = identify_remote(text.message(), "10.1.2.3", Use::first);
    assert_false(who.ok());
    if (!strstr(who.failure().text.c_str(), why))
        fail_msg("'%s' instead of '%s'", who.failure().text.c_str(), why);
}

void munge_alone_says_whose_a_tool_is(void **) {
    HelloText text = tool_of(1000);
    text.psec = "native";
    text.credential = native_credential(1000, 100);
    expect_refusal(text, "security module 'native'");
    text = tool_of(1000);
    text.kind = 0; // and states no user
    expect_refusal(text, "a process of a job");
    text = tool_of(1000);
    text.version = "x";
    expect_refusal(text, "no version");
}

// One that could be written in two ways could come twice.
void a_credential_has_one_form(void **) {
    for (const char *other :
         {"", "MUNGE:", "MUNGE::", "MUNGE:AAAA", "AAAA:", "MUNGE:AAA:", "MUNGE:AA A:", "MUNGE:AAAA: ", " MUNGE:AAAA:",
          "MUNGE:AAAA\n:", "MUNGE:A===:", "MUNGE:====:", "MUNGE:AB==:", "MUNGE:AAB=:", "MUNGE:AA=A:", "MUNGE:AA-_:"}) {
        HelloText text = tool_of(1000);
        text.credential = z(other);
        expect_refusal(text, "as munge writes one");
    }
    HelloText text = tool_of(1000);
    text.credential = std::string("MUNGE:AA\0A:\0", 12);
    expect_refusal(text, "as munge writes one");
    for (const char *one : {"MUNGE:AAAA:", "MUNGE:AA==:", "MUNGE:AAA=:", "MUNGE:Ag==:"}) {
        auto who = check_plain_credential(one, Use::again);
        assert_false(who.ok()); // munge has not made it, or there is none
        assert_null(strstr(who.failure().text.c_str(), "as munge writes one"));
    }
}

void a_credential_comes_from_where_it_was_made(void **) {
    PlainCredential made{{1000, 100}, "10.1.2.3"};
    assert_true(made_where_it_comes_from(made, "10.1.2.3").ok());
    for (const char *other : {"10.1.2.4", "127.0.0.1", "2001:db8::1", "::1"})
        assert_false(made_where_it_comes_from(made, other).ok());
    made.host.clear(); // the name of its host leads to that alone
    assert_true(made_where_it_comes_from(made, "10.1.2.4").ok());
}

// Who has somebody's credential, and is on this host.
void of_this_host_the_kernel_has_to_agree(void **) {
    Fixture f;
    auto owners = SocketOwners::open();
    assert_true(owners.ok());
    auto [tool, accepted] = f.come("anything");
    int fd = accepted.get();
    auto agrees = [&](const char *address, uid_t user) { return kernel_agrees(*owners, fd, address, user); };
    assert_true(agrees("127.0.0.1", ::geteuid()).ok());
    assert_false(agrees("127.0.0.1", ::geteuid() + 1).ok());
    assert_false(agrees("192.0.2.1", ::geteuid() + 1).ok()); // whatever the address says
    // He has said all, and the kernel knows him no more.
    assert_int_equal(::shutdown(tool.get(), SHUT_WR), 0);
    run_until(*f.loop, [&] { return !owners->peer_of(fd).ok(); });
    assert_false(agrees("127.0.0.1", ::geteuid()).ok());
    assert_false(agrees("127.3.4.5", ::geteuid()).ok());
    for (const auto &own : policy::addresses_of_host())
        assert_false(agrees(own.text().c_str(), ::geteuid()).ok());
    // As one of another host, which munge alone knows.
    assert_true(policy::addresses_of_host().empty() || agrees("192.0.2.1", ::geteuid()).ok());
}

// --- at the desk

void the_job_hears_what_munge_says(void **) {
    Fixture f;
    f.munge_says = ::geteuid();
    auto desk = f.desk();
    HelloText text = tool_of(::geteuid());
    text.blob = stated_count(1) + std::string("what it tells\0the host", 22);
    auto [tool, accepted] = f.come(text.message());
    desk->take(std::move(accepted));
    assert_int_equal(desk->size(), 1);
    run_until(*f.loop, [&] { return !f.at_desk.empty(); });
    assert_int_equal(desk->size(), 0);
    text.psec = "native";
    text.credential = native_credential(::geteuid(), 100);
    assert_true(f.at_desk[0].first == text.message());
    assert_string_equal(f.at_desk[0].address.c_str(), "127.0.0.1");
    // What it says next is there, a byte of it at once.
    assert_int_equal(::send(tool.get(), "n", 1, MSG_NOSIGNAL), 1);
    bool readable = false;
    auto watch = f.loop->watch(f.at_desk[0].connection.get(), EventLoop::readable, [&](unsigned) { readable = true; });
    run_until(*f.loop, [&] { return readable; });
    char bytes[8];
    assert_int_equal(::recv(f.at_desk[0].connection.get(), bytes, sizeof bytes, MSG_DONTWAIT), 1);
}

void the_gate_is_not_believed(void **) {
    Fixture f;
    f.munge_says = ::geteuid() + 1;
    auto desk = f.desk();
    desk->take(f.come(tool_of(::geteuid()).message()).second);
    f.refused_at_desk("says munge");
    desk->take(f.come(tool_of(::geteuid()).message().substr(0, 30)).second);
    f.refused_at_desk("does not say who it is");
    int ends[2];
    assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd mine(ends[0]);
    desk->take(UniqueFd(ends[1]));
    f.refused_at_desk("none of TCP");
    Fixture unknown;
    unknown.munge_says = static_cast<uid_t>(-1);
    desk = unknown.desk();
    desk->take(unknown.come(tool_of(::geteuid()).message()).second);
    unknown.refused_at_desk("munge refuses the credential");
    Fixture stolen;
    stolen.munge_says = ::geteuid();
    stolen.agrees = false;
    desk = stolen.desk();
    desk->take(stolen.come(tool_of(::geteuid()).message()).second);
    stolen.refused_at_desk("the kernel knows better");
    desk.reset(); // before its loop goes
}

void a_credential_comes_once(void **) {
    Fixture f;
    f.munge_says = ::geteuid();
    auto desk = f.desk();
    std::string message = tool_of(::geteuid()).message();
    auto first = f.come(message), second = f.come(message);
    desk->take(std::move(first.second)); // both, before munge has said anything
    desk->take(std::move(second.second));
    run_until(*f.loop, [&] { return !f.at_desk.empty() && !f.why_not_at_desk.empty(); });
    assert_int_equal(f.at_desk.size(), 1);
    f.at_desk.clear();
    f.refused_at_desk("has been here before");
    desk->take(f.come(message).second);
    f.refused_at_desk("has been here before");
    HelloText other = tool_of(::geteuid());
    other.credential.pop_back(); // the NUL, which is not munge's
    desk->take(f.come(other.message()).second);
    f.refused_at_desk("has been here before");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_whose_munge_says_and_its_message_is_left),
        cmocka_unit_test(from_where_nobody_may_come_nothing_is_read),
        cmocka_unit_test(whom_munge_does_not_know_is_closed),
        cmocka_unit_test(whom_something_speaks_against_is_closed),
        cmocka_unit_test(noise_and_silence_are_closed_and_hold_up_nobody),
        cmocka_unit_test(of_those_who_say_nothing_the_oldest_goes),
        cmocka_unit_test(munge_is_asked_about_some_at_a_time),
        cmocka_unit_test(munge_alone_says_whose_a_tool_is),
        cmocka_unit_test(a_credential_has_one_form),
        cmocka_unit_test(a_credential_comes_from_where_it_was_made),
        cmocka_unit_test(of_this_host_the_kernel_has_to_agree),
        cmocka_unit_test(the_job_hears_what_munge_says),
        cmocka_unit_test(the_gate_is_not_believed),
        cmocka_unit_test(a_credential_comes_once),
    };
    return cmocka_run_group_tests_name("tools of other hosts", tests, nullptr, nullptr);
}
