// The copy of a step's output: from slurmstepd's greeting, through the shim's offer, to the daemon's reader; with
// stand-ins for slurmstepd that behave badly.
#include "common/base/fd_pair.h"
#include "plugins/slurm/backend/output_frames.h"
#include "plugins/slurm/backend/step_output.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/attach_output.h"
#include "plugins/slurm/shim/output_offer.h"

#include <arpa/inet.h>
#include <atomic>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace std::chrono_literals;

// --- frames -----------------------------------------------------------------------------------------

static std::string number(std::uint32_t value, int bytes) {
    std::string out;
    while (bytes-- > 0)
        out += static_cast<char>(value >> (8 * bytes));
    return out;
}

static std::string frame(std::uint32_t type, std::uint32_t task, std::string_view bytes) {
    return number(type, 2) + number(0xffff, 2) + number(task, 2) + number(static_cast<std::uint32_t>(bytes.size()), 4) +
           std::string(bytes);
}

static std::string read_in_pieces(const std::string &stream, std::size_t piece) {
    OutputFrames frames;
    std::string said;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        auto read = frames.add(std::string_view(stream).substr(at, piece), [&](const OutputFrames::Frame &one) {
            said += fmt::format("{}{}:{};", one.is_err ? "err" : "out", one.task, one.bytes);
        });
        if (!read)
            return said + "!" + read.failure().text;
    }
    return said;
}

static void frames_are_read_however_they_come(void **) {
    std::string stream =
        frame(1, 0, "one") + frame(4, 9, "a test") + frame(2, 3, std::string("t\0o", 3)) + frame(1, 0, "");
    const std::string all = std::string("out0:one;err3:t\0o;out0:;", 24);
    for (std::size_t piece : {1, 2, 9, 10, 11, 1000})
        assert_true(read_in_pieces(stream, piece) == all);
}

static void what_is_no_frame_is_refused(void **) {
    assert_string_equal(read_in_pieces(frame(1, 1, "x") + frame(7, 0, "y"), 1000).c_str(),
                        "out1:x;!slurmstepd's output has a frame of type 7 and 1 bytes");
    std::string large = number(1, 2) + number(0, 4) + number(OutputFrames::longest + 1, 4);
    assert_string_equal(read_in_pieces(large, 3).c_str(),
                        "!slurmstepd's output has a frame of type 1 and 1048577 bytes");
}

// --- the greeting -----------------------------------------------------------------------------------

static std::string greeting(std::string_view key, std::uint32_t key_length) {
    std::string body = number(0x2600, 2) + number(0, 4) + number(1, 4) + number(1, 4) + number(key_length, 4);
    body += key;
    return number(static_cast<std::uint32_t>(body.size()), 4) + body;
}
static std::string greeting(std::string_view key) {
    return greeting(key, static_cast<std::uint32_t>(key.size()));
}

struct Listener {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_in address{};
    std::vector<UniqueFd> visitors;

    Listener() {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        assert_int_equal(::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
        assert_int_equal(::listen(fd.get(), SOMAXCONN), 0);
        assert_int_equal(::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
    }
    void visit(const std::string &bytes) {
        visitors.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        int visitor = visitors.back().get();
        assert_int_equal(::connect(visitor, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        assert_int_equal(::send(visitor, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
    }
};

static constexpr const char *the_key = "0123456789abcdef0123456789abcdef";

static void strangers_before_slurmstepd_are_turned_away(void **) {
    Listener listener;
    listener.visit(greeting("0123456789abcdef0123456789abcdee"));
    listener.visit(greeting(the_key, 31));
    listener.visit(number(0xffffffff, 4) + std::string(100, 'x'));
    listener.visit(number(3, 4) + "xyz");
    listener.visit(""); // says nothing, and is not waited for long
    listener.visit(greeting(std::string(the_key) + '\0') + "what follows");
    auto stream = accept_greeting(listener.fd.get(), the_key, 10s);
    assert_true(stream.ok());
    char rest[13] = "";
    assert_int_equal(::recv(stream->get(), rest, sizeof rest - 1, MSG_WAITALL), 12);
    assert_string_equal(rest, "what follows");
}

static void a_crowd_of_strangers_does_not_hide_slurmstepd(void **) {
    Listener listener;
    for (int i = 0; i < 300; ++i)
        listener.visit("x"); // and nothing more
    listener.visit(greeting(the_key));
    for (int i = 0; i < 300; ++i)
        listener.visit(number(60, 4));
    assert_true(accept_greeting(listener.fd.get(), the_key, 10s).ok());
}

static void a_greeting_in_pieces_is_one(void **) {
    Listener listener;
    std::string whole = greeting(the_key);
    listener.visit(whole.substr(0, 3));
    std::thread rest([&] {
        for (std::size_t at = 3; at < whole.size(); at += 9)
            ::send(listener.visitors.back().get(), whole.data() + at, std::min<std::size_t>(9, whole.size() - at),
                   MSG_NOSIGNAL);
    });
    assert_true(accept_greeting(listener.fd.get(), the_key, 10s).ok());
    rest.join();
}

static void a_slurmstepd_that_does_not_come_is_not_waited_for(void **) {
    Listener listener;
    listener.visit(greeting("stranger"));
    auto stream = accept_greeting(listener.fd.get(), the_key, 100ms);
    assert_false(stream.ok());
    assert_string_equal(stream.failure().text.c_str(), "slurmstepd did not connect to who reads its tasks' output");
}

// --- what slurmstepd is asked ------------------------------------------------------------------------

// slurmstepd's socket, and Slurm's call on a connection to it.
struct FakeStepd {
    enum class Does { attach, refuse, wait, let_nobody_in } does = Does::attach;
    std::atomic<int> asked = 0;
    std::string key; // that was given
    std::string directory, path;
    UniqueFd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::vector<UniqueFd> connections, readers; // the former of the thread, the latter of who asks
    std::thread thread;

    explicit FakeStepd(Does what) : does(what) {
        char name[] = "/tmp/pmixhost-test.XXXXXX";
        directory = mkdtemp(name);
        path = directory + "/n1_12.0";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, path.size());
        assert_int_equal(::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        assert_int_equal(::listen(listener.get(), 16), 0);
        thread = std::thread([this] { serve(); });
    }
    ~FakeStepd() {
        ::shutdown(listener.get(), SHUT_RDWR);
        thread.join();
        ::unlink(path.c_str());
        ::rmdir(directory.c_str());
    }
    void serve() {
        for (;;) {
            connections.emplace_back(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!connections.back())
                return;
            int version = 0;
            if (does == Does::let_nobody_in ||
                ::recv(connections.back().get(), &version, sizeof version, MSG_WAITALL) != sizeof version)
                continue;
            ::send(connections.back().get(), &version, sizeof version, MSG_NOSIGNAL);
        }
    }
    int attach(int fd, const sockaddr_storage &io, std::string its_key) {
        ++asked;
        key = std::move(its_key);
        if (does == Does::refuse)
            return -1;
        if (does == Does::wait) {
            int code;
            return ::recv(fd, &code, sizeof code, MSG_WAITALL) == sizeof code ? code : -1;
        }
        UniqueFd &io_fd = readers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(io_fd.get(), reinterpret_cast<const sockaddr *>(&io), sizeof(sockaddr_in)) != 0)
            return -1;
        std::string hello = greeting(key) + "output";
        return ::send(io_fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) < 0 ? -1 : 0;
    }
    std::unique_ptr<OutputSource> source() { return output_of_slurmstepd({geteuid(), 0x2600, path}); }
};
static FakeStepd *fake_stepd = nullptr;

// In place of Slurm's; what it takes differs by version (slurm_abi.h).
extern "C" {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 1)
__attribute__((visibility("default"))) int stepd_attach(int fd, std::uint16_t, std::uint16_t, sockaddr_storage *io,
                                                        sockaddr_storage *, char *, char *key, uid_t, void *) {
    return fake_stepd->attach(fd, *io, key);
}
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
__attribute__((visibility("default"))) int stepd_attach(int fd, std::uint16_t, sockaddr_storage *io, sockaddr_storage *,
                                                        char *, char *key, uid_t, void *) {
    return fake_stepd->attach(fd, *io, key);
}
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
__attribute__((visibility("default"))) int stepd_attach(int fd, std::uint16_t, sockaddr_storage *io, sockaddr_storage *,
                                                        char *key, uid_t, void *) {
    return fake_stepd->attach(fd, *io, key);
}
#else
__attribute__((visibility("default"))) int stepd_attach(int fd, std::uint16_t, sockaddr_storage *io, sockaddr_storage *,
                                                        void *key, std::uint32_t, uid_t, void *) {
    return fake_stepd->attach(fd, *io, static_cast<char *>(key));
}
#endif
__attribute__((visibility("default"))) void slurm_free_reattach_tasks_response_msg(void *answer) {
    slurm_xfree(&answer);
}
}

static void slurmstepd_gives_a_stream(void **) {
    FakeStepd stepd(FakeStepd::Does::attach);
    fake_stepd = &stepd;
    auto stream = stepd.source()->attach();
    if (!stream)
        fail_msg("%s", stream.failure().text.c_str());
    assert_int_equal(stepd.key.size(), 32);
    char bytes[7] = "";
    assert_int_equal(::recv(stream->get(), bytes, 6, MSG_WAITALL), 6);
    assert_string_equal(bytes, "output");
}

static void a_slurmstepd_that_refuses_is_not_asked_for_ever(void **) {
    FakeStepd stepd(FakeStepd::Does::refuse);
    fake_stepd = &stepd;
    auto source = stepd.source();
    int tries = 1;
    while (source->attach().failure().kind != ErrorKind::limit)
        ++tries;
    assert_int_equal(tries, 10);
}

// cancel() ends the call wherever it waits.
static void is_cancelled(FakeStepd::Does does) {
    FakeStepd stepd(does);
    fake_stepd = &stepd;
    auto source = stepd.source();
    auto begin = std::chrono::steady_clock::now();
    std::thread canceller([&] {
        while (does == FakeStepd::Does::wait && stepd.asked == 0)
            std::this_thread::yield();
        source->cancel();
    });
    assert_false(source->attach().ok());
    canceller.join();
    assert_true(std::chrono::steady_clock::now() - begin < 20s);
    assert_string_equal(source->attach().failure().text.c_str(), "the step has ended");
}
static void who_waits_for_slurmstepd_is_woken(void **) {
    is_cancelled(FakeStepd::Does::wait);
}
static void who_is_not_let_in_waits_for_a_moment(void **) {
    is_cancelled(FakeStepd::Does::let_nobody_in);
}

// --- from the shim to the daemon ---------------------------------------------------------------------

class FakeSource final : public OutputSource {
  public:
    using Attach = std::function<Result<UniqueFd>()>;
    explicit FakeSource(Attach attach) : attach_(std::move(attach)) {}
    Result<UniqueFd> attach() override { return attach_(); }
    void cancel() override {}

  private:
    Attach attach_;
};

struct Reading {
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<OutputOffer> offer;
    UniqueFd channel;
    std::optional<StepOutput> output;
    std::string said;
    bool begun = false;
    std::optional<Result<void>> ended;

    explicit Reading(FakeSource::Attach attach, OutputOffer::Patience patience = {5ms, 10ms, 10s}) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        offer = OutputOffer::make(std::make_unique<FakeSource>(std::move(attach)), channel, patience);
        assert_non_null(offer.get());
    }
    void read() {
        output.emplace(*loop, std::move(channel));
        assert_true(output->can_be_read());
        output->read_output({[this] { begun = true; },
                             [this](std::size_t task, std::uint8_t channel, std::string_view bytes, bool end) {
                                 said += fmt::format("{}.{}:{}{};", task, channel, bytes, end ? "$" : "");
                             },
                             [this](Result<void> why) { ended = std::move(why); }});
    }
    void run_to_end() {
        run_until(*loop, [this] { return ended.has_value(); });
    }
};

struct Stepd {
    UniqueFd own, readers;
    Stepd() {
        auto ends = make_socket_pair();
        assert_true(ends.ok());
        own = std::move(ends->first);
        readers = std::move(ends->second);
    }
    FakeSource::Attach attach() {
        return [this] { return Result<UniqueFd>(std::move(readers)); };
    }
    void write(const std::string &bytes) {
        assert_int_equal(::send(own.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
    }
};

static void the_daemon_reads_to_the_end(void **) {
    Stepd stepd;
    Reading reading(stepd.attach());
    reading.read();
    stepd.write(frame(1, 0, "out") + frame(2, 1, "err") + frame(1, 0, " and more") + frame(1, 0, ""));
    run_until(*reading.loop, [&] { return reading.said.size() >= 24; });
    assert_string_equal(reading.said.c_str(), "0.2:out and more$;1.4:err;");
    assert_true(reading.begun);
    assert_false(reading.ended.has_value());
    stepd.own.reset();
    reading.run_to_end();
    assert_true(reading.ended->ok());
}

static void what_came_at_once_is_passed_on_in_bounded_pieces(void **) {
    Stepd stepd;
    Reading reading(stepd.attach());
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += frame(1, 0, std::string(1000, static_cast<char>('a' + i % 26)));
    stepd.write(all);
    reading.read();
    run_until(*reading.loop, [&] { return reading.said.size() >= 50'000 + 2 * 5; });
    assert_int_equal(reading.said.find(';'), 4 + (32u << 10));
}

static void nothing_can_be_written_to_slurmstepd(void **) {
    Stepd stepd;
    Reading reading(stepd.attach());
    reading.read();
    stepd.write(frame(1, 0, "x"));
    run_until(*reading.loop, [&] { return !reading.said.empty(); });
    char byte;
    assert_int_equal(::recv(stepd.own.get(), &byte, 1, 0), 0);
}

static void a_step_whose_tasks_start_late_is_asked_again(void **) {
    Stepd stepd;
    std::atomic<int> tries = 0;
    Reading reading([&, attach = stepd.attach()] {
        return ++tries < 5 ? Result<UniqueFd>(error(ErrorKind::unreachable, "no task runs yet")) : attach();
    });
    reading.read();
    stepd.write(frame(1, 0, "late"));
    run_until(*reading.loop, [&] { return !reading.said.empty(); });
    assert_int_equal(tries, 5);
}

static void what_will_never_be_is_asked_for_once(void **) {
    for (auto kind : {ErrorKind::unsupported, ErrorKind::limit}) {
        std::atomic<int> tries = 0;
        Reading reading([&] {
            ++tries;
            return Result<UniqueFd>(error(kind, "never"));
        });
        reading.read();
        reading.run_to_end();
        assert_string_equal(reading.ended->failure().text.c_str(), "never");
        assert_int_equal(tries, 1);
    }
}

static void a_stream_that_the_daemon_does_not_take_is_ended(void **) {
    Stepd stepd;
    Reading reading(stepd.attach(), {5ms, 10ms, 50ms});
    assert_int_equal(::send(reading.channel.get(), "o", 1, MSG_NOSIGNAL), 1); // and then it hangs
    pollfd hears{stepd.own.get(), 0, 0};
    assert_int_equal(::poll(&hears, 1, 20'000), 1);
    assert_true(hears.revents & POLLHUP);
    assert_int_equal(::send(stepd.own.get(), "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
}

static void the_offer_ends_while_nobody_has_asked(void **) {
    Reading reading([] { return Result<UniqueFd>(error(ErrorKind::unsupported, "")); });
    reading.offer.reset();
    reading.read();
    reading.run_to_end();
    assert_false(reading.ended->ok());
}

static void a_fork_does_not_wait_for_a_thread_that_it_has_not(void **) {
    Reading reading([] { return Result<UniqueFd>(error(ErrorKind::unsupported, "never")); });
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        reading.offer.reset();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    reading.read(); // the parent's goes on
    reading.run_to_end();
    assert_string_equal(reading.ended->failure().text.c_str(), "never");
}

static void the_offer_ends_between_two_tries(void **) {
    std::atomic<int> tries = 0;
    Reading reading(
        [&] {
            ++tries;
            return Result<UniqueFd>(error(ErrorKind::unreachable, "no task runs yet"));
        },
        {60s, 60s, 60s});
    reading.read();
    run_until(*reading.loop, [&] { return tries == 1; });
    reading.offer.reset();
    reading.run_to_end();
    assert_string_equal(reading.ended->failure().text.c_str(), "slurmstepd's shim has ended");
}

static void a_stream_of_nonsense_is_ended(void **) {
    Stepd stepd;
    Reading reading(stepd.attach());
    reading.read();
    stepd.write(frame(1, 0, "well") + frame(999, 0, ""));
    reading.run_to_end();
    assert_string_equal(reading.said.c_str(), "0.2:well;");
    assert_string_equal(reading.ended->failure().text.c_str(),
                        "slurmstepd's output has a frame of type 999 and 0 bytes");
}

int main() {
    slurm_strerror(0); // or nothing here needs libslurm, whose other symbols are weak
    const CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_read_however_they_come),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(strangers_before_slurmstepd_are_turned_away),
        cmocka_unit_test(a_slurmstepd_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(a_crowd_of_strangers_does_not_hide_slurmstepd),
        cmocka_unit_test(a_greeting_in_pieces_is_one),
        cmocka_unit_test(slurmstepd_gives_a_stream),
        cmocka_unit_test(a_slurmstepd_that_refuses_is_not_asked_for_ever),
        cmocka_unit_test(who_waits_for_slurmstepd_is_woken),
        cmocka_unit_test(who_is_not_let_in_waits_for_a_moment),
        cmocka_unit_test(the_daemon_reads_to_the_end),
        cmocka_unit_test(what_came_at_once_is_passed_on_in_bounded_pieces),
        cmocka_unit_test(nothing_can_be_written_to_slurmstepd),
        cmocka_unit_test(a_step_whose_tasks_start_late_is_asked_again),
        cmocka_unit_test(what_will_never_be_is_asked_for_once),
        cmocka_unit_test(a_stream_that_the_daemon_does_not_take_is_ended),
        cmocka_unit_test(the_offer_ends_while_nobody_has_asked),
        cmocka_unit_test(a_fork_does_not_wait_for_a_thread_that_it_has_not),
        cmocka_unit_test(the_offer_ends_between_two_tries),
        cmocka_unit_test(a_stream_of_nonsense_is_ended),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
