// PMIx_Spawn under Slurm: the srun that a plan becomes, and what reaches srun while its step runs.
#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/start/task_spec.h"
#include "plugins/kit/launch_listener.h"
#include "plugins/kit/starter_sender.h"
#include "plugins/kit/unproved_note.h"
#include "plugins/slurm/backend/job_gpus.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/steps/spawn_command.h"
#include "server-glue/rm/user_notes.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <slurm/slurm_errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace pmixhost::kit;
using namespace std::chrono_literals;

namespace {

class PlainSealer : public Sealer {
  public:
    Result<std::string> seal(std::string_view payload) override { return std::string(payload); }
    Result<Opened> open(const std::string &sealed) override { return Opened{sealed, geteuid()}; }
};

bool has(const std::vector<std::string> &words, const std::string &word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<TaskApp> apps_of(const JobCommand &command) {
    auto entries = command.environment;
    std::vector<char *> environment;
    for (auto &entry : entries)
        environment.push_back(entry.data());
    environment.push_back(nullptr);
    auto text = collect_task_spec(environment.data());
    assert_true(text.ok());
    return decode_task_spec(*text).value();
}

void more_hosts_than_srun_can_be_told_are_refused(void **) {
    SpawnPlan plan;
    TaskApp app;
    app.count = 14'000;
    app.program = "prog";
    app.argv = {"prog"};
    plan.apps = {app};
    plan.host_of_rank.assign(app.count, "node12345");
    auto command = spawn_command(plan, {});
    assert_false(command.ok());
    assert_int_equal(command.failure().kind, ErrorKind::limit);
    assert_non_null(std::strstr(command.failure().text.c_str(), "14000 processes make a list of 136 KiB"));
    plan.host_of_rank.assign(app.count, "node1");
    assert_true(spawn_command(plan, {}).ok());
}

void children_come_into_their_parents_container(void **) {
    SpawnPlan plan;
    TaskApp app;
    app.count = 1;
    app.program = "/only/inside";
    app.argv = {"inside", "x"};
    plan.apps = {app};
    plan.host_of_rank = {"n1"};
    plan.parent_nspace = "slurm.7.0";
    SpawnContext context;
    context.environment = {"PMIXHOST_SLURM_SPAWN_PREFIX=enter 'the image'", "SLURM_CONTAINER=/old"};
    auto without = spawn_command(plan, context);
    app.no_input = true; // pmixhost-task's to give
    assert_true(without.ok() && apps_of(*without)[0] == app);
    for (const auto &word : without->argv)
        assert_false(word.starts_with("--container"));
    context.prefix = {"enter", "the image"};
    context.container = "/bundles/one";
    auto command = spawn_command(plan, context);
    assert_true(command.ok());
    assert_true(apps_of(*command)[0].prefix == context.prefix);
    assert_string_equal(apps_of(*command)[0].program.c_str(), "/only/inside");
    assert_true(has(command->argv, "--container=/bundles/one"));
    assert_true(has(command->environment, "PMIXHOST_TASK_CONTAINER=1"));
    assert_false(has(without->environment, "PMIXHOST_TASK_CONTAINER=1"));
    // What its own children are given.
    assert_true(has(command->environment, context.environment[0]));
    assert_false(has(command->environment, "SLURM_CONTAINER=/old"));
}

// But what PMIx_Spawn says counts.
void children_have_their_parents_options(void **) {
    SpawnPlan plan;
    plan.apps = {TaskApp()};
    plan.apps[0].count = 1;
    plan.host_of_rank = {"n1"};
    plan.parent_nspace = "slurm.7.0";
    SpawnContext context;
    context.options = {"--export=ALL,A=1,B=x y", "--unbuffered", "--kill-on-bad-exit=0"};
    auto command = spawn_command(plan, context);
    assert_true(command.ok());
    for (const auto &option : context.options)
        assert_true(has(command->argv, option));
    plan.end_on_bad_exit = true;
    command = spawn_command(plan, context);
    assert_true(has(command->argv, "--kill-on-bad-exit=1"));
    assert_false(has(command->argv, "--kill-on-bad-exit=0"));
}

// A step that names none asks for all that the job has.
void children_ask_for_the_gpus_of_their_hosts(void **) {
    SpawnPlan plan;
    plan.apps = {TaskApp()};
    plan.apps[0].count = 2;
    plan.parent_nspace = "slurm.7.0";
    SpawnContext context;
    auto asks = [&](std::vector<std::string> hosts) {
        plan.host_of_rank = std::move(hosts);
        std::string out;
        auto command = spawn_command(plan, context);
        for (const auto &word : command->argv) {
            if (word.starts_with("--gpus") || word.starts_with("--gres"))
                out += word;
        }
        return out;
    };
    assert_string_equal(asks({"n1", "n1"}).c_str(), "");
    context.gpus = {{"n1", 4}, {"n2", 1}, {"n3", 0}};
    assert_string_equal(asks({"n1", "n1"}).c_str(), "--gpus=4");
    assert_string_equal(asks({"n2", "n1"}).c_str(), "");
    assert_string_equal(asks({"n3", "n3"}).c_str(), "--gres=none");
    assert_int_equal(gpus_in("gpu:a100:2(IDX:0,2),gpu:1(IDX:3),shard:7(IDX:1)"), 3);
    assert_int_equal(gpus_in("gpu"), 1);
    assert_int_equal(gpus_in(""), 0);
    assert_int_equal(gpus_in("craynetwork:3,gpu:4(IDX:0-3"), 4);
}

void children_have_the_users_limit_of_files(void **) {
    SpawnPlan plan;
    plan.apps = {TaskApp()};
    plan.apps[0].count = 1;
    plan.host_of_rank = {"n1"};
    plan.parent_nspace = "slurm.7.0";
    for (auto [variable, limit] : {std::pair<const char *, std::uint64_t>("SLURM_RLIMIT_NOFILE=333", 333),
                                   {"SLURM_RLIMIT_NOFILE=U1024", 1024}, // by --propagate
                                   {"SLURM_RLIMIT_NOFILE=", 0},
                                   {"SLURM_RLIMIT_NOFILE=12x", 0},
                                   {"SLURM_RLIMIT_NOFILE=0", 0},
                                   {"SLURM_RLIMIT_NPROC=5", 0}}) {
        SpawnContext context;
        context.environment = {variable};
        auto command = spawn_command(plan, context);
        assert_true(command.ok() && command->drops_early_signals);
        assert_int_equal(command->open_files.value_or(0), limit);
        assert_false(has(command->environment, variable));
    }
}

void a_plan_becomes_a_command(void **) {
    SpawnPlan plan;
    TaskApp app;
    app.count = 3;
    app.program = "/home/u/my prog";
    plan.apps = {app};
    plan.host_of_rank = {"n2", "n1", "n2"};
    plan.parent_nspace = "slurm.7.0";
    plan.parent_rank = 4;
    SpawnContext context;
    context.job_id = 7;
    context.srun = "/usr/bin/srun";
    context.task_program = "/x/pmixhost-task";
    context.environment = {"SLURM_JOB_ID=7", "SLURM_PROCID=1", "A=b", "SLURM_NTASKS=9"};
    auto command = spawn_command(plan, context);
    assert_true(command.ok());
    const auto &argv = command->argv;
    for (const char *word :
         {"/usr/bin/srun", "--jobid=7", "--overlap", "--ntasks=3", "--nodelist=n2,n1,n2", "--job-name=my_prog"})
        assert_true(has(argv, word));
    assert_false(has(argv, "--overcommit"));
    assert_false(has(argv, "--input=none")); // which loses output
    assert_true(apps_of(*command)[0].no_input);
    assert_string_equal(argv.back().c_str(), "/x/pmixhost-task");
    for (const char *word : {"SLURM_JOB_ID=7", "A=b", "PMIXHOST_PARENT=slurm.7.0 4"})
        assert_true(has(command->environment, word));
    assert_false(has(command->environment, "SLURM_PROCID=1"));
    assert_false(has(command->environment, "SLURM_NTASKS=9"));

    plan.shares_fate = true;
    assert_true(has(spawn_command(plan, context)->environment, "PMIXHOST_PARENT=slurm.7.0 4 fate"));

    plan.oversubscribed = true;
    plan.cpus_per_task = 2;
    plan.binding = SpawnPlan::Binding::core;
    plan.stdin_rank = 1;
    plan.end_on_bad_exit = true;
    context.output = "f.%J";
    context.label = true;
    command = spawn_command(plan, context);
    for (const char *word : {"--overcommit", "--cpus-per-task=2", "--cpu-bind=cores", "--input=1", "--label",
                             "--kill-on-bad-exit=1", "--output=f.%J", "--open-mode=append"})
        assert_true(has(command->argv, word));
    assert_false(apps_of(*command)[0].no_input);
    plan.apps[0].argv.push_back(std::string(max_task_spec + 1, 'x'));
    assert_false(spawn_command(plan, context).ok());
}

void the_parents_word_is_read_with_care(void **) {
    auto plain = ParentWord::parse("slurm.7.0 4"), fate = ParentWord::parse("slurm.7.0 4 fate");
    assert_true(plain && plain->nspace == "slurm.7.0" && plain->rank == 4 && !plain->shares_fate);
    assert_true(fate && fate->nspace == "slurm.7.0" && fate->rank == 4 && fate->shares_fate);
    for (const char *none : {"", " ", "a", "a ", " 1", "a 1 ", "a x", "a 1 fat", "a fate", "a 4294967296"}) {
        if (ParentWord::parse(none))
            fail_msg("'%s'", none);
    }
    assert_false(ParentWord::parse(std::string(256, 'a') + " 1").has_value());
    auto forwards = ParentWord::parse("slurm.7.0 4 forwards 6 2 fate");
    assert_true(forwards && forwards->forwards == 6 && forwards->host == 2 && forwards->rank == 4 &&
                forwards->shares_fate);
    assert_string_equal(forwards->text().c_str(), "slurm.7.0 4 forwards 6 2 fate");
    auto holds = ParentWord::parse("slurm.7.0 4 forwards 6 2 holds 4096 5 fate");
    assert_true(holds && holds->forwards == 6 && holds->held_bytes == 4096 && holds->held_seconds == 5 &&
                holds->shares_fate);
    assert_string_equal(holds->text().c_str(), "slurm.7.0 4 forwards 6 2 holds 4096 5 fate");
    for (const char *none :
         {"slurm.7.0 4 forwards 6 2 holds 0 5", "slurm.7.0 4 forwards 6 2 holds 4096",
          "slurm.7.0 4 forwards 6 2 holds 1 4294967296", "slurm.7.0 4 forwards 8 2", "slurm.7.0 4 forwards 0 2",
          "slurm.7.0 4 forwards 6", "slurm.7.0 forwards 6 2", "slurm.7.0 4 forwards 6 -1"})
        assert_false(ParentWord::parse(none).has_value());
}

void variables_of_a_step_are_not_handed_on(void **) {
    for (const char *kept : {"PATH=/bin", "SLURM_CONF=/c", "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n1",
                             "OMPI_MCA_btl=tcp", "PMIX_MCA_x=y", "PMIXHOST_LOG_LEVEL=debug", "SLURMX=1"}) {
        if (!belongs_to_the_job(kept))
            fail_msg("%s", kept);
    }
    for (const char *dropped :
         {"SLURM_STEP_ID=1", "SLURM_CPU_BIND=x", "SLURM_NTASKS=1", "SRUN_DEBUG=1", "PMIX_RANK=1", "OMPI_PARENT_PORT=x",
          "PMIXHOST_STEP_0=x", "PMIXHOST_TASK_SPEC_0=x", "PMIXHOST_PARENT=x 1", "PMIXHOST_REPORT=x",
          "PMIXHOST_PSETS=a=0", "SLURM_JOB_NAME=x", "SLURM_HOSTFILE=x", "SLURM_DISTRIBUTION=x"}) {
        if (belongs_to_the_job(dropped))
            fail_msg("%s", dropped);
    }
}

void sruns_words_have_a_meaning(void **) {
    auto kind = [](int number) {
        return explain_srun(fmt::format("srun: error: Unable to create step for job 3: {}\n", slurm_strerror(number)))
            .kind;
    };
    assert_true(kind(ESLURM_TOO_MANY_REQUESTED_CPUS) == ErrorKind::limit);
    assert_true(kind(ESLURM_STEP_LIMIT) == ErrorKind::limit);
    assert_true(kind(ESLURM_ALREADY_DONE) == ErrorKind::not_found);
    assert_true(kind(SLURM_COMMUNICATIONS_CONNECTION_ERROR) == ErrorKind::unreachable);
    assert_true(kind(ESLURM_ACCESS_DENIED) == ErrorKind::denied);
    assert_true(explain_srun("").kind == ErrorKind::system);
    assert_string_equal(explain_srun("a\nb\n").text.c_str(), "a;b");
}

// A listener with a fake launcher: a process that ends at once, and the test at the end of its channel.
struct Fixture {
    StarterAddress target;
    UniqueFd spawn_end, launcher_end;
    int spawn_channel = -1; // the listener's
    std::unique_ptr<LaunchListener> listener;
    PlainSealer sealer;
    int launchers = 0;
    std::vector<std::string> complaints; // read after the thread's end

    explicit Fixture(std::chrono::milliseconds patience = 10s, bool launcher_stays = false, bool is_told = true,
                     ToldEnds told_ends = ToldEnds::none) {
        auto opened = StarterListener::open({});
        assert_true(opened.ok());
        target = opened->address();
        target.addresses = {"127.0.0.1"};
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        spawn_end.reset(ends[0]);
        LaunchListener::Parts parts;
        parts.sealer = std::make_unique<PlainSealer>();
        UniqueFd channel(ends[1]);
        if (is_told)
            parts.spawn_channel = std::move(channel);
        parts.hosts = 2;
        parts.ends = told_ends;
        parts.ends_patience = 20ms;
        parts.patience = patience;
        parts.complain = [this](const std::string &text) { complaints.push_back(text); };
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        launcher_end.reset(pair[1]);
        spawn_channel = ends[1];
        make_small(pair[0]);
        parts.launcher_patience = 20ms;
        parts.end_patience = 100ms;
        parts.start_launcher = [this, launcher_stays, fd = pair[0]]() -> Result<LauncherProcess> {
            ++launchers; // read after the thread's end
            pid_t pid = fork();
            if (pid == 0 && launcher_stays)
                for (;;)
                    pause();
            if (pid == 0)
                _exit(0);
            return LauncherProcess{pid, UniqueFd(fd)};
        };
        listener = std::make_unique<LaunchListener>(std::move(*opened), std::move(parts));
    }
    static void make_small(int socket) {
        int small = 1; // as little as there can be
        assert_int_equal(setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    }
    void say(StarterMessage::Kind kind, int status, const std::string &body) {
        assert_true(send_to_starter(target, {kind, status, body}, sealer, 2s).ok());
    }
    static std::string line(int fd, char end) {
        std::string text;
        char c;
        while (::recv(fd, &c, 1, 0) == 1 && c != end)
            text += c;
        return text;
    }
};

void a_launch_is_told_when_all_hosts_have(void **) {
    Fixture f;
    f.listener->begin();
    f.say(StarterMessage::Kind::launched, 0, "0");
    f.say(StarterMessage::Kind::launched, 0, "0");
    f.say(StarterMessage::Kind::launched, 0, "1");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started ");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched 0 ");
    assert_false(f.listener->finish(1s).has_value());
}

// Until the listener's end, which is now.
std::multiset<std::string> lines_of_channel(Fixture &f) {
    f.listener.reset();
    std::multiset<std::string> lines; // each message comes over a connection of its own
    for (std::string line; !(line = Fixture::line(f.spawn_end.get(), '\n')).empty();)
        lines.insert(line);
    return lines;
}

bool sleeps(pid_t thread) {
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    auto name_end = text.rfind(") ");
    return name_end != text.npos && text[name_end + 2] == 'S';
}

// The last host's may come behind the end of the starter's own step: here when finish() has nothing left to read and
// sleeps, or has returned where it does not wait. Nothing is read before it, as there is no thread.
void ends_are_passed_on_and_awaited(void **) {
    Fixture f(10s, false, true, ToldEnds::all);
    f.say(StarterMessage::Kind::started, 0, "");
    f.say(StarterMessage::Kind::ended, 0, "0 n0 5 0 1:2:3:4:0 -");
    f.say(StarterMessage::Kind::ended, 1, "0 n0 5 1 - 0-0");
    f.say(StarterMessage::Kind::ended, 1, "0 n0 5 1 - 0-0"); // a host has one last word
    std::atomic<bool> begun{false};
    std::thread last([&f, &begun, main = ::gettid()] {
        while (!begun || !sleeps(main))
            std::this_thread::yield();
        f.say(StarterMessage::Kind::ended, 1, "1 n1 0 0 - 2-3");
    });
    begun = true;
    assert_false(f.listener->finish(10s).has_value());
    last.join();
    assert_true(
        (lines_of_channel(f) == std::multiset<std::string>{"started ", "ends 0 n0 5 0 1:2:3:4:0 -",
                                                           "ends 0 n0 5 1 - 0-0", "ends 1 n1 0 0 - 2-3", "over "}));
    assert_true(f.complaints.empty());
}

// One whose daemon has died says nothing; and where nothing has begun, or a task could not be started, there may be
// nothing to wait for.
void ends_are_awaited_for_a_moment(void **) {
    enum { begins, begins_not, fails };
    for (auto how : {begins, begins_not, fails}) {
        Fixture f(10s, false, true, ToldEnds::all);
        f.listener->begin();
        if (how != begins_not)
            f.say(StarterMessage::Kind::started, 0, "");
        if (how == fails)
            f.say(StarterMessage::Kind::launched, -190, "n1: no such program");
        const auto begin = std::chrono::steady_clock::now();
        assert_false(f.listener->finish(how == begins ? 20ms : 1h).has_value());
        assert_true(how != begins || std::chrono::steady_clock::now() - begin >= 20ms);
        f.listener.reset();
        assert_int_equal(f.complaints.size(), how == begins ? 1 : 0);
        if (how == begins)
            assert_non_null(std::strstr(f.complaints[0].c_str(), "2 of 2 hosts have not told"));
    }
}

// A host without a bad end says nothing then; one that has told of some says when none is left.
void of_bad_ends_alone_only_who_has_some_is_awaited(void **) {
    for (bool has_some : {false, true}) {
        Fixture f(10s, false, true, ToldEnds::bad);
        f.listener->begin();
        f.say(StarterMessage::Kind::started, 0, "");
        if (has_some)
            f.say(StarterMessage::Kind::ended, 0, "0 n0 5 0 1:2:3:4:0 -");
        const auto begin = std::chrono::steady_clock::now();
        assert_false(f.listener->finish(has_some ? 20ms : 1h).has_value());
        assert_true(!has_some || std::chrono::steady_clock::now() - begin >= 20ms);
        f.listener.reset();
        assert_int_equal(f.complaints.size(), has_some ? 1 : 0);
    }
}

void ends_that_nobody_asks_for_are_not_told(void **) {
    Fixture f;
    f.listener->begin();
    f.say(StarterMessage::Kind::started, 0, "");
    f.say(StarterMessage::Kind::ended, 0, "0 n0 5 0 1:2:3:4:0 -");
    assert_false(f.listener->finish(1h).has_value());
    assert_true((lines_of_channel(f) == std::multiset<std::string>{"started ", "over "}));
}

// What comes behind the last of those that there are may be left.
void more_hosts_than_there_are_keep_nobody_waiting(void **) {
    Fixture f(10s, false, true, ToldEnds::all);
    f.listener->begin();
    f.say(StarterMessage::Kind::started, 0, "");
    std::multiset<std::string> lines{"started ", "over "};
    for (int host = 0; host < 5; ++host) {
        std::string line = fmt::format("{} n 0 0 - {}-{}", host, host, host);
        f.say(StarterMessage::Kind::ended, 1, line);
        lines.insert("ends " + line);
    }
    assert_false(f.listener->finish(1h).has_value());
    auto told = lines_of_channel(f);
    assert_true(std::includes(lines.begin(), lines.end(), told.begin(), told.end()));
    assert_true(told.size() > 2 && told.contains("over "));
    assert_true(f.complaints.empty());
}

// As a user may have stopped it (Ctrl-Z): the starter ends all the same, and no line is cut.
void ends_that_nobody_reads_are_left_out(void **) {
    Fixture f(10s, false, true, ToldEnds::all);
    Fixture::make_small(f.spawn_channel);
    f.listener->begin();
    f.say(StarterMessage::Kind::launched, 0, "0");
    f.say(StarterMessage::Kind::launched, 0, "1");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started ");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched 0 ");
    const std::string line = "0 n0 5 0 - " + std::string(900, '1');
    for (int i = 0; i < 40; ++i)
        f.say(StarterMessage::Kind::ended, 0, line);
    f.say(StarterMessage::Kind::ended, 1, line);
    f.say(StarterMessage::Kind::ended, 1, "1 n1 0 0 - -");
    assert_false(f.listener->finish(10s).has_value());
    auto read = lines_of_channel(f);
    assert_true(!read.empty() && read.size() < 40 && read.count("ends " + line) == read.size());
    assert_int_equal(f.complaints.size(), 1);
    assert_non_null(std::strstr(f.complaints[0].c_str(), "does not read"));
}

void the_first_start_is_told_once(void **) {
    Fixture f;
    f.listener->begin();
    f.say(StarterMessage::Kind::started, 0, "");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started ");
    f.say(StarterMessage::Kind::started, 0, "");
    f.say(StarterMessage::Kind::launched, -190, "n1: no such program");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched -190 n1: no such program");
    assert_false(f.listener->finish(1s).has_value());
}

// Else it would take the middle of an invitation for the beginning of another one.
void a_launcher_that_stands_still_gets_whole_invitations(void **) {
    Fixture f;
    f.listener->begin();
    std::string all;
    for (char each : {'a', 'b', 'c'}) {
        std::string invitation(3000, each);
        f.say(StarterMessage::Kind::invitation, 0, invitation);
        all += std::string("\0\0\x0b\xb8", 4) + invitation;
    }
    f.say(StarterMessage::Kind::started, 0, "");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started "); // it has heard all of that
    std::string read;
    std::thread launcher([&] {
        char bytes[4096];
        for (ssize_t n; (n = ::recv(f.launcher_end.get(), bytes, sizeof bytes, 0)) > 0;)
            read.append(bytes, static_cast<std::size_t>(n));
        f.launcher_end.reset();
    });
    assert_false(f.listener->finish(1s).has_value());
    launcher.join();
    assert_true(read == all);
}

void a_failure_of_one_host_is_told_at_once(void **) {
    Fixture f;
    f.listener->begin();
    auto ready =
        ReadyMessage::prepare(f.target, {StarterMessage::Kind::launched, -190, "n1: no such program"}, f.sealer, 2s);
    assert_true(ready.ok());
    assert_true(ready->send().ok());
    f.say(StarterMessage::Kind::exit_report, 2, "why");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched -190 n1: no such program");
    auto report = f.listener->finish(1s);
    assert_true(report.has_value());
    assert_int_equal(report->exit_status, 2);
}

void what_came_without_a_thread_is_read_at_the_end(void **) {
    Fixture f;
    f.say(StarterMessage::Kind::exit_report, 5, "the first");
    f.say(StarterMessage::Kind::exit_report, 6, "the second");
    auto report = f.listener->finish(1s);
    assert_true(report.has_value());
    assert_int_equal(report->exit_status, 5);
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "over the first");
}

void one_launcher_gets_all_invitations(void **) {
    Fixture f;
    f.listener->begin();
    f.say(StarterMessage::Kind::invitation, 0, "abc");
    f.say(StarterMessage::Kind::invitation, 0, std::string("d\0f", 3));
    std::string got;
    while (got.size() < 14) {
        char c;
        assert_int_equal(::recv(f.launcher_end.get(), &c, 1, 0), 1);
        got += c;
    }
    assert_memory_equal(got.data(), "\0\0\0\3abc\0\0\0\3d\0f", 14);
    // finish() waits for the launcher's end.
    f.launcher_end.reset();
    assert_false(f.listener->finish(1s).has_value());
    assert_int_equal(f.launchers, 1);
}

void a_launcher_that_does_not_end_its_jobs_is_killed(void **) {
    Fixture f(10s, true);
    f.listener->begin();
    f.say(StarterMessage::Kind::invitation, 0, "abc");
    f.say(StarterMessage::Kind::exit_report, 2, "why");
    f.say(StarterMessage::Kind::started, 0, "");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started "); // it has heard all of that
    f.launcher_end.reset();                                                          // the launcher has one
    auto report = f.listener->finish(1s);
    assert_true(report.has_value());
    assert_int_equal(f.complaints.size(), 1);
    assert_non_null(std::strstr(f.complaints[0].c_str(), "does not end, and is killed"));
}

void notes_are_shown_and_are_no_exit_reports(void **) {
    Fixture f;
    f.listener->begin();
    f.say(StarterMessage::Kind::note, 0, "the daemon on n1\nwas killed");
    f.say(StarterMessage::Kind::note, 0, "the daemon on n1\nwas killed"); // of another host
    for (int i = 0; i < 150; ++i)
        f.say(StarterMessage::Kind::note, 0, fmt::format("another one {}", i));
    assert_false(f.listener->finish(1s).has_value());
    assert_int_equal(f.complaints.size(), 100);
    assert_string_equal(f.complaints[0].c_str(), "the daemon on n1 was killed");
    assert_string_equal(f.complaints[1].c_str(), "another one 0");
}

// It shows a line and does no more; who does not know the step's cookie does not even that.
void a_host_without_proof_can_say_why(void **) {
    Fixture f;
    f.listener->begin();
    for (int i = 0; i < 2; ++i)
        assert_true(send_unproved_note(f.target, "n2: no\nmunge", 1s).ok());
    StarterAddress other = f.target;
    other.cookie[15] ^= 1;
    assert_true(send_unproved_note(other, "n3: of another step", 1s).ok());
    for (int i = 0; i < 20; ++i)
        assert_true(send_unproved_note(f.target, fmt::format("\xc2\x9b{}", i), 1s).ok());
    f.say(StarterMessage::Kind::note, 0, "one that proves itself");
    assert_false(f.listener->finish(1s).has_value());
    assert_int_equal(f.complaints.size(), 11);
    assert_int_equal(std::count(f.complaints.begin(), f.complaints.end(), "n2: no munge"), 1);
    assert_int_equal(std::count(f.complaints.begin(), f.complaints.end(), "one that proves itself"), 1);
    assert_int_equal(std::count(f.complaints.begin(), f.complaints.end(),
                                "\xc2\x9b"
                                "0"),
                     0);
    auto frame = seal_unproved_note(f.target.cookie, std::string(2000, 'x'));
    assert_true(frame.ok());
    assert_int_equal(open_unproved_note(*frame, f.target.cookie)->size(), max_report_text);
    assert_true(open_message(*frame, f.target.cookie, geteuid(), f.sealer).failure().kind == ErrorKind::invalid);
    frame->back() ^= 1;
    assert_true(open_unproved_note(*frame, f.target.cookie).failure().kind == ErrorKind::denied);
}

void of_a_subject_one_note_is_shown(void **) {
    Fixture f;
    f.listener->begin();
    for (const char *host : {"n1", "n2", "n3"}) {
        f.say(StarterMessage::Kind::note, 1, std::string(host) + " cannot");
        f.say(StarterMessage::Kind::note, 2, std::string(host) + " may not");
        f.say(StarterMessage::Kind::note, 0, std::string(host) + " is lost");
    }
    f.say(StarterMessage::Kind::note, 256, "no subject");
    assert_false(f.listener->finish(1s).has_value());
    std::sort(f.complaints.begin(), f.complaints.end());
    assert_true((f.complaints ==
                 std::vector<std::string>{"n1 cannot", "n1 is lost", "n1 may not", "n2 is lost", "n3 is lost"}));
}

// PMIx_Spawn's launcher, and `pmixhost debug`, know that the job stands, and let it go; a user at srun does not.
void that_processes_stand_is_shown_where_nobody_else_is_told(void **) {
    for (bool is_told : {false, true}) {
        Fixture f(10s, false, is_told);
        f.listener->begin();
        for (int host : {1, 2})
            f.say(StarterMessage::Kind::note, static_cast<int>(UserNote::Subject::stands),
                  fmt::format("they stand, says {}", host));
        assert_false(f.listener->finish(1s).has_value());
        assert_int_equal(f.complaints.size(), is_told ? 0 : 1);
    }
}

UniqueFd stranger(const StarterAddress &target) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    return fd;
}

void many_strangers_do_not_make_it_deaf(void **) {
    Fixture f;
    f.listener->begin();
    // One host waits with what it will have to say.
    auto ready = ReadyMessage::prepare(f.target, {StarterMessage::Kind::launched, 0, "0"}, f.sealer, 2s);
    assert_true(ready.ok());
    std::vector<UniqueFd> crowd;
    for (int i = 0; i < 1100; ++i) {
        crowd.push_back(stranger(f.target));
        if (i % 2) // some say a little
            assert_int_equal(::send(crowd.back().get(), "PMXR", 4, MSG_NOSIGNAL), 4);
    }
    f.say(StarterMessage::Kind::launched, 0, "1");
    for (int i = 0; i < 300; ++i)
        crowd.push_back(stranger(f.target));
    // By now most of them have been closed.
    pollfd first{crowd.front().get(), POLLIN, 0};
    assert_int_equal(::poll(&first, 1, 5000), 1);
    assert_true(ready->send().ok());
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "started ");
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched 0 ");
    crowd.clear();
    assert_false(f.listener->finish(1s).has_value());
}

void strangers_have_a_deadline(void **) {
    Fixture f(100ms);
    f.listener->begin();
    auto ready = ReadyMessage::prepare(f.target, {StarterMessage::Kind::launched, 7, "late"}, f.sealer, 2s);
    assert_true(ready.ok());
    UniqueFd silent = stranger(f.target), cut = stranger(f.target);
    assert_int_equal(::send(cut.get(), "PMXR\0\0\0\3\0\0\0\x40short", 17, MSG_NOSIGNAL), 17);
    for (int fd : {silent.get(), cut.get()}) {
        pollfd closed{fd, POLLIN, 0};
        assert_int_equal(::poll(&closed, 1, 5000), 1);
    }
    assert_true(ready->send().ok()); // it was said who that is
    assert_string_equal(Fixture::line(f.spawn_end.get(), '\n').c_str(), "launched 7 late");
    (void)f.listener->finish(1s);
}

// Then there is time to say it on another one.
void a_ready_message_tells_when_its_connection_was_closed(void **) {
    auto listener = StarterListener::open({});
    assert_true(listener.ok());
    StarterAddress target = listener->address();
    target.addresses = {"127.0.0.1"};
    PlainSealer sealer;
    auto ready = ReadyMessage::prepare(target, {StarterMessage::Kind::launched, 0, ""}, sealer, 2s);
    assert_true(ready.ok());
    {
        auto connection = listener->accept();
        assert_true(connection && connection->receive() == FrameProgress::whole);
        auto said = open_message(connection->take_frame(), listener->cookie(), geteuid(), sealer);
        assert_true(said && said->kind == StarterMessage::Kind::kept);
    }
    assert_false(ready->send().ok());
}

void a_secret_comes_over_the_channel_once(void **) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd launcher(ends[0]), program(ends[1]);
    assert_string_equal(take_spawn_secret(program.get()).c_str(), ""); // at once
    std::string secret = new_step_secret();
    assert_true(give_spawn_secret(launcher.get(), secret));
    assert_string_equal(take_spawn_secret(program.get()).c_str(), secret.c_str());
    assert_string_equal(take_spawn_secret(program.get()).c_str(), "");
    for (const std::string &line : {std::string("secret \n"), "secret " + secret, secret + "\n",
                                    "secret " + secret + "0\n", std::string(1000, 's'), std::string("\n")}) {
        assert_int_equal(::send(launcher.get(), line.data(), line.size(), 0), line.size());
        assert_string_equal(take_spawn_secret(program.get()).c_str(), "");
        char rest[2000];
        [[maybe_unused]] ssize_t n = ::recv(program.get(), rest, sizeof rest, MSG_DONTWAIT);
    }
    launcher.reset();
    assert_string_equal(take_spawn_secret(program.get()).c_str(), "");
}

void a_family_has_one_secret(void **) {
    SpawnPlan plan;
    TaskApp app;
    app.count = 1;
    app.program = "/x";
    plan.apps = {app};
    plan.host_of_rank = {"n1"};
    SpawnContext context;
    context.srun = "/usr/bin/srun";
    context.secret = new_step_secret();
    context.environment = {"PMIXHOST_SECRET=of another step"};
    auto command = spawn_command(plan, context);
    assert_true(command.ok());
    assert_string_equal(command->secret.c_str(), context.secret.c_str());
    for (const auto *words : {&command->argv, &command->environment}) {
        for (const auto &word : *words)
            assert_true(word.find(context.secret) == std::string::npos && !word.starts_with("PMIXHOST_SECRET="));
    }
}

void lines_of_the_channel_are_understood(void **) {
    assert_true(parse_spawn_event("started ")->kind == SpawnEvent::Kind::started);
    auto event = parse_spawn_event("launched -190 some text");
    assert_true(event && event->kind == SpawnEvent::Kind::launched && event->status == -190);
    assert_string_equal(event->text.c_str(), "some text");
    assert_string_equal(parse_spawn_event("created slurm.1.2")->text.c_str(), "slurm.1.2");
    assert_int_equal(*parse_process_count("processes 17"), 17);
    for (const char *line : {"", "processes", "processes ", "processes -1", "processes 4294967296", "processes 1 2"})
        assert_false(parse_process_count(line).has_value());
    assert_true(parse_spawn_event("over ")->kind == SpawnEvent::Kind::over);
    for (const char *line : {"", "created", "launched", "launched x y", "launched 5", "other x"})
        assert_false(parse_spawn_event(line).has_value());
}

} // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    const CMUnitTest tests[] = {
        cmocka_unit_test(children_come_into_their_parents_container),
        cmocka_unit_test(a_plan_becomes_a_command),
        cmocka_unit_test(children_have_their_parents_options),
        cmocka_unit_test(children_ask_for_the_gpus_of_their_hosts),
        cmocka_unit_test(children_have_the_users_limit_of_files),
        cmocka_unit_test(the_parents_word_is_read_with_care),
        cmocka_unit_test(variables_of_a_step_are_not_handed_on),
        cmocka_unit_test(sruns_words_have_a_meaning),
        cmocka_unit_test(a_launch_is_told_when_all_hosts_have),
        cmocka_unit_test(ends_are_passed_on_and_awaited),
        cmocka_unit_test(ends_are_awaited_for_a_moment),
        cmocka_unit_test(of_bad_ends_alone_only_who_has_some_is_awaited),
        cmocka_unit_test(ends_that_nobody_asks_for_are_not_told),
        cmocka_unit_test(more_hosts_than_there_are_keep_nobody_waiting),
        cmocka_unit_test(ends_that_nobody_reads_are_left_out),
        cmocka_unit_test(the_first_start_is_told_once),
        cmocka_unit_test(a_launcher_that_stands_still_gets_whole_invitations),
        cmocka_unit_test(a_failure_of_one_host_is_told_at_once),
        cmocka_unit_test(what_came_without_a_thread_is_read_at_the_end),
        cmocka_unit_test(one_launcher_gets_all_invitations),
        cmocka_unit_test(a_launcher_that_does_not_end_its_jobs_is_killed),
        cmocka_unit_test(notes_are_shown_and_are_no_exit_reports),
        cmocka_unit_test(a_host_without_proof_can_say_why),
        cmocka_unit_test(of_a_subject_one_note_is_shown),
        cmocka_unit_test(that_processes_stand_is_shown_where_nobody_else_is_told),
        cmocka_unit_test(many_strangers_do_not_make_it_deaf),
        cmocka_unit_test(strangers_have_a_deadline),
        cmocka_unit_test(a_ready_message_tells_when_its_connection_was_closed),
        cmocka_unit_test(lines_of_the_channel_are_understood),
        cmocka_unit_test(a_secret_comes_over_the_channel_once),
        cmocka_unit_test(a_family_has_one_secret),
        cmocka_unit_test(more_hosts_than_srun_can_be_told_are_refused),
    };
    return cmocka_run_group_tests_name("slurm spawn", tests, nullptr, nullptr);
}
