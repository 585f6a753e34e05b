// The stops of a job in the midst of its daemon: what the user reads of them, and what is told, and to whom, so that
// nobody stands for ever when who would let go has gone. The library's packing is this program's own: it keeps what it
// is given.
#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "common/process/exec_stop.h"
#include "common/process/process_stat.h"
#include "common/rendezvous/debugger_door.h"
#include "server-glue/debug/release.h"
#include "server-glue/debug/standing_note.h"
#include "server-glue/library/convert.h"
#include "server-glue/step/step_messages.h"

#include "test/unit/lone_step.h"

#include <csignal>
#include <filesystem>
#include <pmix.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pmixhost;

namespace {

// Of each array of pmix_info_t that was packed: whom it lets go, "?" where it lets go nobody, and "for good".
std::vector<std::string> packed;

std::string words_of(const pmix_info_t *infos, std::size_t count) {
    auto targets = let_go_by(infos, count);
    std::string out = targets ? "" : "?";
    for (const Process &target : targets.value_or(std::vector<Process>()))
        out += fmt::format("{}:{} ", target.nspace, target.wildcard ? "*" : std::to_string(target.rank));
    return out +
           (targets && !targets->empty() && leaves_alone(infos, count, targets->front().nspace) ? "for good" : "");
}

} // namespace

extern "C" pmix_status_t PMIx_Data_pack(const pmix_proc_t *, pmix_data_buffer_t *, void *values, std::int32_t count,
                                        pmix_data_type_t type) {
    if (type == PMIX_INFO)
        packed.push_back(words_of(static_cast<const pmix_info_t *>(values), static_cast<std::size_t>(count)));
    return PMIX_SUCCESS;
}

namespace {

struct FakeRm final : DeafRm, RmUserNotes {
    std::vector<UserNote> notes;
    RmUserNotes *user_notes() override { return this; }
    void tell_user(UserNote note, std::function<void(Result<void>)>) override { notes.push_back(std::move(note)); }
};

// The first of two hosts, with rank 0; rank 1 is on the other one.
struct World : LoneStep<FakeRm> {
    explicit World(const std::function<void(StepInfo &)> &change = nullptr, const char *stops = "init=0-1") {
        packed.clear();
        begin(*JobMap::create({"n1", "n2"}, {{0}, {1}}), *DebugStops::parse(stops), change);
    }

    // The rank of this host has ended; that of the other one stands, for the so manieth time.
    void other_stands(std::uint32_t round) {
        services->debug.on_process_gone(0, 0);
        StepMessages messages(log);
        services->debug.take_messages(messages);
        messages.hand_on(StepMessages::Peer::host, 1, "n2", wire::RanksStopped::type,
                         wire::encode(wire::RanksStopped{1, "pmix-init", {{1, 1}}, round}));
    }
    void tool_pauses(const char *nspace, bool all, Rank rank = 1, int signal = SIGSTOP) {
        JobControlAsk ask;
        ask.caller = {"tool", 0};
        ask.targets = {{nspace, rank, all}};
        ask.order.signals = {signal};
        ask.reply = {[](pmix_status_t) {}, PMIX_ERROR};
        services->control.control(std::move(ask));
    }
    void daemons_run(const char *debugged) {
        services->spawned_jobs.starts("daemons");
        services->spawned_jobs.runs(
            "daemons", {.spawner = {"tool", 0}, .tool_is_here = [] { return true; }, .debugged = debugged});
    }
    void leave() {
        context->ending = true;
        context->tell_services([](StepService &each) { each.on_leaving(false); });
    }
    std::size_t for_session() const { return mesh->queued_bytes(context->session_peer()); }
};

// A job that nobody debugs: it has no timer, wants no event and tells no other host anything, whatever its ranks do.
void a_job_that_nobody_debugs_pays_nothing(void **) {
    World world(nullptr, "");
    auto &debug = world.services->debug;
    InfoList info;
    for (pmix_status_t code : {PMIX_DEBUGGER_RELEASE, PMIX_READY_FOR_DEBUG, pause_is_over})
        assert_false(debug.wants_event(code, "job"));
    debug.on_process_gone(0, 0);
    assert_true(debug.next_time() == TimePoint::max());
    assert_int_equal(world.mesh->queued_bytes(1), 0);
    assert_int_equal(world.for_session(), 0);
    assert_true(world.rm.notes.empty());
}

// --- what the user reads ----------------------------------------------------------------------------

void what_lets_them_go_is_named(void **) {
    RankRanges ranks;
    ranks.add(0, 2);
    ranks.add(7, 7);
    assert_string_equal(standing_note(StopPlace::exec, ranks, "12.0").c_str(),
                        "job 12.0: 4 processes stand at their first instruction, for a debugger (debug.stop, or "
                        "PMIXHOST_DEBUG_STOP in the environment); next: pmixhost resume 12.0");
    RankRanges one;
    one.add(3, 3);
    assert_string_equal(standing_note(StopPlace::init, one, "12.0").c_str(),
                        "job 12.0: 1 process stands in PMIx_Init, for a debugger (debug.stop, or PMIXHOST_DEBUG_STOP "
                        "in the environment); next: a tool that lets them go (PMIX_DEBUGGER_RELEASE), or end the job, "
                        "and pmixhost debug --stop init ...");
}

void the_user_is_told_once(void **) {
    World world;
    for (std::uint32_t round : {1, 2})
        world.other_stands(round);
    assert_int_equal(world.rm.notes.size(), 1);
    assert_true(world.rm.notes[0].subject == UserNote::Subject::stands);
    assert_non_null(strstr(world.rm.notes[0].line.c_str(), "1 process stands in PMIx_Init"));
}

StepInfo::Parent parent_named(const char *nspace) {
    StepInfo::Parent parent{};
    parent.nspace = nspace;
    return parent;
}

void nobody_is_told_where_somebody_has_asked_for_it(void **) {
    for (const auto &change :
         {std::function<void(StepInfo &)>([](StepInfo &info) { info.parent = parent_named("other"); }),
          std::function<void(StepInfo &)>([](StepInfo &info) { info.tells_launch = true; }),
          std::function<void(StepInfo &)>([](StepInfo &info) { info.launcher_file = true; })}) {
        World world(change);
        world.other_stands(1);
        assert_true(world.rm.notes.empty());
        assert_false(packed.empty()); // tools, and who spawned it, are
    }
}

// --- who would let go has gone ----------------------------------------------------------------------

void a_release_for_good_is_known(void **) {
    packed.clear();
    assert_true(release_of({{"one", 0, true}}, {"job", 0}, true).ok());
    assert_true(release_of({{"one", 0, true}}, {"job", 0}, false).ok());
    auto some = release_of({{"one", 3}, {"one", 5}}, {"job", 0}, true);
    assert_true(some.ok());
    assert_true((packed == std::vector<std::string>{"one:* for good", "one:* ", "one:3 one:5 "}));
    assert_int_equal(some->custom.size(), 2);
    assert_true(some->nspaces == std::vector<Bytes>{"one"});
    InfoList of_another;
    of_another.add_processes(PMIX_EVENT_CUSTOM_RANGE, {proc_of("one", PMIX_RANK_WILDCARD)});
    of_another.add(PMIX_NOHUP, true);
    assert_false(leaves_alone(of_another.data(), of_another.size(), "two"));
    InfoList everybody;
    everybody.add(PMIX_NOHUP, true);
    assert_true(leaves_alone(everybody.data(), everybody.size(), "two"));
}

// The session takes an event from a host that leaves, and gives up what it has asked for.
void what_was_paused_goes_on_when_the_server_leaves(void **) {
    World world;
    world.tool_pauses("other", true);
    world.tool_pauses("third", true); // beside which it has no daemons
    world.daemons_run("other");
    std::size_t before = world.for_session();
    world.leave();
    assert_true(packed == std::vector<std::string>{"other:* "});
    assert_true(world.for_session() > before);
}

void so_does_what_was_paused_of_the_own_job(void **) {
    World world;
    world.tool_pauses("job", false);
    world.daemons_run("job");
    std::size_t before = world.mesh->queued_bytes(1);
    world.leave();
    assert_true(packed == std::vector<std::string>{"job:1 "});
    assert_true(world.mesh->queued_bytes(1) > before);
}

// Which events the services of this host are offered.
struct Listener final : StepService {
    mutable std::vector<pmix_status_t> codes;
    explicit Listener(StepContext &context) : StepService(context.services) {}
    bool wants_event(pmix_status_t code, const Bytes &) const override {
        codes.push_back(code);
        return false;
    }
};

// Who waits in a library's stop, another debugger's, would take a release for its own.
void that_is_no_release(void **) {
    World world;
    Listener listener(*world.context);
    world.tool_pauses("job", true);
    world.daemons_run("job");
    world.leave();
    assert_true(listener.codes == std::vector<pmix_status_t>{pause_is_over});
    assert_int_not_equal(pause_over_for({{"one", 3}}, {"job", 0})->status, PMIX_DEBUGGER_RELEASE);
}

// Rank 0, a child of this process, which stands at its first instruction, as somebody has asked for.
struct Stopped : World {
    pid_t pid = -1;
    LocalTasks tasks{*loop, log, context->step, context->stops, "/nonexistent", nullptr, callbacks()};

    static LocalTasks::Callbacks callbacks() {
        LocalTasks::Callbacks none;
        none.on_gone = [](Rank, std::optional<int>) {};
        none.on_all_ended = [] {};
        return none;
    }
    Stopped() : World(nullptr, "exec=0-1") {
        context->tasks = &tasks;
        auto ends = make_socket_pair();
        assert_true(ends.ok());
        pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            {
                auto armed = arm_exec_stop();
                if (!armed || !send_descriptor(ends->second.get(), "s", armed->get()))
                    ::_exit(3);
            }
            char go = 0;
            (void)!::read(ends->second.get(), &go, 1);
            ::execl("/bin/sleep", "sleep", "600", nullptr);
            ::_exit(127);
        }
        auto armed = receive_descriptor(ends->first.get(), 0);
        assert_true(armed && armed->has_value() && (*armed)->fd);
        tasks.started(0, pid);
        std::optional<bool> stands;
        services->debug.await_exec_stop(0, std::move((*armed)->fd), [&](bool stopped) { stands = stopped; });
        assert_int_equal(::write(ends->first.get(), "g", 1), 1);
        run_until(*loop, [&] { return stands.has_value(); });
        assert_true(*stands);
        await_stop();
    }
    ~Stopped() {
        services.reset(); // they know the tasks
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    void await_stop() const {
        int status = 0;
        assert_int_equal(::waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
    }
    // Since it was asked last. SIGCONT counts as soon as it is sent.
    bool has_gone_on() const {
        int status = 0;
        return ::waitpid(pid, &status, WCONTINUED | WNOHANG) == pid && WIFCONTINUED(status);
    }
    void hears(pmix_status_t code) {
        InfoList info;
        info.add_processes(PMIX_EVENT_CUSTOM_RANGE, {proc_of("job", 0)});
        if (services->debug.wants_event(code, "tool"))
            services->debug.on_event(code, {"tool", 0}, info);
    }
};

void a_stop_of_another_debugger_outlasts_a_pause(void **) {
    for (bool leaves : {false, true}) {
        Stopped world;
        auto tool_goes = [&] {
            if (leaves)
                world.hears(pause_is_over); // as its host tells
            else
                world.services->control.debugger_gone({"tool", 0}, "job");
        };
        world.tool_pauses("job", false, 0);
        tool_goes();
        assert_false(world.has_gone_on());
        world.tool_pauses("job", false, 0, SIGCONT); // whom the stop is for lets go
        assert_true(world.has_gone_on());
        world.tool_pauses("job", false, 0); // where it runs
        world.await_stop();
        tool_goes();
        assert_true(world.has_gone_on());
    }
    // It is not at that stop any more, which nobody has told of.
    Stopped elsewhere;
    ::kill(elsewhere.pid, SIGCONT);
    assert_true(elsewhere.has_gone_on());
    elsewhere.tool_pauses("job", false, 0);
    elsewhere.await_stop();
    elsewhere.services->control.debugger_gone({"tool", 0}, "job");
    assert_true(elsewhere.has_gone_on());
    Stopped released;
    released.tool_pauses("job", false, 0);
    released.hears(PMIX_DEBUGGER_RELEASE);
    assert_true(released.has_gone_on());
}

// One that was left stopped by a debugger whom nobody outlived, which the daemon does know of (debugger_door.h).
void a_pause_outlasts_a_debugger_that_is_killed(void **) {
    Stopped world;
    char directory[] = "/tmp/pmixhost-unit-XXXXXX";
    assert_non_null(mkdtemp(directory));
    world.context->directory = directory;
    world.services->debug.open_door();
    world.tool_pauses("job", false, 0, SIGCONT);
    assert_true(world.has_gone_on());
    auto other_is = [](pid_t other, char state) {
        auto stat = read_process_stat(other);
        return stat && stat->state == state;
    };
    for (bool pauses : {true, false}) {
        if (pauses)
            world.tool_pauses("job", false, 0);
        else
            ::kill(world.pid, SIGSTOP); // as a debugger's
        world.await_stop();
        pid_t other = ::fork(); // is dealt with behind it
        if (other == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::raise(SIGSTOP);
            for (;;)
                ::pause();
        }
        run_until(*world.loop, [&] { return other_is(other, 'T'); });
        auto debugger = knock_at_debugger_door(directory);
        assert_true(debugger.ok());
        for (pid_t pid : {world.pid, other}) {
            std::string word = hold_word({pid, read_process_stat(pid)->began});
            assert_int_equal(::send(debugger->get(), word.data(), word.size(), 0), static_cast<ssize_t>(word.size()));
        }
        debugger->reset();
        run_until(*world.loop, [&] {
            int status = 0;
            return ::waitpid(other, &status, WCONTINUED | WNOHANG) == other && WIFCONTINUED(status);
        });
        assert_int_equal(world.has_gone_on(), !pauses);
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
        if (!pauses)
            break;
        world.tool_pauses("job", false, 0, SIGCONT);
        assert_true(world.has_gone_on());
    }
    std::filesystem::remove_all(directory);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_nobody_debugs_pays_nothing),
        cmocka_unit_test(what_lets_them_go_is_named),
        cmocka_unit_test(the_user_is_told_once),
        cmocka_unit_test(nobody_is_told_where_somebody_has_asked_for_it),
        cmocka_unit_test(a_release_for_good_is_known),
        cmocka_unit_test(what_was_paused_goes_on_when_the_server_leaves),
        cmocka_unit_test(so_does_what_was_paused_of_the_own_job),
        cmocka_unit_test(that_is_no_release),
        cmocka_unit_test(a_stop_of_another_debugger_outlasts_a_pause),
        cmocka_unit_test(a_pause_outlasts_a_debugger_that_is_killed),
    };
    return cmocka_run_group_tests_name("step_debug", tests, nullptr, nullptr);
}
