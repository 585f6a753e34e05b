// What a daemon says to srun (why the step ends, that it runs, notes) reaches it, and nobody else can say anything.
#include "common/start/step_secret.h"
#include "plugins/kit/starter_listener.h"
#include "plugins/kit/starter_sender.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::kit;
using namespace std::chrono_literals;

// Stands in for munge: the credential is "UID PAYLOAD".
class PlainSealer : public Sealer {
  public:
    explicit PlainSealer(uid_t uid = geteuid()) : uid_(uid) {}
    Result<std::string> seal(std::string_view payload) override {
        return std::to_string(uid_) + " " + std::string(payload);
    }
    Result<Opened> open(const std::string &sealed) override {
        std::size_t space = sealed.find(' ');
        if (space == std::string::npos || sealed.front() < '0' || sealed.front() > '9')
            return error(ErrorKind::denied, "not sealed");
        return Opened{sealed.substr(space + 1), static_cast<uid_t>(std::stoul(sealed))};
    }

  private:
    uid_t uid_;
};

static StarterAddress local_target(const StarterListener &listener) {
    StarterAddress target = listener.address();
    target.addresses = {"127.0.0.1"};
    return target;
}

static StarterListener open_listener() {
    auto listener = StarterListener::open({});
    assert_true(listener.ok());
    return std::move(*listener);
}

static Result<ExitReport> open_report(std::string_view frame, const Cookie &cookie, uid_t uid, Sealer &sealer) {
    auto message = open_message(frame, cookie, uid, sealer);
    return message ? ExitReport::of(*message) : message.failure();
}

// Sends raw bytes as a stranger would; the connection stays open in `fd`.
static void send_raw(const StarterAddress &target, std::string_view bytes, UniqueFd &fd) {
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    assert_int_equal(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
}

static void a_report_arrives(void **) {
    auto listener = open_listener();
    PlainSealer sealer;
    assert_false(listener.collect(sealer, 1000ms).has_value()); // at once: nobody called
    assert_true(send_to_starter(local_target(listener), ExitReport{7, "why\nnot"}.message(), sealer, 2s).ok());
    auto report = listener.collect(sealer, 1000ms);
    assert_true(report.has_value());
    assert_int_equal(report->exit_status, 7);
    assert_string_equal(report->text.c_str(), "why not");
}

static void a_report_arrives_at_the_advertised_addresses(void **) {
    auto listener = open_listener();
    PlainSealer sealer;
    auto target = StarterAddress::parse(listener.address().text());
    assert_true(target.ok());
    target->addresses.resize(std::min<std::size_t>(target->addresses.size(), max_addresses - 2));
    target->addresses.insert(target->addresses.begin(), {"not an address", "127.0.0.2"});
    assert_true(send_to_starter(*target, ExitReport{3, ""}.message(), sealer, 2s).ok());
    auto report = listener.collect(sealer, 1000ms);
    assert_true(report.has_value());
    assert_int_equal(report->exit_status, 3);
}

static void nobody_listens_is_told(void **) {
    StarterAddress target;
    {
        auto listener = open_listener();
        target = local_target(listener);
    }
    PlainSealer sealer;
    auto sent = send_to_starter(target, ExitReport{1, "x"}.message(), sealer, 500ms);
    assert_false(sent.ok());
    assert_true(sent.failure().kind == ErrorKind::unreachable);
}

static void a_forged_report_is_dropped_and_a_genuine_one_behind_it_is_taken(void **) {
    auto listener = open_listener();
    PlainSealer sealer, stranger(geteuid() + 1), root(0);
    StarterAddress target = local_target(listener), forged = target;
    forged.cookie[15] ^= 1;
    UniqueFd garbage, silent, oversize, cut;
    send_raw(target, "", silent);
    send_raw(target, "GET / HTTP/1.1\r\n\r\n", garbage);
    send_raw(target, std::string("PMXR\0\0\0\3\0\1\0\0", 12), oversize);
    send_raw(target, std::string("PMXR\0\0\0\3\0\0\0\x40short", 17), cut);
    assert_true(send_to_starter(forged, ExitReport{9, "forged cookie"}.message(), sealer, 1s).ok());
    assert_true(send_to_starter(target, ExitReport{9, "wrong uid"}.message(), stranger, 1s).ok());
    assert_true(send_to_starter(target, ExitReport{5, "root"}.message(), root, 1s).ok());
    auto report = listener.collect(sealer, 1000ms);
    assert_true(report.has_value());
    assert_string_equal(report->text.c_str(), "root");
}

static void silent_callers_cost_no_more_than_the_limit(void **) {
    auto listener = open_listener();
    PlainSealer sealer;
    UniqueFd fds[100];
    for (auto &fd : fds)
        send_raw(local_target(listener), "PMX", fd);
    auto begin = std::chrono::steady_clock::now();
    assert_false(listener.collect(sealer, 200ms).has_value());
    assert_true(std::chrono::steady_clock::now() - begin < 2s);
}

static void frames_are_checked_byte_by_byte(void **) {
    PlainSealer sealer;
    Cookie cookie{1, 2, 3};
    auto frame = seal_message(cookie, ExitReport{255, "text"}.message(), sealer);
    assert_true(frame.ok());
    assert_true(open_report(*frame, cookie, geteuid(), sealer).ok());
    for (std::size_t length = 0; length < frame->size(); ++length)
        assert_false(open_report(frame->substr(0, length), cookie, geteuid(), sealer).ok());
    // The text's length must be the payload's rest.
    std::string payload(reinterpret_cast<const char *>(cookie.data()), cookie.size());
    auto with = [&](std::string tail, char kind = 1) {
        std::string sealed = *sealer.seal(payload + std::string("\0\0\0", 3) + kind + tail);
        std::string bytes("PMXR\0\0\0\3\0\0\0", 11);
        bytes += static_cast<char>(sealed.size());
        return open_report(bytes + sealed, cookie, geteuid(), sealer).ok();
    };
    assert_true(with(std::string("\0\0\0\1\0\0\0\1x", 9)));
    assert_false(with(std::string("\0\0\0\1\0\0\0\2x", 9)));
    assert_false(with(std::string("\0\0\0\1\0\0\0\0x", 9)));
    assert_false(with(std::string("\0\0\1\0\0\0\0\1x", 9))); // status 256
    assert_false(with(std::string("\0\0\0\1\xff\xff\xff\xffx", 9)));
    assert_false(with(""));
    for (char kind : {'\0', '\2', '\3', '\4', '\5'})
        assert_false(with(std::string("\0\0\0\1\0\0\0\1x", 9), kind)); // no exit report
    // A long text is cut, not refused.
    auto cut = seal_message(cookie, ExitReport{1, std::string(5000, 'a')}.message(), sealer);
    assert_true(cut.ok());
    auto opened = open_report(*cut, cookie, geteuid(), sealer);
    assert_true(opened.ok());
    assert_int_equal(opened->text.size(), max_report_text);
    auto ends = seal_message(cookie, {StarterMessage::Kind::ended, 1, std::string(5000, 'a')}, sealer);
    assert_true(ends.ok());
    auto told = open_message(*ends, cookie, geteuid(), sealer);
    assert_true(told.ok());
    assert_int_equal(told->body.size(), max_ends_text);
}

static void hostile_targets_are_refused(void **) {
    const char *targets[] = {
        "",
        "1",
        "1 00",
        "0 00112233445566778899aabbccddeeff 127.0.0.1",
        "65536 00112233445566778899aabbccddeeff 127.0.0.1",
        "99 00112233445566778899aabbccddeefg 127.0.0.1",
        "99 -0112233445566778899aabbccddeeff 127.0.0.1",
        "99 00112233445566778899aabbccddeeff",
        "99 00112233445566778899aabbccddeeff ",
    };
    for (const char *text : targets) {
        if (StarterAddress::parse(text).ok())
            fail_msg("taken: %s", text);
    }
    auto with = [](std::size_t count) {
        std::string text = "99 00112233445566778899aabbccddeeff";
        for (std::size_t i = 0; i < count; ++i)
            text += fmt::format(" 10.0.0.{}", i);
        return StarterAddress::parse(text).ok();
    };
    assert_true(with(max_addresses));
    assert_false(with(max_addresses + 1));
    assert_false(StarterAddress::parse("99 00112233445566778899aabbccddeeff  10.0.0.1").ok());
    auto good = StarterAddress::parse("99 00112233445566778899aabbccddeeff 10.0.0.1 fe80::1");
    assert_true(good.ok());
    assert_int_equal(good->addresses.size(), 2);
    assert_string_equal(good->text().c_str(), "99 00112233445566778899aabbccddeeff 10.0.0.1 fe80::1");
}

static void ports_come_from_the_range(void **) {
    // A range of one, then taken.
    std::uint16_t port = open_listener().address().port;
    auto first = StarterListener::open({port, port});
    assert_true(first.ok());
    assert_int_equal(first->address().port, port);
    auto second = StarterListener::open({port, port});
    assert_false(second.ok());
    assert_non_null(strstr(second.failure().text.c_str(), "no free port"));
}

static void a_step_secret_seals_messages(void **) {
    std::string secret = new_step_secret();
    assert_true(is_step_secret(secret) && secret != new_step_secret());
    for (const char *none : {"", "00", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF"})
        assert_false(is_step_secret(none));
    auto listener = open_listener();
    StarterAddress target = local_target(listener);
    SecretSealer own(secret), daemon(secret), stranger(new_step_secret()), nobody("");
    PlainSealer plain;
    auto send = [&](Sealer &sealer, const char *text) {
        return send_to_starter(target, ExitReport{9, text}.message(), sealer, 1s).ok();
    };
    assert_true(can_seal(daemon).ok());
    assert_false(send(nobody, "without a secret"));
    assert_true(send(stranger, "of another step") && send(plain, "not sealed") && send(own, "its own, come back"));
    assert_true(send(daemon, "genuine"));
    auto report = listener.collect(own, 1000ms);
    assert_true(report.has_value());
    assert_string_equal(report->text.c_str(), "genuine");
}

static void a_message_sealed_with_a_secret_is_taken_once_and_whole(void **) {
    SecretSealer own("secret"), daemon("secret");
    Cookie cookie{1, 2, 3}, other{1, 2, 4};
    auto frame = seal_message(cookie, ExitReport{255, "text"}.message(), daemon);
    assert_true(frame.ok() && frame->find("text") == std::string::npos);
    for (std::size_t bit = 0; bit < 8 * frame->size(); ++bit) {
        std::string changed = *frame;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        assert_false(open_report(changed, cookie, geteuid(), own).ok());
    }
    for (std::size_t length = 0; length < frame->size(); ++length)
        assert_false(open_report(frame->substr(0, length), cookie, geteuid(), own).ok());
    assert_true(open_report(*frame, cookie, geteuid(), own).ok());
    assert_false(open_report(*frame, cookie, geteuid(), own).ok());
    auto of_other = seal_message(other, ExitReport{255, "text"}.message(), daemon);
    assert_false(open_report(*of_other, cookie, geteuid(), own).ok());
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_report_arrives),
        cmocka_unit_test(a_report_arrives_at_the_advertised_addresses),
        cmocka_unit_test(nobody_listens_is_told),
        cmocka_unit_test(a_forged_report_is_dropped_and_a_genuine_one_behind_it_is_taken),
        cmocka_unit_test(silent_callers_cost_no_more_than_the_limit),
        cmocka_unit_test(frames_are_checked_byte_by_byte),
        cmocka_unit_test(hostile_targets_are_refused),
        cmocka_unit_test(ports_come_from_the_range),
        cmocka_unit_test(a_step_secret_seals_messages),
        cmocka_unit_test(a_message_sealed_with_a_secret_is_taken_once_and_whole),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
