// The gate itself, where the test is the process that starts desks, and the desks: what these may say, and what it
// costs whom they serve.
#include "server-glue/gate/gate_server.h"

#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "server-glue/gate/desk_channel.h"

#include "test/unit/check.h"
#include "test/unit/lingering.h"
#include "test/unit/run_until.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

class NoNames : public policy::Names {
    Result<std::uint32_t> user(const std::string &) const override { return error(ErrorKind::not_found, "none"); }
    Result<std::uint32_t> group(const std::string &) const override { return error(ErrorKind::not_found, "none"); }
};

// Root's tools have no desk. The kernel has a socket for its maker's, so root makes it as somebody else.
class AsUser {
  public:
    AsUser() {
        if (::geteuid() == 0)
            assert_int_equal(::seteuid(1), 0);
    }
    ~AsUser() {
        if (::getuid() == 0)
            assert_int_equal(::seteuid(0), 0);
    }
    static uid_t number() { return ::geteuid() == 0 ? 1 : ::geteuid(); }
};

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    std::string directory, config;
    UniqueFd log_file;
    std::unique_ptr<Log> log;
    sockaddr_in address{};
    UniqueFd starter;
    std::unique_ptr<GateServer> gate;

    explicit Fixture(const std::vector<std::string> &site = {
                         "allow everything by anyone to jobs of anyone from here"}) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        char name[] = "/tmp/pmixhost-gate-server.XXXXXX";
        directory = mkdtemp(name);
        config = directory + "/conf";
        log_file.reset(::open(log_path().c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
        log = std::make_unique<Log>(log_file.get(), LogLevel::warning, "gate");
        GateRules::Read rules;
        std::vector<policy::Rule> parsed;
        for (const auto &each : site) {
            auto rule = policy::parse_rule({each, "FILE:" + std::to_string(parsed.size() + 1)}, NoNames());
            assert_true(rule.ok());
            parsed.push_back(*rule);
        }
        rules.policy = policy::Policy(std::move(parsed), policy::UserRules::off);
        rules.settings.gate_door = directory;
        auto ends = make_socket_pair(SOCK_SEQPACKET);
        assert_true(ends.ok());
        starter = std::move(ends->second);
        auto opened = GateServer::open(
            {*loop, *log, std::move(rules), config, listen(), {}, std::move(ends->first), [](const Error &why) {
                 fail_msg("%s", why.text.c_str());
             }});
        assert_true(opened.ok());
        gate = std::move(*opened);
    }
    ~Fixture() {
        gate.reset();
        std::filesystem::remove_all(directory);
    }
    std::string log_path() const { return directory + "/log"; }
    UniqueFd listen() {
        UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto *generic = reinterpret_cast<sockaddr *>(&address);
        assert_int_equal(::bind(listener.get(), generic, size), 0);
        assert_int_equal(::listen(listener.get(), 64), 0);
        assert_int_equal(::getsockname(listener.get(), generic, &size), 0);
        return listener;
    }
    UniqueFd come() const {
        AsUser user;
        UniqueFd tool(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        assert_int_equal(::connect(tool.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
        return tool;
    }
    // What comes by this channel next.
    WithDescriptor await(const UniqueFd &channel) const {
        std::optional<WithDescriptor> came;
        run_until(*loop, [&] {
            auto got = receive_descriptor(channel.get(), MSG_DONTWAIT);
            assert_true(got.ok());
            if (*got)
                came = std::move(**got);
            return came.has_value();
        });
        return std::move(*came);
    }
    // The next one that is to be started. It is ready.
    UniqueFd desk(uid_t wanted = AsUser::number()) const {
        auto asked = await(starter);
        uid_t user = 0;
        assert_int_equal(asked.bytes.size(), sizeof user);
        std::memcpy(&user, asked.bytes.data(), sizeof user);
        assert_int_equal(user, wanted);
        assert_true(say(asked.fd.get(), "ready"));
        return std::move(asked.fd);
    }
    // What the log has; all that desks have said before has been heard.
    std::string logged() const {
        for (int turn = 0; turn < 200; ++turn) // a word each
            run_until(*loop, [] { return true; });
        log->flush();
        std::stringstream text;
        text << std::ifstream(log_path()).rdbuf();
        return text.str();
    }
    static std::ptrdiff_t lines_with(const std::string &text, const std::string &part) {
        std::ptrdiff_t count = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
            ++count;
        return count;
    }
};

bool has_ended(const UniqueFd &channel) {
    char byte;
    ssize_t there = ::recv(channel.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return there == 0 || (there < 0 && errno == ECONNRESET); // the latter where something was unread
}

void what_a_lobby_tells_costs_no_tool(void **) {
    Fixture f;
    UniqueFd tool = f.come(), desk = f.desk();
    UniqueFd served = f.await(desk).fd;
    assert_true(served.get() >= 0);
    assert_true(say(desk.get(), "took 1"));
    for (int i = 1; i <= 5; ++i)
        assert_true(say(desk.get(), fmt::format("tells PMIx_Spawn is refused: {}", i)));
    std::string log = f.logged();
    assert_int_equal(Fixture::lines_with(log, "by the user's desk: PMIx_Spawn is refused: "), 5);
    assert_false(has_ended(desk));
    // Nor do so many that the log has not room for all.
    for (int i = 6; i <= 40; ++i)
        assert_true(say(desk.get(), fmt::format("tells PMIx_Spawn is refused: {}", i)));
    log = f.logged();
    assert_int_equal(Fixture::lines_with(log, "by the user's desk: "), 20);
    assert_false(has_ended(desk));
    UniqueFd other = f.come();
    assert_true(f.await(desk).fd.get() >= 0);
}

void a_desk_that_is_given_up_is_a_warning(void **) {
    Fixture f;
    UniqueFd tool = f.come(), desk = f.desk();
    assert_true(f.await(desk).fd.get() >= 0);
    for (const char *word : {"took 1", "refused one", "refused two", "refused three"})
        assert_true(say(desk.get(), word));
    run_until(*f.loop, [&] { return has_ended(desk); });
    assert_int_equal(Fixture::lines_with(f.logged(), "is given up, and its tools with it: it says what no desk"), 1);
}

void a_configuration_that_is_read_again_says_what_is_logged(void **) {
    Fixture f;
    for (const char *level : {"info", "error"}) {
        std::ofstream(f.config) << "[log]\nlevel = \"" << level << "\"\n";
        auto wanted = parse_log_level(level);
        f.gate->reload();
        run_until(*f.loop, [&] {
            bool more = f.log->enabled(LogLevel::info), any = f.log->enabled(LogLevel::warning);
            return *wanted == LogLevel::info ? more : !any;
        });
    }
}

// What the gate says at its door to whom the kernel takes for that user.
std::string refusals_told(const Fixture &f, uid_t as) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    gate_door_path(f.directory).copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd asks(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    bool other = as != ::geteuid();
    if (other)
        assert_int_equal(::seteuid(as), 0);
    assert_int_equal(::connect(asks.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    if (other)
        assert_int_equal(::seteuid(0), 0);
    assert_true(say(asks.get(), std::string(asks_for_refusals)));
    std::string told;
    run_until(*f.loop, [&] {
        auto word = receive_word(asks.get());
        if (word && *word)
            told = **word;
        return !told.empty();
    });
    return told;
}

void who_was_refused_is_told_why(void **) {
    Fixture f({"deny everything by anyone to jobs of anyone from here"});
    std::filesystem::permissions(f.directory, std::filesystem::perms(0755)); // users come to the door
    const uid_t user = AsUser::number();
    assert_string_equal(refusals_told(f, user).c_str(), "refused 0");
    UniqueFd tool = f.come(), other = f.come();
    run_until(*f.loop, [&] { return has_ended(tool) && has_ended(other); });
    auto told = parse_refusals(refusals_told(f, user));
    assert_true(told.ok());
    assert_int_equal(told->count, 2);
    assert_string_equal(told->why.c_str(), "from this host: the site's rules (tools.policy) do not let it, by FILE:1");
    // The rules themselves have written it, once each.
    assert_int_equal(Fixture::lines_with(f.logged(), "tools: refused: "), 2);
    if (::geteuid() == 0) { // root is nobody's user, and has no tool here
        assert_string_equal(refusals_told(f, user + 1).c_str(), "refused 0");
        assert_string_equal(refusals_told(f, 0).c_str(), "refused 0");
    }
}

void what_a_desk_refuses_its_user_is_told(void **) {
    Fixture f;
    std::filesystem::permissions(f.directory, std::filesystem::perms(0755));
    UniqueFd tool = f.come(), desk = f.desk();
    assert_true(f.await(desk).fd.get() >= 0);
    for (const char *word : {"took 1", "refused no step of the user runs", "tells PMIx_Spawn is refused: 1"})
        assert_true(say(desk.get(), word));
    f.logged();
    auto told = parse_refusals(refusals_told(f, AsUser::number()));
    assert_true(told.ok() && told->count == 1);
    assert_string_equal(told->why.c_str(), "by your desk: no step of the user runs");
}

// What a desk sends along is given up in the gate's thread (common/base/hurry.h).
void what_lingers_keeps_no_other_waiting(void **) {
    Fixture f;
    UniqueFd tool = f.come(), desk = f.desk();
    assert_true(f.await(desk).fd.get() >= 0);
    auto send_along = [&](const char *word) {
        Lingering lingering;
        assert_true(send_descriptor(desk.get(), word, lingering.end.get()).ok());
        lingering.end.reset(); // the message has another one, which is the last
        return lingering;
    };
    auto begun = std::chrono::steady_clock::now();
    Lingering with_a_word = send_along("took 1");
    f.logged();
    assert_false(has_ended(desk));
    // That ends it, and the next ones are there unread.
    Lingering with_nonsense = send_along("nonsense"), unread = send_along("took 2"), another = send_along("took 3");
    run_until(
        *f.loop, [&] { return has_ended(desk); }, 25s);
    assert_true(std::chrono::steady_clock::now() - begun < 25s);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_lobby_tells_costs_no_tool),
        cmocka_unit_test(a_desk_that_is_given_up_is_a_warning),
        cmocka_unit_test(what_lingers_keeps_no_other_waiting),
        cmocka_unit_test(who_was_refused_is_told_why),
        cmocka_unit_test(what_a_desk_refuses_its_user_is_told),
        cmocka_unit_test(a_configuration_that_is_read_again_says_what_is_logged),
    };
    return cmocka_run_group_tests_name("the gate's server", tests, nullptr, nullptr);
}
