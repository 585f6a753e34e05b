// What the Slurm backend makes of a start document, and the socket on which slurmd calls.
#include "common/base/log.h"
#include "common/config/config.h"
#include "plugins/kit/contact_sender.h"
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/call_step.h"
#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/backend/own_steps.h"
#include "plugins/slurm/backend/step_caller.h"
#include "plugins/slurm/base/task_map.h"
#include "server-glue/core/central_roles.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/slurm_map_head.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace pmixhost::kit;
using namespace std::chrono_literals;

static StartDocument document(const std::string &map, const std::string &host = "n2", const std::string &job = "12",
                              const std::string &step = "3") {
    StartDocument d;
    auto add = [&d](std::string_view key, std::string_view value) { assert_true(d.add(key, value).ok()); };
    add("host", host);
    add("slurm.job_id", job);
    add("slurm.step_id", step);
    add("slurm.task_map", map);
    return d;
}

static Result<SlurmStep> read_document(const StartDocument &d) {
    auto loaded = load_config("", {});
    assert_true(loaded.ok());
    return read_start_document(d, loaded->settings);
}

static void a_step_is_described(void **) {
    auto d = document(map_head() + " job=12 step=3 key=k cluster=c hosts=n[1-3] dist=cyclic bind=core "
                                   "alloc=n[1-4] cpus=4(x3),2 ranks=0+1x3:3");
    assert_true(d.add("slurm.report", "99 00112233445566778899aabbccddeeff 10.0.0.1").ok());
    auto step = read_document(d);
    if (!step)
        fail_msg("%s", step.failure().text.c_str());
    const StepInfo &info = step->info;
    assert_string_equal(info.nspace.c_str(), "slurm.12.3");
    assert_string_equal(info.job_id.c_str(), "12.3");
    assert_int_equal(info.session_id, 12);
    assert_int_equal(info.self, 1);
    assert_int_equal(info.map.rank_count(), 6);
    assert_int_equal(info.map.host_of(4), 1);
    assert_int_equal(info.universe_size, 14);
    assert_int_equal(info.allocated_hosts.size(), 4);
    assert_int_equal(info.apps.size(), 1);
    assert_string_equal(info.mapping_policy.c_str(), "node");
    assert_string_equal(info.binding_policy.c_str(), "core");
    assert_string_equal(info.step_key.c_str(), "slurm:c:12.3:k");
    assert_true(step->report.has_value());
    assert_true(step->jobs == std::vector<std::uint32_t>{12});
}

static void the_key_is_the_same_on_all_hosts(void **) {
    const std::string map = map_head() + " job=12 step=3 key=k jobs=12,13 hosts=n1,m1 ranks=0:1;2";
    auto first = read_document(document(map, "n1"));
    auto second = read_document(document(map, "m1", "13"));
    assert_true(first.ok() && second.ok());
    assert_string_equal(first->info.step_key.c_str(), second->info.step_key.c_str());
    assert_int_equal(second->info.self, 1);
    assert_true(second->jobs == (std::vector<std::uint32_t>{13, 12}));
    assert_int_equal(second->leader_job, 12);
}

// Components of a het step on one host have a daemon each.
static void components_that_share_a_host_are_told_apart(void **) {
    const std::string layout = " hosts=n1,n1,n2,n1 ranks=0:1;2:1;4;5";
    const std::pair<Rank, HostIndex> cases[] = {{0, 0}, {2, 1}, {5, 3}};
    for (auto [first, self] : cases) {
        auto step =
            read_document(document(map_head() + " job=12 step=3 first=" + std::to_string(first) + layout, "n1"));
        assert_true(step.ok());
        assert_int_equal(step->info.self, self);
        assert_true(step->info.map.hosts() == (std::vector<std::string>{"n1", "n1+1", "n2", "n1+2"}));
        assert_string_equal(step->node_of[3].c_str(), "n1");
    }
}

static void wrong_documents_are_refused(void **) {
    const std::string good = map_head() + " job=12 step=3 hosts=n[1-2] ranks=0+1x2";
    assert_true(read_document(document(good)).ok());
    assert_false(read_document(document(good, "n3")).ok());
    assert_false(read_document(document(good, "n2", "11")).ok());
    assert_false(read_document(document(good, "n2", "12", "4")).ok());
    assert_false(read_document(document(good, "n2", "x")).ok());
    assert_false(read_document(document("x")).ok());
    for (const char *rest : {"hosts=n[1-3] ranks=0+1x2", "hosts=n[1-2] ranks=0;0", "hosts=n[1-2] ranks=0;2",
                             "hosts=n[1-2 ranks=0;1", "hosts=n[1-99999999] ranks=0;1"})
        assert_false(read_document(document(map_head() + " job=12 step=3 " + rest)).ok());
    StartDocument empty;
    assert_false(read_document(empty).ok());
}

// The programs that the daemon starts (a session, a mailer) would keep it open.
static void the_lifeline_is_the_daemons_alone(void **) {
    int line[2];
    assert_int_equal(pipe(line), 0);
    auto d = document(map_head() + " job=12 step=3 hosts=n[1-2] ranks=0+1x2");
    assert_true(d.add("slurm.lifeline_fd", std::to_string(line[0])).ok());
    auto step = read_document(d);
    assert_true(step.ok());
    assert_int_equal(step->lifeline_fd, line[0]);
    assert_int_equal(fcntl(line[0], F_GETFD), FD_CLOEXEC);
    close(line[0]);
    close(line[1]);
    assert_false(read_document(d).ok());
}

static void cpus_are_counted(void **) {
    assert_int_equal(sum_of_cpus("4"), 4);
    assert_int_equal(sum_of_cpus("4(x2),8"), 16);
    for (const char *text : {"", "x", "4(x", "4(x2", "4(2)", "4(xz)", "4294967295(x2)", "-1"})
        assert_int_equal(sum_of_cpus(text), 0);
}

// ---------------------------------------------------------------------------- the contact socket

struct Fixture {
    std::string base;
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "test"};
    std::vector<std::string> messages;
};

static int set_up(void **state) {
    auto *f = new Fixture;
    char directory[] = "/tmp/pmixhost-test-XXXXXX";
    f->base = mkdtemp(directory);
    auto loop = EventLoop::create([](const std::string &) { std::abort(); });
    f->loop = std::move(loop.value());
    *state = f;
    return 0;
}
static int tear_down(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    rmdir(contact_directory(f->base, geteuid()).c_str());
    rmdir(f->base.c_str());
    delete f;
    return 0;
}

static std::string path_in(Fixture *f, std::uint32_t host) {
    return *contact_path(f->base, geteuid(), 12, 3, host, "");
}

static Result<std::unique_ptr<ContactSocket>> open_in(Fixture *f, std::uint32_t host = 0) {
    return ContactSocket::open(*f->loop, f->log, path_in(f, host),
                               [f](std::string message) { f->messages.push_back(std::move(message)); });
}

static UniqueFd call(const std::string &path) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        fd.reset();
    return fd;
}

static void say(const UniqueFd &fd, std::string_view bytes) {
    assert_int_equal(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
}

static std::string frame(uid_t uid, std::size_t size, const std::string &message) {
    std::string bytes;
    for (std::uint32_t value : {static_cast<std::uint32_t>(uid), static_cast<std::uint32_t>(size)}) {
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes += static_cast<char>(value >> shift);
    }
    return bytes + message;
}

static void run_for(Fixture *f, Duration duration) {
    auto timer = f->loop->after(duration, [f] { f->loop->stop(); });
    assert_true(f->loop->run().ok());
}

static void genuine_messages_arrive(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    auto socket = open_in(f);
    assert_true(socket.ok());
    uid_t own = geteuid();
    UniqueFd whole = call(path_in(f, 0)), wrong = call(path_in(f, 0)), large = call(path_in(f, 0)),
             halves = call(path_in(f, 0)), cut = call(path_in(f, 0));
    say(whole, frame(own, 5, "hello"));
    say(wrong, frame(own + 1, 5, "wrong"));
    say(large, frame(own, max_contact + 1, std::string(max_contact + 1, 'x')));
    say(halves, frame(own, max_contact, std::string(1000, 'y')));
    say(cut, frame(own, 9, "cut"));
    cut.reset();
    run_for(f, 100ms);
    assert_int_equal(f->messages.size(), 1);
    assert_string_equal(f->messages[0].c_str(), "hello");
    say(halves, std::string(max_contact - 1000, 'y'));
    run_for(f, 100ms);
    assert_int_equal(f->messages.size(), 2);
    assert_int_equal(f->messages[1].size(), max_contact);
}

static void the_socket_goes_with_its_daemon_and_leftovers_go_too(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    {
        auto first = open_in(f, 1);
        assert_true(first.ok());
        // One that a killed daemon left behind.
        UniqueFd left(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_in(f, 7).copy(address.sun_path, sizeof address.sun_path - 1);
        assert_int_equal(bind(left.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        left.reset();
        auto second = open_in(f, 2);
        assert_true(second.ok());
        assert_int_not_equal(access(path_in(f, 7).c_str(), F_OK), 0);
        assert_int_equal(access(path_in(f, 1).c_str(), F_OK), 0);
        assert_true(static_cast<bool>(call(path_in(f, 1))));
    }
    assert_int_not_equal(access(path_in(f, 1).c_str(), F_OK), 0);
    // A name that is taken by a leftover of the same name.
    UniqueFd file(open(path_in(f, 3).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_true(open_in(f, 3).ok());
}

// A socket at that path, as of another daemon; it listens, or was left by one that was killed.
static UniqueFd socket_at(const std::string &path, bool listens) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    assert_int_equal(bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    if (listens)
        assert_int_equal(listen(fd.get(), 5), 0);
    return fd;
}

// Each is woken by whoever looks.
static void a_start_wakes_few_of_many_daemons_and_leftovers_go_in_the_end(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    auto first = open_in(f, 0);
    assert_true(first.ok());
    std::vector<UniqueFd> others;
    for (std::uint32_t host = 1; host <= 30; ++host)
        others.push_back(socket_at(path_in(f, host), true));
    socket_at(path_in(f, 99), false);
    assert_true(open_in(f, 100).ok());
    int woken = 0;
    for (const auto &other : others) {
        UniqueFd visitor(accept4(other.get(), nullptr, nullptr, SOCK_CLOEXEC));
        woken += visitor ? 1 : 0;
    }
    assert_true(woken <= 4);
    int starts = 0;
    for (; starts < 2000 && access(path_in(f, 99).c_str(), F_OK) == 0; ++starts) {
        assert_true(open_in(f, 100).ok());
        for (const auto &other : others)
            UniqueFd(accept4(other.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    assert_true(starts < 2000);
    for (std::uint32_t host = 1; host <= 30; ++host)
        assert_int_equal(unlink(path_in(f, host).c_str()), 0); // they are all still there
}

// Two of the same name, as when a job is started again before the old daemon has ended.
static void a_socket_that_another_one_took_over_stays(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    auto first = open_in(f), second = open_in(f);
    assert_true(first.ok() && second.ok());
    first->reset();
    assert_true(static_cast<bool>(call(path_in(f, 0))));
    second->reset();
    assert_int_not_equal(access(contact_directory(f->base, geteuid()).c_str(), F_OK), 0);
}

// The number that the next descriptor will have: there are none from a limit of that on.
static rlim_t next_descriptor() {
    return static_cast<rlim_t>(UniqueFd(dup(0)).get());
}

static Duration processor_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void without_descriptors_it_waits_and_does_not_spin(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    auto socket = open_in(f);
    assert_true(socket.ok());
    UniqueFd caller = call(path_in(f, 0));
    say(caller, frame(geteuid(), 5, "hello"));
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit none{next_descriptor(), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    auto begin = processor_time();
    run_for(f, 500ms);
    auto used = processor_time() - begin;
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(f->messages.empty());
    assert_true(used < 200ms);
    run_for(f, 300ms);
    assert_int_equal(f->messages.size(), 1);
}

static void a_directory_of_somebody_else_is_refused(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    std::string directory = contact_directory(f->base, geteuid());
    auto refused = [&] {
        auto socket = open_in(f);
        return !socket.ok() && socket.failure().text.find(directory) != std::string::npos;
    };
    assert_int_equal(mkdir(directory.c_str(), 0755), 0);
    assert_int_equal(chmod(directory.c_str(), 0755), 0);
    assert_true(refused());
    rmdir(directory.c_str());
    assert_int_equal(symlink("/tmp", directory.c_str()), 0);
    assert_true(refused());
    unlink(directory.c_str());
    if (geteuid() == 0) {
        assert_int_equal(mkdir(directory.c_str(), 0700), 0);
        assert_int_equal(chown(directory.c_str(), 60'999, 60'999), 0);
        assert_true(refused());
        rmdir(directory.c_str());
    }
    UniqueFd file(open(directory.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_true(refused());
    unlink(directory.c_str());
}

static void long_paths_are_refused_with_advice(void **) {
    auto path = contact_path("/" + std::string(80, 'x'), 4294967294u, 4294967295u, 1, 1, "");
    assert_false(path.ok());
    assert_non_null(strstr(path.failure().text.c_str(), "directory.base"));
}

#ifdef PMIXHOST_SANITIZES_ADDRESSES
// libslurm keeps some bytes of a host list that it cannot read.
extern "C" const char *__lsan_default_suppressions();
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
    return "leak:slurm_hostlist_create";
}
#endif

// ------------------------------------------------------------------------- contacts on their way

// Stands for slurm_forward_data: "stuck" holds its thread until the gate opens.
struct StuckHost {
    std::shared_ptr<OneTimeGate> opening = std::make_shared<OneTimeGate>();
    std::shared_ptr<std::atomic<int>> running = std::make_shared<std::atomic<int>>(0);
    ContactSender::Forward forward() {
        return [opening = opening, running = running](const std::string &node, auto &, auto &) -> Result<void> {
            ++*running;
            if (node == "stuck")
                opening->wait();
            --*running;
            return {};
        };
    }
    ~StuckHost() {
        opening->open();
        while (*running > 0)
            sched_yield(); // a sanitizer would find the threads
    }
};

// Sends to each of the nodes in turn and runs until all have been answered.
static std::vector<std::string> answers_of(Fixture &f, ContactSender &sender,
                                           const std::vector<std::pair<std::string, Duration>> &nodes) {
    std::vector<std::string> said;
    for (const auto &[node, patience] : nodes) {
        sender.send({node, "p", "m", f.loop->now() + patience}, [&, node = node](Result<void> sent) {
            said.push_back(node + (sent ? " sent" : " failed"));
            if (said.size() == nodes.size())
                f.loop->stop();
        });
    }
    assert_true(f.loop->run().ok());
    return said;
}

static void a_stuck_host_does_not_hold_up_the_others(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    StuckHost host;
    ContactSender sender(*f->loop, f->log, 64, host.forward());
    for (int i = 0; i < 3; ++i)
        sender.send({"stuck", "p", "m", f->loop->now() + 1h}, [](Result<void>) { fail_msg("stuck answered"); });
    assert_true(answers_of(*f, sender, {{"well", 1h}}) == std::vector<std::string>{"well sent"});
}

// There are as many stuck hosts as threads, and the messages behind them are sent all the same once the time of those
// is up.
static void a_stuck_host_is_given_up_in_time(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    StuckHost host;
    ContactSender sender(*f->loop, f->log, 64, host.forward());
    std::vector<std::pair<std::string, Duration>> nodes(ContactSender::threads.at_once, {"stuck", 100ms});
    nodes.push_back({"well", 1h});
    auto said = answers_of(*f, sender, nodes);
    assert_int_equal(std::count(said.begin(), said.end(), "well sent"), 1);
    assert_int_equal(std::count(said.begin(), said.end(), "stuck failed"), ContactSender::threads.at_once);
}

static void a_host_that_refuses_is_tried_again(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    std::atomic<int> tried = 0, missing = 0;
    ContactSender sender(*f->loop, f->log, 64, [&](auto &, auto &, auto &) -> Result<void> {
        if (++tried < 3)
            return error(ErrorKind::unreachable, "nobody");
        return {};
    });
    bool sent = false;
    sender.send({"n1", "p", "m", f->loop->now() + 10s, false, f->loop->now(),
                 [&]() -> Result<void> {
                     ++missing;
                     return {};
                 }},
                [&](Result<void> result) {
                    sent = result.ok();
                    f->loop->stop();
                });
    assert_true(f->loop->run().ok());
    assert_true(sent);
    assert_int_equal(tried, 3);
    assert_int_equal(missing, 1);
}

// Nobody is left of a daemon that was there: to try again would find nobody for ever.
static void a_daemon_that_has_left_is_not_tried_again(void **state) {
    auto *f = static_cast<Fixture *>(*state);
    std::atomic<int> tried = 0;
    std::vector<ErrorKind> failures;
    ContactSender sender(*f->loop, f->log, 64, [&](const std::string &node, auto &, auto &) -> Result<void> {
        ++tried;
        return error(node == "left" ? ErrorKind::not_found : ErrorKind::unreachable, "nobody");
    });
    auto hear = [&](Result<void> result) {
        failures.push_back(result.failure().kind);
        f->loop->stop();
    };
    sender.send({"left", "p", "m", f->loop->now() + 10s, true}, hear);
    assert_true(f->loop->run().ok());
    assert_int_equal(tried, 1);
    assert_true(failures.back() == ErrorKind::not_found);
    // That slurmd itself cannot be reached says nothing of the daemon.
    sender.send({"far", "p", "m", f->loop->now() + 200ms, true}, hear);
    assert_true(f->loop->run().ok());
    assert_true(tried > 2);
    assert_true(failures.back() == ErrorKind::unreachable);
}

// ---------------------------------------------------------------------- calling the other steps

static void steps_that_do_not_know_of_the_session_are_called(void **) {
    std::vector<RunningStep> steps = {{0, "a", {"n1", "n2"}},       // known
                                      {1, "b", {"n2", "n3"}},       // answers at its first host
                                      {2, "c", {"n1", "n2", "n3"}}, // in an order of its own: n1 is its third
                                      {3, "pmixhost-session", {"n1"}},
                                      {4, "d", {"n1", "n2"}}}; // has no pmixhost
    std::vector<std::string> reached;
    std::map<std::string, int> sent;
    StepCaller::Slurm slurm;
    slurm.steps = [&](std::uint32_t job) -> Result<std::vector<RunningStep>> {
        assert_int_equal(job, 12);
        return steps;
    };
    slurm.forward = [&](const std::string &node, const std::string &path, const std::string &message) -> Result<void> {
        assert_string_equal(message.c_str(), std::string(session_call).c_str());
        std::string place = node + " " + path.substr(path.rfind('/') + 1);
        ++sent[place];
        if (place != "n2 12.1.0" && place != "n1 12.2.2")
            return error(ErrorKind::not_found, "nobody");
        reached.push_back(place);
        return {};
    };
    StepCaller::Memory memory;
    std::set<Bytes> known = {namespace_of(12, 0)};
    auto round = StepCaller::round(12, {"/tmp", ""}, slurm, known, memory, TimePoint());
    assert_int_equal(round.said.size(), 3);
    assert_true(round.called.known);
    assert_true((round.called.names == std::set<Bytes>{namespace_of(12, 1), namespace_of(12, 2)}));
    assert_true(reached == (std::vector<std::string>{"n2 12.1.0", "n1 12.2.2"}));
    for (int i = 1; i <= 30; ++i) // one a half minute
        StepCaller::round(12, {"/tmp", ""}, slurm, known, memory, TimePoint() + i * std::chrono::seconds(30));
    assert_int_equal(sent["n1 12.4.0"], 11); // it is not tried for ever
    assert_int_equal(sent["n2 12.1.0"], 31); // who is there can be called at any time
    assert_int_equal(sent.count("n1 12.0.0") + sent.count("n1 12.3.0"), 0);
    slurm.steps = [](std::uint32_t) -> Result<std::vector<RunningStep>> {
        return error(ErrorKind::unreachable, "slurmctld sleeps");
    };
    round = StepCaller::round(12, {"/tmp", ""}, slurm, known, memory, TimePoint());
    assert_int_equal(round.said.size(), 1);
    assert_true(!round.called.known && round.called.names.empty());
}

static void families_do_not_see_each_other(void **) {
    std::string one(64, '1'), other(64, '2');
    assert_string_equal(family_of("").c_str(), "");
    assert_int_equal(family_of(one).size(), 8);
    assert_true(family_of(one) == family_of(one) && family_of(one) != family_of(other));
    assert_true(one.find(family_of(one)) == std::string::npos);
    assert_string_equal(contact_path("/tmp", 7, 12, 3, 1, "")->c_str(), "/tmp/.pmixhost-7/12.3.1");
    assert_string_equal(session_path("/tmp", 7, 12, "")->c_str(), "/tmp/.pmixhost-7/12.session");
    assert_string_equal(session_path("/tmp", 7, 12, family_of(one))->c_str(),
                        ("/tmp/.pmixhost-7/12.session." + family_of(one)).c_str());
    // The steps of the other family have no socket at the path that is tried.
    StepCaller::Slurm slurm;
    slurm.steps = [](std::uint32_t) -> Result<std::vector<RunningStep>> {
        return std::vector<RunningStep>{{7, "relative", {"n1"}}, {8, "stranger", {"n1"}}};
    };
    std::string there[] = {*contact_path("/tmp", geteuid(), 12, 7, 0, family_of(one)),
                           *contact_path("/tmp", geteuid(), 12, 8, 0, family_of(other))};
    slurm.forward = [&](const std::string &, const std::string &path, const std::string &) -> Result<void> {
        if (path == there[0] || path == there[1])
            return {};
        return error(ErrorKind::not_found, "nobody");
    };
    StepCaller::Memory memory;
    auto round = StepCaller::round(12, {"/tmp", family_of(one)}, slurm, {}, memory, TimePoint());
    assert_true((round.called.names == std::set<Bytes>{namespace_of(12, 7)}));
}

static void a_step_that_starts_slowly_is_called_in_the_end(void **) {
    int rounds = 0;
    StepCaller::Slurm slurm;
    slurm.steps = [](std::uint32_t) -> Result<std::vector<RunningStep>> {
        return std::vector<RunningStep>{{7, "slow", {"n1", "n2"}}};
    };
    bool reached = false;
    slurm.forward = [&](const std::string &, const std::string &, const std::string &) -> Result<void> {
        if (rounds < 100) // however often it is asked for
            return error(ErrorKind::unreachable, "nobody");
        reached = true;
        return {};
    };
    StepCaller::Memory memory;
    for (; rounds < 102; ++rounds)
        StepCaller::round(12, {"/tmp", ""}, slurm, {}, memory, TimePoint() + rounds * std::chrono::seconds(2));
    assert_true(reached);
}

static void a_desk_calls_the_step_that_is_meant(void **) {
    assert_int_equal(parse_step_wish("12")->job, 12);
    assert_false(parse_step_wish("12")->step.has_value());
    assert_int_equal(*parse_step_wish("12.3")->step, 3);
    assert_int_equal(*parse_step_wish("slurm.12.0")->step, 0);
    for (const char *wrong :
         {"", ".", "12.", ".3", "x", "12.x", "slurm.12", "-1", "12.3.4", "99999999999", " 12", "12.0 "})
        assert_false(parse_step_wish(wrong).ok());
    for (const char *part : {"12_3", "12+1", "12_3.0"})
        assert_non_null(strstr(parse_step_wish(part).failure().text.c_str(), "has a number of its own; next: squeue"));
    for (const char *none : {"_3", "x_3", "", "slurm.12_3.0"})
        assert_non_null(strstr(parse_step_wish(none).failure().text.c_str(), "is no job; allowed: JOB"));

    std::vector<RunningStep> steps = {{0, "a", {"n1"}}, {3, "pmixhost-session", {"n1"}}};
    std::vector<std::string> tried;
    StepCaller::Slurm slurm;
    slurm.steps = [&](std::uint32_t) -> Result<std::vector<RunningStep>> { return steps; };
    std::string there = *contact_path("/run/pmixhost", geteuid(), 12, 0, 0, "");
    slurm.forward = [&](const std::string &, const std::string &path, const std::string &message) -> Result<void> {
        assert_string_equal(message.c_str(), "come");
        tried.push_back(path);
        return path == there ? Result<void>() : error(ErrorKind::not_found, "nobody");
    };
    assert_true(call_step("12", {"/tmp", "/run/pmixhost"}, slurm, "come").ok());
    assert_string_equal(tried.back().c_str(), there.c_str());
    auto unserved = call_step("12.0", {"/tmp"}, slurm, "come");
    assert_non_null(strstr(unserved.failure().text.c_str(), "no pmixhost of yours serves step 12.0"));
    assert_true(unserved.failure().kind == ErrorKind::unsupported); // while one that has ended is not there
    assert_true(call_step("12.1", {"/tmp"}, slurm, "come").failure().kind == ErrorKind::not_found);
    steps.push_back({1, "b", {"n2"}});
    auto several = call_step("12", {"/tmp", "/run/pmixhost"}, slurm, "come");
    assert_string_equal(several.failure().text.c_str(), "job 12 has several steps; name one of 12.0, 12.1");
    assert_true(call_step("12.0", {"/tmp", "/run/pmixhost"}, slurm, "come").ok());
    slurm.forward = [](const std::string &, const std::string &, const std::string &) -> Result<void> {
        return error(ErrorKind::unreachable, "slurmd on n1 does not answer");
    };
    assert_string_equal(call_step("12.0", {"/tmp"}, slurm, "come").failure().text.c_str(),
                        "slurmd on n1 does not answer");
}

static void all_steps_of_a_user_are_found(void **) {
    std::vector<OwnJob> jobs = {{15, 15}, {12, 12}, {13, 12}, {14, 14}};
    std::vector<std::uint32_t> asked;
    OwnStepsSource slurm;
    slurm.jobs = [&]() -> Result<std::vector<OwnJob>> { return jobs; };
    slurm.steps = [&](std::uint32_t job) -> Result<std::vector<RunningStep>> {
        asked.push_back(job);
        switch (job) {
        case 12: // with those of its other component, which is job 13
            return std::vector<RunningStep>{{0, "a", {"n1"}}, {0, "a", {"n2"}}};
        case 13:
            return std::vector<RunningStep>{{0, "a", {"n2"}}, {3, "its own", {"n2"}}};
        case 14:
            return error(ErrorKind::not_found, "it has ended");
        default:
            return std::vector<RunningStep>{{10, "b", {"n1"}}, {2, "c", {"n1"}}, {3, "pmixhost-session", {"n1"}}};
        }
    };
    slurm.all_steps = []() -> Result<std::vector<StepOfJob>> {
        return std::vector<StepOfJob>{{99, {0, "another user's", {"n1"}}},
                                      {13, {0, "a", {"n2"}}},
                                      {101, {1, "z", {"n1"}}},
                                      {102, {1, "pmixhost-session", {"n1"}}}};
    };
    assert_true(*own_steps(slurm) == (std::vector<std::string>{"12.0", "12.3", "15.2", "15.10"}));
    assert_int_equal(asked.size(), 4);
    asked.clear();
    for (std::uint32_t i = 0; i < max_single_jobs; ++i)
        jobs.push_back({100 + i, 100 + i});
    assert_true(*own_steps(slurm) == (std::vector<std::string>{"12.0", "101.1"}));
    assert_true(asked.empty()); // with many jobs, one question
    slurm.all_steps = []() -> Result<std::vector<StepOfJob>> {
        return error(ErrorKind::unreachable, "slurmctld sleeps");
    };
    assert_string_equal(own_steps(slurm).failure().text.c_str(), "slurmctld sleeps");
    jobs.resize(1);
    slurm.steps = [](std::uint32_t) -> Result<std::vector<RunningStep>> {
        return error(ErrorKind::unreachable, "slurmctld sleeps on");
    };
    assert_string_equal(own_steps(slurm).failure().text.c_str(), "slurmctld sleeps on");
    jobs.clear();
    assert_true(own_steps(slurm)->empty());
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_described),
        cmocka_unit_test(a_step_that_starts_slowly_is_called_in_the_end),
        cmocka_unit_test(families_do_not_see_each_other),
        cmocka_unit_test(the_key_is_the_same_on_all_hosts),
        cmocka_unit_test(components_that_share_a_host_are_told_apart),
        cmocka_unit_test(wrong_documents_are_refused),
        cmocka_unit_test(cpus_are_counted),
        cmocka_unit_test(the_lifeline_is_the_daemons_alone),
        cmocka_unit_test_setup_teardown(genuine_messages_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_socket_goes_with_its_daemon_and_leftovers_go_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_wakes_few_of_many_daemons_and_leftovers_go_in_the_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_socket_that_another_one_took_over_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_descriptors_it_waits_and_does_not_spin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_host_does_not_hold_up_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_host_is_given_up_in_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_that_refuses_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_has_left_is_not_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_of_somebody_else_is_refused, set_up, tear_down),
        cmocka_unit_test(long_paths_are_refused_with_advice),
        cmocka_unit_test(steps_that_do_not_know_of_the_session_are_called),
        cmocka_unit_test(a_desk_calls_the_step_that_is_meant),
        cmocka_unit_test(all_steps_of_a_user_are_found),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
