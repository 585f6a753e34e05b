// A desk of the gate: what it tells the gate, and how often it asks the resource manager.
#include "server-glue/desk/gate_desk.h"
#include "common/base/fd_pair.h"
#include "common/rendezvous/gate_door.h"
#include "server-glue/core/central_roles.h"
#include "server-glue/gate/desk_channel.h"

#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

std::atomic<int> lists;
Result<std::vector<std::string>> list_fails() {
    ++lists;
    return error(ErrorKind::unreachable, "the resource manager does not answer");
}
Result<void> nobody_is_called(const Settings &, const std::string &, const std::string &) {
    return error(ErrorKind::unsupported, "no pmixhost serves it");
}

constexpr const char *secret = "between a desk and a step";

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::warning, "gate_desk"};
    Settings settings;
    BackendModule module{};
    UniqueFd gate, desk_end;
    std::vector<UniqueFd> tools;
    bool ended = false;

    Fixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        auto ends = make_socket_pair(SOCK_SEQPACKET);
        assert_true(ends.ok());
        gate = std::move(ends->first);
        desk_end = std::move(ends->second);
        module.name = "test";
        module.own_steps = list_fails;
        module.call_step = nobody_is_called;
    }
    Result<std::unique_ptr<GateDesk>> open() {
        return GateDesk::open({*loop, log, settings, std::move(desk_end), module, [this] { ended = true; },
                               pmixhost_path(), std::filesystem::read_symlink("/proc/self/exe"),
                               [] { return make_secret_authenticator(secret); }});
    }
    // A connection of a tool of this user, handed over.
    void hand_over_tool() {
        UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        tools.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto *generic = reinterpret_cast<sockaddr *>(&address);
        assert_int_equal(::bind(listener.get(), generic, size), 0);
        assert_int_equal(::listen(listener.get(), 1), 0);
        assert_int_equal(::getsockname(listener.get(), generic, &size), 0);
        assert_int_equal(::connect(tools.back().get(), generic, size), 0);
        UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        assert_true(send_descriptor(gate.get(), "t", accepted.get()).ok());
    }
    void await_word(const std::string &wanted) {
        run_until(*loop, [&] {
            auto word = receive_word(gate.get());
            assert_true(word.ok());
            return word->has_value() && **word == wanted;
        });
    }
};

void what_keeps_it_from_serving_reaches_the_gate(void **) {
    Fixture f;
    f.module.own_steps = nullptr;
    assert_false(f.open().ok());
    auto word = receive_word(f.gate.get());
    assert_true(word.ok() && word->has_value());
    assert_string_equal((*word)->c_str(), "failed unsupported the backend test does not tell which jobs run");
    assert_true((*receive_word(f.gate.get()))->empty()); // and it has gone
}

void a_list_that_fails_is_asked_for_once_a_second(void **) {
    Fixture f;
    auto desk = f.open();
    assert_true(desk.ok());
    f.await_word("ready");
    f.hand_over_tool();
    f.await_word("refused the resource manager does not answer");
    assert_int_equal(lists, 1);
    auto refused = f.loop->now();
    f.hand_over_tool(), f.hand_over_tool();
    f.await_word("refused the resource manager does not answer");
    assert_int_equal(lists, 2);
    assert_true(f.loop->now() - refused >= 900ms);
}

// A step's daemon that relays nothing. It is called in another thread.
struct FakeStep {
    EventLoop &loop;
    Log &log;
    const Settings &settings;
    std::unique_ptr<Mesh> mesh{};
    int tools = 0;

    void on_call(const std::string &call) {
        auto message = wire::decode<wire::DeskCall>(Bytes(call.substr(desk_call.size())));
        assert_true(message.ok());
        auto made = Mesh::create(loop, log, settings, message->key, 0, 2, make_secret_authenticator(secret),
                                 {[this](HostIndex desk, std::uint8_t type, const Bytes &) { hear(desk, type); },
                                  [this](HostIndex, Mesh::Gone, const Error &) { loop.post([this] { mesh.reset(); }); },
                                  nullptr},
                                 Mesh::Listening::no);
        assert_true(made.ok());
        mesh = std::move(*made);
        mesh->on_contact(message->contact);
    }
    void hear(HostIndex desk, std::uint8_t type) {
        if (type == wire::RelayOpen::type)
            ++tools;
        if (type != wire::DeskHello::type)
            return;
        wire::DeskGreeting greeting;
        greeting.nspace = greeting.server_nspace = "slurm.1.0";
        greeting.version = "1";
        mesh->send(desk, wire::DeskGreeting::type, share(wire::encode(greeting)));
    }
};
std::atomic<FakeStep *> step;
Result<void> call_fake_step(const Settings &, const std::string &, const std::string &message) {
    step.load()->loop.post([message] { step.load()->on_call(message); });
    return {};
}

std::atomic<bool> manager_is_away;
Result<std::vector<std::string>> one_step() {
    if (manager_is_away)
        return error(ErrorKind::unreachable, "the resource manager does not answer");
    return std::vector<std::string>{"1.0"};
}

void a_way_that_is_open_serves_without_the_resource_manager(void **) {
    Fixture f;
    f.settings.transport_interfaces = {"lo"};
    f.module.own_steps = one_step;
    f.module.call_step = call_fake_step;
    FakeStep fake{*f.loop, f.log, f.settings};
    step = &fake;
    auto desk = f.open();
    assert_true(desk.ok());
    f.await_word("ready");
    f.hand_over_tool();
    run_until(*f.loop, [&] { return fake.tools == 1; });
    manager_is_away = true;
    auto later = f.loop->now() + 1100ms; // the list is old by then
    run_until(*f.loop, [&] { return f.loop->now() >= later; });
    f.hand_over_tool();
    run_until(*f.loop, [&] { return fake.tools == 2; });
    // When the step has gone there is nothing to be led to.
    fake.mesh.reset();
    later = f.loop->now() + 1100ms;
    run_until(*f.loop, [&] { return f.loop->now() >= later; });
    f.hand_over_tool();
    f.await_word("refused the resource manager does not answer");
    assert_int_equal(fake.tools, 2);
}

// Whose end of a connection, and what the gate says of it.
std::string told(Fixture &f, const Visit &visit) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    assert_true(ends.ok());
    assert_true(send_descriptor(f.gate.get(), visit_word(visit), ends->second.get()).ok());
    ends->second.reset();
    std::string said;
    run_until(*f.loop, [&] {
        auto word = receive_word(ends->first.get());
        if (word && *word)
            said = **word;
        return word && word->has_value();
    });
    return said;
}

void a_visitor_is_who_the_kernel_says(void **) {
    Fixture f;
    auto desk = f.open();
    assert_true(desk.ok());
    f.await_word("ready");
    assert_string_equal(told(f, {::geteuid() + 1, "12"}).c_str(), ""); // whatever the gate says
    assert_true(told(f, {::geteuid(), "12"}).starts_with("failed unsupported no pmixhost serves it"));
    f.await_word("quiet 2");
}

void a_run_is_for_who_the_kernel_says(void **) {
    Fixture f;
    auto desk = f.open();
    assert_true(desk.ok());
    f.await_word("ready");
    assert_string_equal(told(f, {::geteuid() + 1, "12", AskedRun{"ps", {}}}).c_str(), ""); // whatever the gate says
    assert_string_equal(told(f, {::geteuid(), "12", AskedRun{"ps", {}}}).c_str(), "ready");
    f.await_word("quiet 2"); // who has asked is gone
    assert_true(told(f, {::geteuid(), "12", AskedRun{"ps", {"--config=x"}}}).starts_with("failed unsupported "));
}

std::atomic<bool> calls_end;
Result<void> called_in_vain(const Settings &, const std::string &, const std::string &) {
    while (!calls_end)
        std::this_thread::sleep_for(1ms);
    return error(ErrorKind::not_found, "there is no such job");
}

void a_visitor_may_leave_while_the_job_is_looked_for(void **) {
    Fixture f;
    f.module.call_step = called_in_vain;
    auto desk = f.open();
    assert_true(desk.ok());
    for (int delay = 0; delay < 12; ++delay) {
        calls_end = false;
        auto ends = make_socket_pair(SOCK_SEQPACKET);
        assert_true(ends.ok());
        assert_true(send_descriptor(f.gate.get(), visit_word({::geteuid(), "12"}), ends->second.get()).ok());
        ends->second.reset();
        f.await_word(fmt::format("took {}", delay + 1));
        calls_end = true;
        // What the call gives is posted, and the end of the connection comes: in either order.
        std::this_thread::sleep_for(std::chrono::milliseconds(delay % 3));
        ends->first.reset();
        f.await_word(fmt::format("quiet {}", delay + 1));
    }
}

// A lobby that has something to say before it ends, which is not what it is called with.
constexpr int lobby_channel = 3;
int be_talkative_lobby() {
    for (int i = 0; i < 50; ++i) {
        std::string line = fmt::format("line {}", i);
        if (::send(lobby_channel, line.data(), line.size(), MSG_NOSIGNAL) < 0)
            return 1;
    }
    char byte;
    while (::recv(lobby_channel, &byte, 1, 0) > 0)
        continue;
    return 0;
}

Result<std::vector<std::string>> no_steps() {
    return std::vector<std::string>();
}
Result<std::unique_ptr<RmBackend>> no_lobby(BackendContext) {
    return error(ErrorKind::unsupported, "none is made here");
}

void what_a_lobby_says_is_told_twenty_times_a_minute(void **) {
    Fixture f;
    f.module.own_steps = no_steps;
    f.module.create_lobby = no_lobby;
    auto desk = f.open();
    assert_true(desk.ok());
    f.await_word("ready");
    f.hand_over_tool();
    f.await_word("tells line 0");
    int told = 1;
    run_until(*f.loop, [&] {
        auto word = receive_word(f.gate.get());
        assert_true(word.ok());
        told += *word && (*word)->starts_with("tells ");
        return told >= 20;
    });
    for (int turn = 0; turn < 100; ++turn)
        run_until(*f.loop, [] { return true; });
    while (auto word = *receive_word(f.gate.get()))
        told += word->starts_with("tells ");
    assert_int_equal(told, 20);
}

void it_ends_with_its_channel(void **) {
    Fixture f;
    auto desk = f.open();
    assert_true(desk.ok());
    f.gate.reset();
    run_until(*f.loop, [&] { return f.ended; });
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "--lobby") == 0)
        return be_talkative_lobby();
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_keeps_it_from_serving_reaches_the_gate),
        cmocka_unit_test(a_list_that_fails_is_asked_for_once_a_second),
        cmocka_unit_test(a_way_that_is_open_serves_without_the_resource_manager),
        cmocka_unit_test(a_visitor_is_who_the_kernel_says),
        cmocka_unit_test(a_run_is_for_who_the_kernel_says),
        cmocka_unit_test(a_visitor_may_leave_while_the_job_is_looked_for),
        cmocka_unit_test(what_a_lobby_says_is_told_twenty_times_a_minute),
        cmocka_unit_test(it_ends_with_its_channel),
    };
    return cmocka_run_group_tests_name("a desk of the gate", tests, nullptr, nullptr);
}
