// What stands between a debugger and the launcher that it has started: what the two say to each other, what is read of
// directives and input, and whose the debugger is.
#include "plugins/kit/indirect_launch.h"
#include "common/base/fd_pair.h"
#include "server-glue/debug/standing.h"
#include "server-glue/indirect/debugger_peer.h"
#include "server-glue/indirect/held_job.h"
#include "server-glue/indirect/input_relay.h"
#include "server-glue/indirect/job_life.h"
#include "server-glue/indirect/keeper.h"
#include "server-glue/indirect/launch_wishes.h"
#include "server-glue/indirect/launcher_control.h"
#include "server-glue/library/info_list.h"

#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pmix.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace pmixhost;
using namespace pmixhost::indirect;
using namespace std::chrono_literals;

namespace {

Standing standing(const char *stops) {
    return Standing(*DebugStops::parse(stops));
}
std::vector<Process> ranks_of_job(std::vector<Rank> ranks) {
    std::vector<Process> out;
    for (Rank rank : ranks)
        out.push_back({"job", rank, false});
    return out;
}

void who_was_let_go_does_not_stand(void **) {
    assert_false(Standing().any());
    assert_false(standing("").any());
    auto some = standing("init=0-2");
    some.released(ranks_of_job({1}), "job");
    assert_true(some.any());
    some.released({{"other", 0, true}, {"other", 0, false}, {"other", 2, false}}, "job");
    assert_true(some.any());
    some.released(ranks_of_job({0, 2, 9}), "job");
    assert_false(some.any());
    auto all = standing("init=all"); // of how many is not known
    all.released(ranks_of_job({0, 1}), "job");
    assert_true(all.any());
    all.released({{"job", 0, true}}, "job");
    assert_false(all.any());
    auto told = standing("init=all"); // until they have stopped
    told.released(ranks_of_job({0}), "job");
    told.stand_at(StopPlace::exec, {0, 1, 2});
    told.stand_at(StopPlace::init, {0, 1, 2});
    told.released(ranks_of_job({1}), "job");
    assert_true(told.any());
    told.released(ranks_of_job({2}), "job");
    assert_false(told.any());
}

void a_resume_lets_go_from_the_first_instruction_alone(void **) {
    auto both = standing("exec=0;init=0-1");
    both.resumed({}, "job");
    both.resumed({}, "job"); // they have gone on already
    assert_true(both.any());
    both.released(ranks_of_job({0, 1}), "job");
    assert_false(both.any());
    auto exec = standing("exec=0-1");
    exec.resumed(ranks_of_job({1}), "job");
    assert_true(exec.any());
    exec.resumed({{"job", 0, true}}, "job");
    assert_false(exec.any());
}

void from_each_place_once(void **) {
    auto twice = standing("exec=all;init=1-2");
    twice.released({}, "job");
    assert_true(twice.any());
    twice.released(ranks_of_job({1, 1}), "job");
    assert_true(twice.any());
    twice.released(ranks_of_job({2}), "job");
    assert_false(twice.any());
    twice.released({}, "job");
    assert_false(twice.any());
    auto apart = standing("exec=0,5;init=1-5"); // each at its own
    apart.released({}, "job");
    assert_true(apart.any());
    apart.released(ranks_of_job({5}), "job");
    assert_false(apart.any());
    auto handed = standing("exec=all;init=all");
    handed.hand_over();
    assert_false(handed.any());
}

void a_release_says_where_and_how(void **) {
    auto released = parse_released("released /tmp/a b/job init=0-3");
    assert_true(released.ok());
    assert_string_equal(released->file.c_str(), "/tmp/a b/job");
    assert_string_equal(released->stops.c_str(), "init=0-3");
    std::string line = Released{"/x", ""}.line();
    assert_string_equal(line.c_str(), "released /x -\n");
    line.pop_back();
    assert_string_equal(parse_released(line)->stops.c_str(), "");
    auto refused = parse_released("refused no\tnot today");
    assert_int_equal(refused.failure().kind, ErrorKind::denied);
    assert_string_equal(refused.failure().text.c_str(), "no not today");
    for (const char *line :
         {"", "released", "released ", "released x", "released /x ", "go", "releasedx y z", "released /x ends=all"})
        assert_int_equal(parse_released(line).failure().kind, ErrorKind::invalid);
    for (ToldEnds ends : {ToldEnds::none, ToldEnds::bad, ToldEnds::all}) {
        std::string told = Released{"/a ends", "exec=all", ends}.line();
        told.pop_back();
        auto read = parse_released(told);
        assert_true(read.ok() && read->ends == ends);
        assert_string_equal(read->file.c_str(), "/a ends");
        assert_string_equal(read->stops.c_str(), "exec=all");
    }
}

void an_allocation_is_told_with_its_job(void **) {
    std::string line = Allocated{"77", "slurm.77.0"}.line();
    assert_string_equal(line.c_str(), "allocated 77 slurm.77.0\n");
    line.pop_back();
    auto allocated = parse_allocated(line);
    assert_true(allocated.has_value());
    assert_string_equal(allocated->id.c_str(), "77");
    assert_string_equal(allocated->nspace.c_str(), "slurm.77.0");
    for (const auto &other :
         {std::string("allocated"), std::string("allocated 77"), std::string("allocated  x"),
          std::string("allocated 77 "), std::string("created 77 x"), "allocated 77 " + std::string(256, 'x')})
        assert_false(parse_allocated(other).has_value());
}

void the_exit_code_is_the_last_word(void **) {
    assert_int_equal(parse_exited("exited 7").value_or(-1), 7);
    for (const char *line : {"exited", "exited ", "exited x", "exited 7 ", "exited 256", "exited -1", "created 7"})
        assert_false(parse_exited(line).has_value());
    auto channel = make_socket_pair();
    pid_t child = ::fork();
    if (child == 0) {
        kit::tell_exit_code(channel->second.get());
        channel->second.reset();
        if (::fork() == 0)
            std::exit(5); // of another process
        ::wait(nullptr);
        std::exit(7);
    }
    channel->second.reset();
    char text[64] = "";
    ssize_t got = ::recv(channel->first.get(), text, sizeof text - 1, MSG_WAITALL);
    assert_int_equal(got, 9);
    assert_string_equal(text, "exited 7\n");
    assert_int_equal(::waitpid(child, nullptr, 0), child);
}

std::string stops_of(const InfoList &info) {
    auto wishes = read_launch_wishes(info.data(), info.size());
    return wishes ? wishes->stops.text() : "! " + wishes.failure().text;
}

void directives_are_read(void **) {
    InfoList none, flag, off, rank, several;
    assert_string_equal(stops_of(none).c_str(), "");
    flag.add(PMIX_DEBUG_STOP_IN_INIT, true);
    flag.add(PMIX_NOTIFY_JOB_EVENTS, true);
    assert_string_equal(stops_of(flag).c_str(), "init=all");
    off.add(PMIX_DEBUG_STOP_IN_INIT, false);
    assert_string_equal(stops_of(off).c_str(), "");
    rank.add_rank(PMIX_DEBUG_STOP_ON_EXEC, 3);
    assert_string_equal(stops_of(rank).c_str(), "exec=3");
    pmix_proc_t process{};
    process.rank = 1;
    several.add_process(PMIX_DEBUG_STOP_IN_APP, process);
    several.add_rank(PMIX_DEBUG_STOP_ON_EXEC, PMIX_RANK_WILDCARD);
    assert_string_equal(stops_of(several).c_str(), "exec=all;app=1");
    InfoList text, unknown, required;
    text.add(PMIX_DEBUG_STOP_IN_INIT, "all of them");
    assert_non_null(strstr(stops_of(text).c_str(), PMIX_DEBUG_STOP_IN_INIT));
    unknown.add("nobody.knows", true);
    assert_string_equal(stops_of(unknown).c_str(), "");
    required.add("nobody.knows", true);
    PMIX_INFO_REQUIRED(required.data());
    assert_non_null(strstr(stops_of(required).c_str(), "nobody.knows"));
}

// All that is said of them, in one text.
std::string notes_on(const InfoList &info) {
    auto wishes = read_launch_wishes(info.data(), info.size());
    assert_true(wishes.ok());
    std::string out;
    for (const auto &note : wishes->notes)
        out += note + "\n";
    return out;
}

void what_is_not_done_is_said(void **) {
    InfoList met, not_met, required;
    met.add(PMIX_DEBUG_STOP_IN_INIT, true);
    met.add(PMIX_NOTIFY_JOB_EVENTS, true);
    met.add(PMIX_FWD_STDOUT, true);
    met.add(PMIX_LOG_COMPLETION, false);
    met.add(PMIX_LOG_JOB_EVENTS, true);
    met.add(PMIX_NOTIFY_PROC_TERMINATION, true);
    met.add(PMIX_PERSONALITY, "ompi");
    assert_string_equal(notes_on(met).c_str(), "");
    not_met.add(PMIX_REPORT_BINDINGS, true);
    not_met.add(PMIX_MAPBY, "node");
    assert_non_null(strstr(notes_on(not_met).c_str(), "no effect: PMIX_REPORT_BINDINGS, PMIX_MAPBY;"));
    required.add(PMIX_FWD_STDERR, true);
    PMIX_INFO_REQUIRED(required.data());
    assert_non_null(strstr(notes_on(required).c_str(), "the launcher's"));
    for (const auto &[key, name] :
         {std::pair(PMIX_EXEC_AGENT, "PMIX_EXEC_AGENT"), std::pair(PMIX_FORKEXEC_AGENT, "PMIX_FORKEXEC_AGENT"),
          std::pair(PMIX_LAUNCHER_DAEMON, "PMIX_LAUNCHER_DAEMON")}) {
        InfoList other_program;
        other_program.add(key, "/bin/agent");
        assert_non_null(strstr(stops_of(other_program).c_str(), name));
        assert_int_equal(stops_of(other_program)[0], '!');
    }
}

LifeWishes life_of(const char *key, bool wanted = true) {
    InfoList info;
    info.add(key, wanted);
    PMIX_INFO_REQUIRED(info.data());
    auto wishes = read_launch_wishes(info.data(), info.size());
    assert_true(wishes.ok() && wishes->notes.empty());
    return wishes->life;
}

void what_is_to_be_told_and_logged_is_read(void **) {
    auto all = life_of(PMIX_LOG_JOB_EVENTS), end = life_of(PMIX_LOG_COMPLETION);
    assert_true(all.logs_start && all.logs_end && all.told_ends() == ToldEnds::none);
    assert_true(!end.logs_start && end.logs_end && end.told_ends() == ToldEnds::none);
    assert_true(life_of(PMIX_LOG_PROC_TERMINATION).logs_all_ends);
    assert_true(life_of(PMIX_LOG_PROC_ABNORMAL_TERMINATION).logs_bad_ends);
    assert_true(life_of(PMIX_NOTIFY_PROC_TERMINATION).tells_all_ends);
    assert_true(life_of(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION).tells_bad_ends);
    for (const char *key : {PMIX_LOG_PROC_TERMINATION, PMIX_LOG_PROC_ABNORMAL_TERMINATION, PMIX_NOTIFY_PROC_TERMINATION,
                            PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION}) {
        assert_true(life_of(key).told_ends() == ToldEnds::all);
        assert_true(life_of(key, false).told_ends() == ToldEnds::none);
    }
    for (const char *key : {PMIX_NOTIFY_JOB_EVENTS, PMIX_NOTIFY_COMPLETION}) {
        assert_true(life_of(key).told_ends() == ToldEnds::bad);
        assert_true(life_of(key, false).told_ends() == ToldEnds::none);
    }
    assert_false(life_of(PMIX_LOG_JOB_EVENTS, false).logs_end);
    assert_true(life_of(PMIX_NOTIFY_JOB_EVENTS).names_first && life_of(PMIX_NOTIFY_COMPLETION).names_first);
}

wire::EndedProcess ended_badly(Rank rank, int exit_code) {
    wire::EndedProcess ended;
    ended.rank = rank;
    ended.code = PMIX_ERR_EXIT_NONZERO_TERM;
    ended.term_status = PMIX_ERR_EXIT_NONZERO_TERM;
    ended.exit_code = exit_code;
    return ended;
}

void ends_of_a_host_come_over_as_text(void **) {
    HostEnds ends{3, "n3", 1'700'000'000'000'000, 0, {ended_badly(7, 5), ended_badly(2, 137)}, {{0, 1}, {9, 9}}};
    ends.bad[1].ends_job = 1;
    auto lines = lines_of(ends).lines;
    assert_int_equal(lines.size(), 1);
    auto read = parse_host_ends(lines.front());
    assert_true(read.has_value());
    assert_true(read->host == 3 && read->name == "n3" && read->time == ends.time && read->index == 0);
    assert_true(read->bad.size() == 2 && read->bad[0].rank == 7 && read->bad[0].exit_code == 5);
    assert_true(read->bad[1].ends_job == 1 && read->bad[1].code == PMIX_ERR_EXIT_NONZERO_TERM);
    assert_true(read->well.size() == 2 && read->well[0].last == 1 && read->well[1].first == 9);
    auto none = lines_of({0, "n0", 0}).lines;
    assert_true(none.size() == 1 && parse_host_ends(none.front())->bad.empty());
    for (const char *line :
         {"", "0", "0 n0", "0 n0 1", "0 n0 1 0", "0 n0 1 0 -", "0 n0 1 0 - ", "0 n0 1 - -", "0 n0 1 -1 - -",
          "0 n0 1 0 1:2:3:4 -", "0 n0 1 0 1:2:3:4:5:6 -", "0 n0 1 0 - 1", "0 n0 1 0 - 2-1", "0 n0 1 0 - 1-x",
          "0  1 0 - -", "-1 n0 1 0 - -", "0 n0 1 0 1:2:3:4:999 -", "0 n0 1 0 1:2:3:4:0, x-"})
        if (parse_host_ends(line))
            fail_msg("%s", line);
}

// Each line goes over a connection of its own, so there are few; and what is left out is known.
void many_ends_of_a_host_are_few_lines(void **) {
    for (auto [count, fits] : {std::pair(400u, true), std::pair(4000u, false)}) {
        HostEnds many{0, std::string(200, 'n'), 1, 0, {}, {}};
        for (Rank rank = 0; rank < count; ++rank) {
            many.bad.push_back(ended_badly(4'000'000'000u + rank, 1));
            many.well.push_back({2 * rank, 2 * rank});
        }
        std::size_t bad = 0, well = 0, next = 0;
        auto [lines, left_out] = lines_of(many);
        for (const auto &line : lines) {
            assert_true(line.size() <= longest_host_ends);
            auto part = parse_host_ends(line);
            assert_true(part.has_value() && part->index == next++);
            bad += part->bad.size();
            well += part->well.size();
        }
        assert_true(lines.size() > 1 && lines.size() <= most_host_ends);
        assert_true(bad + well + left_out == 2 * count && (left_out == 0) == fits);
    }
}

const pmix_value_t *carried(const HostEvent &event, const char *key) {
    for (const auto &each : event.info->all())
        if (PMIX_CHECK_KEY(&each, key))
            return &each.value;
    return nullptr;
}

struct Life {
    JobLife life{
        {[this](const HostEvent &event) { note(event); }, [this](const std::string &line) { lines += line + ";"; }}};
    std::string told, lines;

    void note(const HostEvent &event) {
        const std::pair<pmix_status_t, const char *> names[] = {
            {PMIX_EVENT_SESSION_START, "session"}, {PMIX_EVENT_SESSION_END, "over"},
            {PMIX_EVENT_JOB_START, "start"},       {PMIX_LAUNCH_COMPLETE, "launch"},
            {PMIX_EVENT_JOB_END, "end"},           {PMIX_EVENT_PROC_TERMINATED, "gone"}};
        for (const auto &[code, name] : names)
            told += code == event.code ? name : "";
        assert_string_equal(event.source.nspace, "job");
        assert_non_null(carried(event, PMIX_EVENT_TIMESTAMP));
        assert_true(carried(event, PMIX_EVENT_AFFECTED_PROC) || carried(event, PMIX_EVENT_AFFECTED_PROCS));
        if (const auto *status = carried(event, PMIX_JOB_TERM_STATUS))
            told += fmt::format(" status {}", status->data.status);
        if (const auto *code = carried(event, PMIX_EXIT_CODE))
            told += fmt::format(" code {}", code->data.integer);
        if (const auto *first = carried(event, PMIX_PROCID))
            told += fmt::format(" first {}", first->data.proc->rank);
        if (const auto *id = carried(event, PMIX_ALLOC_ID))
            told += fmt::format(" {}", id->data.string);
        told += ";";
    }
    std::string take() { return std::exchange(told, {}); }
};

void the_life_of_a_job_is_told_once(void **) {
    Life quiet;
    quiet.life.started(); // of no job
    quiet.life.ended(0);
    assert_string_equal(quiet.take().c_str(), "");
    quiet.life.allocated({"77", "job"});
    quiet.life.begin("job", 8);
    quiet.life.running();
    quiet.life.started();
    quiet.life.running();
    assert_string_equal(quiet.take().c_str(), "session 77;start;launch;");
    quiet.life.ended(0);
    quiet.life.allocation_over();
    quiet.life.allocation_over();
    assert_string_equal(quiet.take().c_str(), fmt::format("end status {} code 0;over 77;", PMIX_SUCCESS).c_str());
    assert_string_equal(quiet.lines.c_str(), "");
    assert_true(quiet.life.passes(PMIX_EVENT_PROC_TERMINATED, "job"));
    Life logged;
    logged.life.ask({true, true});
    logged.life.begin("job", 8);
    logged.life.running();
    logged.life.note_failure({3, 7});
    logged.life.note_failure({4, 8});
    logged.life.ended(std::nullopt); // a signal has ended the launcher
    logged.life.allocation_over();   // it has made none
    assert_string_equal(logged.take().c_str(),
                        fmt::format("start;launch;end status {} code 7 first 3;", PMIX_ERR_JOB_NON_ZERO_TERM).c_str());
    assert_string_equal(logged.lines.c_str(), "job: all of its processes run;job has ended with exit code 7;");
}

void ends_are_told_and_logged_as_asked(void **) {
    const HostEnds late{1, "n1", 20, 0, {ended_badly(4, 9)}, {}},
        early{0, "n0", 10, 0, {ended_badly(1, 5)}, {{0, 0}, {2, 3}}};
    auto after_both = [&](const LifeWishes &wishes, std::string &lines) {
        Life life;
        life.life.ask(wishes);
        life.life.begin("job", 8);
        life.life.note_ends(late);
        life.life.note_ends(early);
        life.life.note_failure({7, 7}); // heard of over the server
        life.life.ended(9);
        lines = life.lines;
        assert_true(life.life.passes(PMIX_EVENT_PROC_TERMINATED, "job") !=
                    (wishes.tells_all_ends || wishes.tells_bad_ends));
        assert_true(life.life.passes(PMIX_EVENT_PROC_TERMINATED, "other") &&
                    life.life.passes(PMIX_ERR_EXIT_NONZERO_TERM, "job"));
        return life.take();
    };
    std::string lines, end = fmt::format("end status {} code 5 first 1;", PMIX_ERR_JOB_NON_ZERO_TERM);
    LifeWishes logs_bad, logs_all, tells_bad, tells_all;
    logs_bad.logs_bad_ends = logs_all.logs_all_ends = tells_bad.tells_bad_ends = tells_all.tells_all_ends = true;
    assert_string_equal(after_both(logs_bad, lines).c_str(), end.c_str());
    assert_string_equal(lines.c_str(),
                        "job: rank 4 has ended with exit code 9;job: rank 1 has ended with exit code 5;");
    assert_string_equal(after_both(logs_all, lines).c_str(), end.c_str());
    assert_string_equal(lines.c_str(), "job: rank 4 has ended with exit code 9;job: rank 1 has ended with exit code 5;"
                                       "job: ranks 0,2-3 have ended with exit code 0;");
    assert_string_equal(after_both(tells_bad, lines).c_str(), ("gone code 9;gone code 5;" + end).c_str());
    assert_string_equal(lines.c_str(), "");
    assert_string_equal(after_both(tells_all, lines).c_str(), ("gone code 9;gone code 5;gone code 0;" + end).c_str());
}

// Lines of one host's processes that ended together have one time.
void the_first_failure_is_that_of_the_first_line(void **) {
    Life life;
    life.life.begin("job", 8);
    life.life.note_ends({0, "n0", 10, 1, {ended_badly(1, 6)}, {}});
    life.life.note_ends({0, "n0", 10, 0, {ended_badly(3, 5)}, {}});
    life.life.note_ends({0, "n0", 10, 2, {ended_badly(2, 7)}, {}});
    life.life.ended(9);
    assert_string_equal(life.take().c_str(),
                        fmt::format("end status {} code 5 first 3;", PMIX_ERR_JOB_NON_ZERO_TERM).c_str());
}

void a_process_of_the_job_ends_once(void **) {
    Life life;
    LifeWishes wishes;
    wishes.tells_all_ends = wishes.logs_all_ends = true;
    life.life.ask(wishes);
    life.life.begin("job", 4);
    life.life.note_ends({0, "n0", 10, 0, {ended_badly(1, 5), ended_badly(4, 6)}, {{2, UINT32_MAX}, {5, UINT32_MAX}}});
    life.life.note_ends({0, "n0", 11, 0, {ended_badly(1, 5), ended_badly(2, 5)}, {{0, 3}}});
    assert_string_equal(life.lines.c_str(), "job: rank 1 has ended with exit code 5;"
                                            "job: ranks 2-3 have ended with exit code 0;"
                                            "job: rank 0 has ended with exit code 0;");
    assert_string_equal(life.take().c_str(), "gone code 5;gone code 0;gone code 0;");
}

std::string signals_of(const InfoList &info) {
    std::string out;
    for (std::int32_t signal : stops_and_goes(info.data(), info.size()))
        out += signal == SIGSTOP ? "stop " : signal == SIGCONT ? "go " : "? ";
    return out;
}

void a_pause_is_one_by_whatever_name(void **) {
    InfoList pause, resume, signals, others;
    pause.add(PMIX_JOB_CTRL_PAUSE, true);
    assert_string_equal(signals_of(pause).c_str(), "stop ");
    resume.add(PMIX_JOB_CTRL_RESUME, true);
    assert_string_equal(signals_of(resume).c_str(), "go ");
    signals.add(PMIX_JOB_CTRL_SIGNAL, SIGCONT);
    signals.add(PMIX_JOB_CTRL_SIGNAL, SIGSTOP);
    assert_string_equal(signals_of(signals).c_str(), "go stop ");
    others.add(PMIX_JOB_CTRL_PAUSE, false);
    others.add(PMIX_JOB_CTRL_SIGNAL, SIGTERM);
    others.add(PMIX_TIMEOUT, SIGSTOP);
    assert_string_equal(signals_of(others).c_str(), "");
}

void daemons_are_beside_what_they_debug(void **) {
    InfoList none, daemons, target, other;
    daemons.add(PMIX_DEBUGGER_DAEMONS, true);
    target.add_process(PMIX_DEBUG_TARGET, {"job", PMIX_RANK_WILDCARD});
    other.add(PMIX_DEBUGGER_DAEMONS, true);
    other.add_process(PMIX_DEBUG_TARGET, {"other", PMIX_RANK_WILDCARD});
    pmix_app_t apps[2] = {};
    auto beside = [&](const InfoList &info, std::size_t count) {
        return starts_daemons_beside("job", info.data(), info.size(), apps, count);
    };
    assert_false(beside(none, 1)); // any other job
    assert_true(beside(daemons, 1));
    assert_true(beside(target, 2));
    assert_false(beside(other, 1));
    apps[1].info = daemons.data();
    apps[1].ninfo = daemons.size();
    assert_false(beside(none, 2)); // those of the first program
    apps[0] = apps[1];
    assert_true(beside(none, 2));
    apps[0].info = target.data();
    assert_true(beside(none, 1));
}

void a_request_is_for_one_of_both(void **) {
    pmix_proc_t whom[3] = {{"launcher", 0}, {"job", PMIX_RANK_WILDCARD}, {"launcher", PMIX_RANK_WILDCARD}};
    assert_int_equal(named_by("launcher", whom, 1), Named::launcher);
    assert_int_equal(named_by("launcher", whom + 1, 1), Named::jobs);
    assert_int_equal(named_by("launcher", whom, 2), Named::both);
    assert_int_equal(named_by("launcher", whom + 1, 2), Named::both);
    std::swap(whom[1], whom[2]);
    assert_int_equal(named_by("launcher", whom, 2), Named::launcher);
    assert_int_equal(named_by("launcher", nullptr, 0), Named::jobs); // everybody
}

// All that a debugger which has gone has paused.
std::string paused_in(HeldJob &job) {
    std::string out;
    for (const auto &processes : job.take_paused())
        for (const Process &each : processes)
            out += each.nspace + (each.wildcard ? " all" : " " + std::to_string(each.rank)) + ";";
    return out;
}

void what_a_debugger_has_paused_goes_on_without_it(void **) {
    HeldJob job;
    assert_false(job.any());
    job.signalled(ranks_of_job({1, 2}), {SIGSTOP}, "job");
    job.signalled({{"other", 0, true}}, {SIGSTOP}, "job");
    assert_true(job.any());
    assert_false(job.stands()); // that is no reason to end it
    job.signalled(ranks_of_job({2}), {SIGCONT}, "job");
    assert_string_equal(paused_in(job).c_str(), "job 1;other all;");
    assert_string_equal(paused_in(job).c_str(), ""); // once
    job.signalled({}, {SIGSTOP}, "job");             // all of it
    assert_string_equal(paused_in(job).c_str(), "job all;");
    job.signalled({}, {SIGSTOP}, "job");
    job.released({}, "job");
    assert_string_equal(paused_in(job).c_str(), "");
    HeldJob stands(*DebugStops::parse("exec=0-1"));
    stands.signalled(ranks_of_job({0, 1}), {SIGCONT}, "job");
    assert_false(stands.stands());
}

void daemons_let_go_until_they_have_ended(void **) {
    HeldJob job(*DebugStops::parse("exec=all;init=all"));
    assert_true(job.stands() && !job.is_left());
    job.daemons_run("daemons", false);
    job.daemons_run("lasting", true);
    assert_false(job.stands());
    assert_true(job.take_daemons() == std::vector<Bytes>{"daemons"}); // with their debugger
    assert_true(job.take_daemons().empty() && !job.is_left());
    job.ended("another");
    assert_false(job.is_left());
    job.ended("lasting");
    assert_true(job.is_left());
    HeldJob quick(*DebugStops::parse("exec=all"));
    quick.ended("daemons"); // heard before they are known to run
    quick.daemons_run("daemons", true);
    assert_true(quick.is_left() && !quick.stands());
}

struct Loop {
    Loop() {
        auto created = EventLoop::create([](const std::string &) { fail(); });
        assert_true(created.ok());
        loop = std::move(*created);
    }
    std::unique_ptr<EventLoop> loop;
};

// All that is there, until `size` bytes have come or the other end has closed.
std::string read_some(EventLoop &loop, int fd, std::size_t size) {
    std::string got;
    bool over = false;
    run_until(loop, [&] {
        char bytes[65536];
        for (ssize_t n; (n = ::read(fd, bytes, sizeof bytes)) >= 0;) {
            over = over || n == 0;
            got.append(bytes, static_cast<std::size_t>(n));
            if (n == 0)
                break;
        }
        return over || got.size() >= size;
    });
    return over ? got + "|" : got;
}

void input_is_the_launchers_own_and_the_debuggers(void **) {
    Loop with;
    auto own = make_pipe(), to = make_pipe();
    ::fcntl(to->first.get(), F_SETFL, O_NONBLOCK);
    InputRelay relay(*with.loop, own->first.get(), std::move(to->second));
    assert_int_equal(::write(own->second.get(), "own ", 4), 4);
    assert_string_equal(read_some(*with.loop, to->first.get(), 4).c_str(), "own ");
    assert_int_equal(relay.push("pushed", false), InputRelay::Taken::yes);
    assert_string_equal(read_some(*with.loop, to->first.get(), 6).c_str(), "pushed");
    own->second.reset(); // that is not the end: the debugger may have more
    assert_int_equal(relay.push("again", false), InputRelay::Taken::yes);
    assert_string_equal(read_some(*with.loop, to->first.get(), 5).c_str(), "again");
    assert_int_equal(relay.push(Bytes(300'000, 'x'), false), InputRelay::Taken::yes);
    assert_int_equal(relay.push("end", true), InputRelay::Taken::yes);
    assert_int_equal(relay.push("more", false), InputRelay::Taken::closed);
    std::string all = read_some(*with.loop, to->first.get(), SIZE_MAX);
    assert_int_equal(all.size(), 300'000 + 4);
    assert_string_equal(all.substr(300'000).c_str(), "end|");
}

// The user has said what there is.
void a_file_ends_the_input(void **) {
    Loop with;
    auto to = make_pipe();
    ::fcntl(to->first.get(), F_SETFL, O_NONBLOCK);
    char path[] = "/tmp/pmixhost-unit-input.XXXXXX";
    UniqueFd file(::mkstemp(path));
    ::unlink(path);
    assert_int_equal(::write(file.get(), "file", 4), 4);
    assert_int_equal(::lseek(file.get(), 0, SEEK_SET), 0);
    InputRelay relay(*with.loop, file.get(), std::move(to->second));
    assert_string_equal(read_some(*with.loop, to->first.get(), SIZE_MAX).c_str(), "file|");
    assert_int_equal(relay.push("more", false), InputRelay::Taken::closed);
}

// libpmix closes the pipe to what it has started when the debugger's own input, which it reads, has ended.
void a_pipe_ends_the_input_where_nothing_is_pushed(void **) {
    for (std::string said : {"words", ""}) {
        Loop with;
        auto own = make_pipe(), to = make_pipe();
        ::fcntl(to->first.get(), F_SETFL, O_NONBLOCK);
        InputRelay relay(*with.loop, own->first.get(), std::move(to->second));
        assert_int_equal(::write(own->second.get(), said.data(), said.size()), said.size());
        own->second.reset();
        assert_string_equal(read_some(*with.loop, to->first.get(), SIZE_MAX).c_str(), (said + "|").c_str());
        assert_int_equal(relay.push("more", false), InputRelay::Taken::closed);
    }
}

void without_a_debugger_the_input_ends_with_what_it_was(void **) {
    Loop with;
    auto own = make_pipe(), to = make_pipe(), other = make_pipe();
    ::fcntl(to->first.get(), F_SETFL, O_NONBLOCK);
    InputRelay relay(*with.loop, own->first.get(), std::move(to->second));
    relay.no_more_pushes();
    assert_int_equal(::write(own->second.get(), "own ", 4), 4);
    assert_string_equal(read_some(*with.loop, to->first.get(), 4).c_str(), "own ");
    own->second.reset();
    assert_string_equal(read_some(*with.loop, to->first.get(), 1).c_str(), "|");
    // Also where that has ended before.
    ::fcntl(other->first.get(), F_SETFL, O_NONBLOCK);
    InputRelay nothing(*with.loop, -1, std::move(other->second));
    nothing.no_more_pushes();
    assert_string_equal(read_some(*with.loop, other->first.get(), 1).c_str(), "|");
}

void input_that_is_not_read_has_a_bound(void **) {
    Loop with;
    auto to = make_pipe();
    int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    InputRelay relay(*with.loop, nothing, std::move(to->second));
    assert_int_equal(relay.push(Bytes(InputRelay::most_kept, 'x'), false), InputRelay::Taken::yes);
    // Some of it is in the pipe.
    assert_int_equal(relay.push(Bytes(InputRelay::most_kept, 'x'), false), InputRelay::Taken::full);
    to->first.reset(); // nobody ever reads it
    run_until(*with.loop, [&] { return relay.push("x", false) == InputRelay::Taken::closed; });
    InputRelay of_a_terminal(*with.loop, -1, {});
    assert_int_equal(of_a_terminal.push("x", false), InputRelay::Taken::closed);
    ::close(nothing);
}

sockaddr_in loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}
sockaddr *generic(sockaddr_in &address) {
    return reinterpret_cast<sockaddr *>(&address);
}
std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    return ::getsockname(fd, generic(address), &size) == 0 ? ntohs(address.sin_port) : 0;
}

void the_debugger_is_the_users_own(void **) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback();
    assert_int_equal(::bind(listener.get(), generic(address), sizeof address) | ::listen(listener.get(), 1), 0);
    address.sin_port = htons(port_of(listener.get()));
    std::string uri = fmt::format("debugger.0;tcp4://127.0.0.1:{}", port_of(listener.get()));
    assert_int_equal(check_debugger(uri).failure().kind, ErrorKind::unreachable);
    assert_int_equal(::connect(fd.get(), generic(address), sizeof address), 0);
    UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
    assert_true(check_debugger(uri).ok() && debugger_is_connected(uri));
    fd.reset();
    accepted.reset();
    assert_false(debugger_is_connected(uri));
    for (const char *other : {"", "debugger.0", "debugger.0;tcp4://127.0.0.1:", "debugger.0;tcp4://127.0.0.1:port",
                              "debugger.0;tcp4://127.0.0.1:99999"})
        assert_int_equal(check_debugger(other).failure().kind, ErrorKind::invalid);
}

// It is killed: its directory goes with all that is in it, and first the launcher, where nobody else would end that.
void what_is_killed_leaves_nothing(void **) {
    using What = Keeper::Launcher;
    const std::vector<std::pair<std::vector<What>, bool>> told_and_ends = {
        {{}, true}, {{What::goes_on}, false}, {{What::goes_on, What::ends}, true}};
    for (const auto &[told, ends] : told_and_ends) {
        auto loop = make_loop();
        std::string directory = "/tmp/pmixhost-unit.XXXXXX";
        assert_non_null(::mkdtemp(directory.data()));
        assert_int_equal(::mkdir((directory + "/pmix_dstor").c_str(), 0700), 0);
        UniqueFd file(::open((directory + "/pmix_dstor/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_true(static_cast<bool>(file));
        auto sleeps = [] {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::signal(SIGTERM, SIG_DFL);
            for (;;)
                ::pause();
        };
        pid_t launcher = ::fork();
        if (launcher == 0)
            sleeps();
        UniqueFd launcher_end(static_cast<int>(syscall(SYS_pidfd_open, launcher, 0)));
        auto works = make_pipe();
        pid_t first = ::fork();
        if (first == 0) {
            auto keeper = Keeper::start(directory, launcher_end);
            if (!keeper)
                ::_exit(1);
            for (What what : told)
                keeper->when_killed(what);
            (void)!::write(works->second.get(), "w", 1);
            sleeps();
        }
        works->second.reset();
        char word = 0;
        assert_int_equal(::read(works->first.get(), &word, 1), 1);
        assert_int_equal(::access(directory.c_str(), F_OK), 0);
        assert_int_equal(::kill(first, SIGKILL), 0);
        assert_int_equal(::waitpid(first, nullptr, 0), first);
        assert_int_equal(::read(works->first.get(), &word, 1), 0); // the keeper holds nothing of it
        run_until(*loop, [&] { return ::access(directory.c_str(), F_OK) != 0; });
        if (!ends)
            assert_int_equal(::kill(launcher, SIGUSR1), 0); // by which it ends, as it got no other signal before
        int status = 0;
        assert_int_equal(::waitpid(launcher, &status, 0), launcher);
        assert_int_equal(WTERMSIG(status), ends ? SIGTERM : SIGUSR1);
    }
}

// Who has taken the address of a debugger that has ended, say.
void another_users_is_not_obeyed(void **) {
    if (::geteuid() != 0)
        skip();
    auto news = make_socket_pair();
    pid_t other = ::fork();
    if (other == 0) {
        UniqueFd fd(::setuid(65534) == 0 ? ::socket(AF_INET, SOCK_STREAM, 0) : -1);
        sockaddr_in address = loopback();
        bool listens = ::bind(fd.get(), generic(address), sizeof address) == 0 && ::listen(fd.get(), 1) == 0;
        std::uint16_t port = listens ? port_of(fd.get()) : 0;
        ::send(news->second.get(), &port, sizeof port, 0);
        UniqueFd accepted(::accept(fd.get(), nullptr, nullptr));
        ::send(news->second.get(), &port, sizeof port, 0);
        news->first.reset();
        char byte;
        [[maybe_unused]] ssize_t end = ::recv(news->second.get(), &byte, 1, 0);
        ::_exit(0);
    }
    news->second.reset();
    std::uint16_t port = 0;
    assert_int_equal(::recv(news->first.get(), &port, sizeof port, 0), sizeof port);
    sockaddr_in address = loopback();
    address.sin_port = htons(port);
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    assert_int_equal(::connect(fd.get(), generic(address), sizeof address), 0);
    assert_int_equal(::recv(news->first.get(), &port, sizeof port, 0), sizeof port);
    auto checked = check_debugger(fmt::format("debugger.0;tcp4://127.0.0.1:{}", port));
    news->first.reset();
    assert_int_equal(::waitpid(other, nullptr, 0), other);
    assert_int_equal(checked.failure().kind, ErrorKind::denied);
    assert_non_null(strstr(checked.failure().text.c_str(), "uid 65534"));
}

struct FakeLauncher final : LauncherPort {
    Result<void> may_be_obeyed() override {
        ++asked;
        return allowed;
    }
    bool signal_launcher(int signal) override {
        if (is_there)
            done += fmt::format("{} ", signal);
        return is_there;
    }
    void refuse_job(const std::string &) override { done += "refused "; }
    void kill_launcher_later() override { done += "later "; }

    Result<void> allowed;
    bool is_there = true;
    int asked = 0;
    std::string done;
};

// It has taken the address of a debugger that has ended, and asks for what ends the launcher, or does anything to it.
void a_strangers_control_of_the_launcher_does_nothing(void **) {
    for (bool held : {true, false}) {
        for (int signal : {SIGKILL, SIGTERM, SIGINT, SIGUSR1, SIGCONT}) {
            FakeLauncher launcher;
            launcher.allowed = error(ErrorKind::denied, "there is a process of uid 65534");
            assert_int_equal(LauncherControl(launcher).signal(signal, held), PMIX_ERR_NO_PERMISSIONS);
            assert_string_equal(launcher.done.c_str(), "");
            assert_int_equal(launcher.asked, 1);
        }
    }
}

// It hears of no signal while it is held: what would end it has to be said to it.
void a_launcher_that_is_held_is_ended_in_words(void **) {
    auto does = [](int signal, bool held) {
        FakeLauncher launcher;
        assert_int_equal(LauncherControl(launcher).signal(signal, held), PMIX_SUCCESS);
        return launcher.done;
    };
    for (int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
        assert_string_equal(does(signal, true).c_str(), fmt::format("{} refused ", signal).c_str());
        assert_string_equal(does(signal, false).c_str(), fmt::format("{} ", signal).c_str());
    }
    assert_string_equal(does(SIGKILL, true).c_str(), fmt::format("{} refused later ", SIGTERM).c_str());
    assert_string_equal(does(SIGKILL, false).c_str(), fmt::format("{} later ", SIGTERM).c_str());
    assert_string_equal(does(SIGUSR1, true).c_str(), fmt::format("{} ", SIGUSR1).c_str());
    FakeLauncher gone;
    gone.is_there = false;
    assert_int_equal(LauncherControl(gone).signal(SIGKILL, true), PMIX_ERR_NOT_FOUND);
    assert_string_equal(gone.done.c_str(), "");
}

// The variables and descriptors that the program gets, and what is left of them here.
void the_program_gets_what_is_the_debuggers(void **) {
    char directory[] = "/tmp/pmixhost-unit-indirect.XXXXXX";
    assert_non_null(::mkdtemp(directory));
    std::string program = std::string(directory) + "/program", said = std::string(directory) + "/said";
    FILE *script = std::fopen(program.c_str(), "w");
    std::fprintf(script,
                 "#!/bin/sh\nexec >%s\necho \"$* $PMIX_NAMESPACE $PMIX_KEEPALIVE_PIPE\"\n"
                 "[ -S /proc/self/fd/3 ] && [ -p /proc/self/fd/4 ] && [ -p /proc/self/fd/5 ] && echo descriptors\n"
                 "echo 'released /a init' >&3\ncat <&3 >/dev/null\n",
                 said.c_str());
    std::fclose(script);
    ::chmod(program.c_str(), 0755);
    auto keepalive = make_pipe();
    int inherited = ::fcntl(keepalive->first.get(), F_DUPFD, 20);
    ::setenv("PMIX_LAUNCHER_RNDZ_URI", "debugger.0;tcp4://127.0.0.1:1", 1);
    ::setenv("PMIX_NAMESPACE", "debugger.1", 1);
    ::setenv("PMIX_KEEPALIVE_PIPE", std::to_string(inherited).c_str(), 1);
    ::setenv("PMIX_MCA_mine", "stays", 1);
    ::setenv("PMIXHOST_HOLDER", "sleep infinity", 1);
    int input = ::dup(STDIN_FILENO), nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::setenv("PMIXHOST_INDIRECT_ALLOCATES", "1", 1); // of somebody else
    assert_true(kit::begin_indirect_launch(program, false).ok());
    assert_false(kit::take_own_allocation());
    struct stat what {};
    assert_true(::fstat(STDIN_FILENO, &what) == 0 && S_ISFIFO(what.st_mode));
    ::dup2(input, STDIN_FILENO);
    for (const char *gone : {"PMIX_LAUNCHER_RNDZ_URI", "PMIX_NAMESPACE", "PMIX_KEEPALIVE_PIPE"})
        assert_null(::getenv(gone));
    assert_string_equal(::getenv("PMIX_MCA_mine"), "stays");
    assert_int_equal(::fcntl(inherited, F_GETFD), -1);
    UniqueFd channel = kit::take_indirect_channel();
    assert_true(static_cast<bool>(channel));
    assert_false(static_cast<bool>(kit::take_indirect_channel()));
    assert_true(kit::take_holder());
    assert_false(kit::take_holder());
    auto released = kit::await_release(channel.get(), 10s, [] { return Result<void>(); });
    assert_true(released.ok());
    assert_string_equal(released->file.c_str(), "/a");
    assert_string_equal(released->stops.c_str(), "init");
    channel.reset();
    assert_true(::wait(nullptr) > 0);
    char text[200] = "";
    FILE *file = std::fopen(said.c_str(), "r");
    text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
    std::fclose(file);
    assert_string_equal(text, "relay serve debugger.1 5\ndescriptors\n");
    ::unlink(said.c_str());
    ::unlink(program.c_str());
    ::rmdir(directory);
    ::close(input);
    ::close(nothing);
    // A program that is not there is told at once.
    ::setenv("PMIX_LAUNCHER_RNDZ_URI", "debugger.0;tcp4://127.0.0.1:1", 1);
    assert_false(kit::begin_indirect_launch("/nonexistent/program", true).ok());
    assert_null(::getenv("PMIX_LAUNCHER_RNDZ_URI"));
    assert_false(kit::take_own_allocation());
    auto gone = make_socket_pair();
    gone->second.reset();
    auto yes = [] { return Result<void>(); };
    assert_int_equal(kit::await_release(gone->first.get(), 10s, yes).failure().kind, ErrorKind::unreachable);
    // Nor is one waited for whose job is over.
    auto silent = make_socket_pair();
    int looks = 0;
    auto third = [&looks]() -> Result<void> {
        return ++looks < 3 ? Result<void>() : Result<void>(error(ErrorKind::not_found, "over"));
    };
    assert_string_equal(kit::await_release(silent->first.get(), 1ms, third).failure().text.c_str(), "over");
}

} // namespace

int main() {
    std::signal(SIGPIPE, SIG_IGN); // as the program has it
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_was_let_go_does_not_stand),
        cmocka_unit_test(a_resume_lets_go_from_the_first_instruction_alone),
        cmocka_unit_test(from_each_place_once),
        cmocka_unit_test(a_release_says_where_and_how),
        cmocka_unit_test(the_exit_code_is_the_last_word),
        cmocka_unit_test(an_allocation_is_told_with_its_job),
        cmocka_unit_test(directives_are_read),
        cmocka_unit_test(what_is_not_done_is_said),
        cmocka_unit_test(what_is_to_be_told_and_logged_is_read),
        cmocka_unit_test(ends_of_a_host_come_over_as_text),
        cmocka_unit_test(many_ends_of_a_host_are_few_lines),
        cmocka_unit_test(the_life_of_a_job_is_told_once),
        cmocka_unit_test(ends_are_told_and_logged_as_asked),
        cmocka_unit_test(the_first_failure_is_that_of_the_first_line),
        cmocka_unit_test(a_process_of_the_job_ends_once),
        cmocka_unit_test(a_pause_is_one_by_whatever_name),
        cmocka_unit_test(daemons_are_beside_what_they_debug),
        cmocka_unit_test(a_request_is_for_one_of_both),
        cmocka_unit_test(what_a_debugger_has_paused_goes_on_without_it),
        cmocka_unit_test(daemons_let_go_until_they_have_ended),
        cmocka_unit_test(input_is_the_launchers_own_and_the_debuggers),
        cmocka_unit_test(a_file_ends_the_input),
        cmocka_unit_test(a_pipe_ends_the_input_where_nothing_is_pushed),
        cmocka_unit_test(without_a_debugger_the_input_ends_with_what_it_was),
        cmocka_unit_test(input_that_is_not_read_has_a_bound),
        cmocka_unit_test(the_debugger_is_the_users_own),
        cmocka_unit_test(what_is_killed_leaves_nothing),
        cmocka_unit_test(another_users_is_not_obeyed),
        cmocka_unit_test(a_strangers_control_of_the_launcher_does_nothing),
        cmocka_unit_test(a_launcher_that_is_held_is_ended_in_words),
        cmocka_unit_test(the_program_gets_what_is_the_debuggers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
