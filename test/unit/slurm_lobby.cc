// The backend of a lobby under Slurm, with a slurmctld that does what the test says (the functions of Slurm's library
// are this program's own), and with scripts for srun and for the launcher.
#include "plugins/slurm/backend/lobby.h"

#include "common/base/fd_pair.h"
#include "common/config/config.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "server-glue/rm/questions.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/spawn_places.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/rm/user_notes.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <slurm/slurm_errno.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace std::chrono_literals;

// --- Slurm ------------------------------------------------------------------------------------------

namespace {

struct FakeSlurm {
    std::mutex mutex; // it is called in threads
    bool is_away = false;
    std::shared_ptr<OneTimeGate> hangs;                            // until it opens
    std::map<std::uint32_t, std::pair<std::uint32_t, uid_t>> jobs; // state and user
    std::set<std::uint32_t> killed;
    int configurations = 0; // asked for
    void wait() {
        std::unique_lock lock(mutex);
        auto gate = hangs;
        lock.unlock();
        if (gate)
            gate->wait();
    }
    bool answers() {
        wait();
        std::lock_guard lock(mutex);
        if (is_away)
            errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
        return !is_away;
    }
};

// A thread that asks may outlive the test that it asks for, and what it asks with it.
struct {
    std::mutex mutex;
    std::shared_ptr<FakeSlurm> slurm;
} now_asked;
std::shared_ptr<FakeSlurm> ctld() {
    std::lock_guard lock(now_asked.mutex);
    return now_asked.slurm;
}

using JobArgument = decltype(job_argument(1));
[[maybe_unused]] std::uint32_t number_of(std::uint32_t number) {
    return number;
}
template <typename Id> std::uint32_t number_of(const Id &id) {
    return id.job_id;
}
char one_host[] = "n3";

} // namespace

#define REPLACES extern "C" __attribute__((visibility("default")))

REPLACES int slurm_load_ctl_conf(time_t, slurm_conf_t **conf) {
    auto asked = ctld();
    {
        std::lock_guard lock(asked->mutex);
        ++asked->configurations;
    }
    if (!asked->answers())
        return SLURM_ERROR;
    *conf = static_cast<slurm_conf_t *>(calloc(1, sizeof **conf));
    return SLURM_SUCCESS;
}
#if HAVE_DECL_SLURM_FREE_CONF
REPLACES void slurm_free_conf(slurm_conf_t *conf) {
#else
REPLACES void slurm_free_ctl_conf(slurm_conf_t *conf) {
#endif
    free(conf);
}
REPLACES int slurm_load_job(job_info_msg_t **out, JobArgument argument, std::uint16_t) {
    auto asked = ctld();
    if (!asked->answers())
        return SLURM_ERROR;
    std::lock_guard lock(asked->mutex);
    auto job = asked->jobs.find(number_of(argument));
    if (job == asked->jobs.end()) {
        errno = ESLURM_INVALID_JOB_ID;
        return SLURM_ERROR;
    }
    *out = static_cast<job_info_msg_t *>(calloc(1, sizeof **out));
    (*out)->record_count = 1;
    (*out)->job_array = static_cast<slurm_job_info_t *>(calloc(1, sizeof(slurm_job_info_t)));
    slurm_job_info_t &info = (*out)->job_array[0];
    job_number(info) = job->first;
    info.job_state = job->second.first;
    info.user_id = job->second.second;
    info.nodes = one_host;
    info.num_cpus = 4;
    info.time_limit = 10;
    return SLURM_SUCCESS;
}
REPLACES void slurm_free_job_info_msg(job_info_msg_t *jobs) {
    free(jobs->job_array);
    free(jobs);
}
REPLACES int slurm_allocate_resources(job_desc_msg_t *, resource_allocation_response_msg_t **out) {
    auto asked = ctld();
    if (!asked->answers())
        return SLURM_ERROR;
    std::lock_guard lock(asked->mutex);
    *out = static_cast<resource_allocation_response_msg_t *>(calloc(1, sizeof **out));
    job_number(**out) = 77;
    asked->jobs[77] = {JOB_PENDING, ::geteuid()};
    return SLURM_SUCCESS;
}
REPLACES void slurm_free_resource_allocation_response_msg(resource_allocation_response_msg_t *message) {
    free(message);
}
REPLACES int slurm_kill_job(JobArgument argument, std::uint16_t, std::uint16_t) {
    auto asked = ctld();
    if (!asked->answers())
        return SLURM_ERROR;
    std::lock_guard lock(asked->mutex);
    if (asked->jobs.erase(number_of(argument)) == 0) {
        errno = ESLURM_INVALID_JOB_ID;
        return SLURM_ERROR;
    }
    asked->killed.insert(number_of(argument));
    return SLURM_SUCCESS;
}

// --- the lobby --------------------------------------------------------------------------------------

namespace {

struct Listener final : BackendListener {
    std::vector<std::string> contacts, gone;
    void on_contact(std::string message) override { contacts.push_back(std::move(message)); }
    void on_rm_gone(std::string why) override { gone.push_back(std::move(why)); }
    void want_environment(Rank, std::function<void(Result<std::vector<std::string>>)>) override {}
    void on_task_started(Rank, pid_t) override {}
    void on_task_ended(Rank, int) override {}
    bool wants_streams() const override { return false; }
    void take_streams(Rank, TaskDescriptors) override {}
    void on_exec_report(Rank, ExecWords) override {}
    void on_daemon_left(HostIndex) override {}
};

struct World {
    std::shared_ptr<FakeSlurm> slurm = std::make_shared<FakeSlurm>();
    std::string directory;
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    StartDocument document;
    UniqueFd desk;
    Listener listener;
    struct Sessions {
        std::mutex mutex;
        std::vector<std::pair<std::string, std::string>> sent; // node and message
        std::set<std::string> there;                           // in whose paths one listens
    };
    std::shared_ptr<Sessions> sessions = std::make_shared<Sessions>();
    std::unique_ptr<RmBackend> lobby;

    World() {
        {
            std::lock_guard lock(now_asked.mutex);
            now_asked.slurm = slurm;
        }
        ::signal(SIGCHLD, SIG_IGN);
        char name[] = "/tmp/pmixhost-lobby.XXXXXX";
        directory = mkdtemp(name);
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        make_script("srun", "echo \"$*\" | sed 's/.*--jobid=\\([0-9]*\\).*/\\1/' >>\"$here/sruns\"; exec sleep 300");
        make_script("launcher", "echo $$ >>\"$here/launchers\"; exec cat <&4 >>\"$here/invitations\"");
        auto loaded = load_config("", {});
        assert_true(loaded.ok());
        settings = loaded->settings;
        settings.of_plugins["slurm.srun"] = directory + "/srun";
        settings.directory_base = "/base";
        auto ends = make_socket_pair(SOCK_SEQPACKET);
        assert_true(ends.ok());
        desk = std::move(ends->first);
        assert_true(document.add("lobby.fd", std::to_string(ends->second.release())).ok());
        auto created =
            create_lobby({*loop, log, document, settings},
                         {[] {},
                          {[](std::uint32_t) { return Result<std::vector<RunningStep>>(std::vector<RunningStep>()); },
                           [sessions = sessions](const std::string &node, const std::string &path,
                                                 const std::string &message) -> Result<void> {
                               std::lock_guard lock(sessions->mutex);
                               for (const auto &part : sessions->there) {
                                   if (path.find(part) == path.npos)
                                       continue;
                                   sessions->sent.emplace_back(node, message);
                                   return {};
                               }
                               return error(ErrorKind::not_found, "nobody listens at {}", path);
                           }},
                          [path = directory + "/launcher"] { return path; }});
        assert_true(created.ok());
        lobby = std::move(*created);
    }
    ~World() {
        open_slurm();
        lobby->stop();
        lobby.reset();
        for (const char *list : {"launchers", "srun-pids"}) {
            for (const auto &pid : lines_of(list))
                kill_child(pid);
        }
        std::filesystem::remove_all(directory);
    }
    // Its number may be somebody else's by now.
    static void kill_child(const std::string &pid) {
        std::ifstream file("/proc/" + pid + "/stat");
        std::string number, name, state;
        pid_t parent = 0;
        if (file >> number >> name >> state >> parent && parent == ::getpid())
            ::kill(std::atoi(pid.c_str()), SIGKILL);
    }
    void make_script(const std::string &name, const std::string &text) const {
        std::ofstream(directory + "/" + name)
            << "#!/bin/sh\nhere=" << directory << "\n"
            << (name == "srun" ? "echo $$ >>\"$here/srun-pids\"\n" : "") << text << "\n";
        assert_int_equal(::chmod((directory + "/" + name).c_str(), 0700), 0);
    }
    void start() { assert_true(lobby->start(listener).ok()); }
    void hang() {
        std::lock_guard lock(slurm->mutex);
        slurm->hangs = std::make_shared<OneTimeGate>();
    }
    void open_slurm() {
        std::lock_guard lock(slurm->mutex);
        if (auto gate = std::exchange(slurm->hangs, nullptr))
            gate->open();
    }
    void set_away(bool away) {
        std::lock_guard lock(slurm->mutex);
        slurm->is_away = away;
    }
    void set_job(std::uint32_t number, std::uint32_t state, uid_t user = ::geteuid()) {
        std::lock_guard lock(slurm->mutex);
        slurm->jobs[number] = {state, user};
    }
    bool was_killed(std::uint32_t number) {
        std::lock_guard lock(slurm->mutex);
        return slurm->killed.contains(number);
    }
    std::vector<std::string> lines_of(const char *file) const {
        std::ifstream in(directory + "/" + file);
        std::vector<std::string> lines;
        for (std::string line; std::getline(in, line);)
            lines.push_back(line);
        return lines;
    }
    void until(const std::function<bool()> &done) { run_until(*loop, done); }
    Result<RmAllocated> look_at(const std::string &name, Duration patience = 20s) {
        std::optional<Result<RmAllocated>> out;
        lobby->spawn_places()->look_at(name, loop->now() + patience, [&](Result<RmAllocated> seen) {
            assert_false(out.has_value());
            out = std::move(seen);
        });
        assert_false(out.has_value()); // never from within
        until([&] { return out.has_value(); });
        return std::move(*out);
    }
    ErrorKind failure_of(const std::string &name) {
        auto seen = look_at(name);
        assert_false(seen.ok());
        return seen.failure().kind;
    }
    void enter(const char *name, bool has_hosts = true) {
        RmAllocated place;
        place.allocation = name;
        if (has_hosts)
            place.hosts = {"n3", "n4"};
        lobby->spawn_places()->enter(place);
    }
    using Reached = std::shared_ptr<std::optional<Result<void>>>;
    Reached reach(CentralRole role, const std::string &invitation, Duration patience = 20s) {
        auto out = std::make_shared<std::optional<Result<void>>>();
        lobby->roles()->reach(role, invitation, loop->now(), loop->now() + patience, [out](Result<void> reached) {
            assert_false(out->has_value());
            *out = std::move(reached);
        });
        assert_false(out->has_value());
        return out;
    }
    Result<void> reached(const Reached &out) {
        until([&] { return out->has_value(); });
        return **out;
    }
    void has_session(const char *part) {
        std::lock_guard lock(sessions->mutex);
        sessions->there.insert(part);
    }
};

void a_document_without_a_desk_makes_no_lobby(void **) {
    World world;
    StartDocument nothing, garbled;
    assert_true(garbled.add("lobby.fd", "three").ok());
    for (const auto *document : {&nothing, &garbled})
        assert_false(create_lobby({*world.loop, world.log, *document, world.settings}, {}).ok());
    assert_true(world.lobby->step().is_lobby);
    assert_int_equal(world.lobby->step().map.rank_count(), 0);
}

void the_desk_brings_contacts_and_hears_the_user_s_notes(void **) {
    World world;
    world.start();
    assert_int_equal(::send(world.desk.get(), "contact", 7, 0), 7);
    world.until([&] { return world.listener.contacts.size() == 1; });
    assert_string_equal(world.listener.contacts[0].c_str(), "contact");
    std::vector<bool> told;
    auto note = [&](const std::string &line) {
        world.lobby->user_notes()->tell_user({line}, [&](Result<void> done) { told.push_back(done.ok()); });
    };
    note("why");
    note(std::string(100'000, 'x'));
    world.until([&] { return told.size() == 2; });
    char line[8192];
    assert_int_equal(::recv(world.desk.get(), line, sizeof line, 0), 3);
    assert_int_equal(::recv(world.desk.get(), line, sizeof line, 0), 2048);
    world.desk.reset();
    world.until([&] { return !world.listener.gone.empty(); });
    assert_string_equal(world.listener.gone[0].c_str(), "the tool has gone");
    note("too late");
    world.until([&] { return told.size() == 3; });
    assert_true(told == (std::vector<bool>{true, true, false}));
}

void a_desk_that_does_not_read_holds_up_nobody(void **) {
    World world;
    world.start();
    std::size_t told = 0, lost = 0;
    for (int i = 0; i < 5000; ++i)
        world.lobby->user_notes()->tell_user({std::string(2048, 'x')}, [&](Result<void> done) {
            ++told;
            lost += !done.ok();
        });
    world.until([&] { return told == 5000; });
    assert_true(lost > 0);
    assert_true(world.listener.gone.empty());
}

void an_allocation_is_the_user_s_and_has_begun(void **) {
    World world;
    world.set_job(7, JOB_RUNNING);
    world.set_job(8, JOB_PENDING);
    world.set_job(9, JOB_COMPLETE);
    world.set_job(10, JOB_RUNNING, ::geteuid() + 1);
    auto seen = world.look_at("7");
    assert_true(seen.ok());
    assert_string_equal(seen->allocation.c_str(), "7");
    assert_true(seen->hosts == std::vector<std::string>{"n3"});
    assert_true(world.failure_of("8") == ErrorKind::exists);
    assert_true(world.failure_of("9") == ErrorKind::not_found);
    assert_true(world.failure_of("10") == ErrorKind::denied);
    for (const char *none : {"11", "0", "seven", "-1", "7;", "99999999999"})
        assert_true(world.failure_of(none) == ErrorKind::not_found);
    world.set_away(true);
    assert_true(world.failure_of("7") == ErrorKind::unreachable);
}

void a_slurmctld_that_hangs_is_not_waited_for(void **) {
    World world;
    world.set_job(7, JOB_RUNNING);
    world.hang();
    auto seen = world.look_at("7", 20ms);
    assert_true(seen.failure().kind == ErrorKind::timeout);
    world.open_slurm();
    assert_true(world.look_at("7").ok());
}

void an_allocation_is_asked_for_and_released_by_name(void **) {
    World world;
    std::vector<Result<RmAllocated>> got;
    auto ask = [&](std::uint64_t id, RmAllocation request) {
        world.lobby->allocations()->allocate(id, std::move(request), TimePoint::max(),
                                             [&](Result<RmAllocated> outcome) { got.push_back(std::move(outcome)); });
    };
    ask(1, {});
    world.until([&] { return !world.lobby->allocations()->is_submitting(); });
    world.set_job(77, JOB_RUNNING);
    world.until([&] { return got.size() == 1; });
    assert_true(got[0].ok());
    assert_string_equal(got[0]->allocation.c_str(), "77");
    RmAllocation release;
    release.kind = RmAllocation::Kind::release;
    ask(2, release);
    world.until([&] { return got.size() == 2; });
    assert_true(got[1].failure().kind == ErrorKind::invalid); // which one?
    release.allocation = "77";
    ask(3, release);
    world.until([&] { return got.size() == 3; });
    assert_true(got[2].ok() && world.was_killed(77));
}

void who_leaves_takes_back_what_waits_in_the_queue(void **) {
    World world;
    bool answered = false;
    world.lobby->allocations()->allocate(1, {}, TimePoint::max(), [&](Result<RmAllocated>) { answered = true; });
    assert_true(world.lobby->allocations()->is_submitting());
    world.until([&] { return !world.lobby->allocations()->is_submitting(); });
    world.lobby->stop();
    assert_true(world.was_killed(77));
    assert_false(answered);
}

void who_leaves_while_slurm_hangs_hears_nothing_more(void **) {
    World world;
    world.hang();
    world.start();
    world.enter("7");
    auto session = world.reach(CentralRole::session, "invitation");
    world.lobby->stop();
    world.open_slurm();
    world.until([&] {
        std::lock_guard lock(world.slurm->mutex);
        return world.slurm->configurations == 1;
    });
    for (int i = 0; i < 100; ++i) // longer than it looks again
        run_until(*world.loop, [] { return true; });
    assert_false(session->has_value());
}

void a_session_is_there_with_an_allocation_alone(void **) {
    World world;
    world.start();
    assert_true(world.reached(world.reach(CentralRole::session, "x")).failure().kind == ErrorKind::unsupported);
    world.enter("7", false);
    assert_true(world.reached(world.reach(CentralRole::session, "x")).failure().kind == ErrorKind::not_found);
    world.enter("seven");
    assert_true(world.reached(world.reach(CentralRole::session, "x")).failure().kind == ErrorKind::not_found);
    world.has_session("");
    world.enter("7");
    assert_true(world.reached(world.reach(CentralRole::session, "x")).ok());
    assert_true(world.sessions->sent == (std::vector<std::pair<std::string, std::string>>{{"n3", "x"}}));
    assert_true(world.lines_of("sruns").empty()); // it was there
}

void a_slurmctld_that_answers_late_is_waited_for(void **) {
    World world;
    world.hang();
    world.start();
    world.has_session("");
    world.enter("7");
    assert_true(world.reached(world.reach(CentralRole::session, "x", 10ms)).failure().kind == ErrorKind::timeout);
    auto session = world.reach(CentralRole::session, "y");
    world.open_slurm();
    assert_true(world.reached(session).ok());
}

void a_slurmctld_that_was_away_is_asked_again(void **) {
    World world;
    world.log.set_level(static_cast<LogLevel>(-1)); // it is to complain
    world.set_away(true);
    world.start();
    world.has_session("");
    world.enter("7");
    world.until([&] {
        std::lock_guard lock(world.slurm->mutex);
        return world.slurm->configurations == 1;
    });
    auto session = world.reach(CentralRole::session, "x");
    world.set_away(false);
    assert_true(world.reached(session).ok());
    assert_true(world.slurm->configurations <= 4); // not as often as it looks
}

void each_allocation_has_one_srun_for_its_session(void **) {
    World world;
    world.start();
    std::vector<World::Reached> all;
    for (const char *name : {"7", "7", "8", "7"}) {
        world.enter(name);
        all.push_back(world.reach(CentralRole::session, name));
    }
    world.until([&] { return world.lines_of("sruns").size() == 2; });
    world.has_session("");
    for (const auto &each : all)
        assert_true(world.reached(each).ok());
    auto sruns = world.lines_of("sruns");
    assert_true((std::set<std::string>(sruns.begin(), sruns.end()) == std::set<std::string>{"7", "8"}));
    assert_int_equal(world.sessions->sent.size(), 4);
}

// What somebody has set for the sruns of jobs would put the session into a container, or its end before theirs.
void the_sessions_srun_is_without_options_for_those_of_jobs(void **) {
    for (const char *name : {"SLURM_CONTAINER", "SRUN_CONTAINER", "SLURM_TIMELIMIT", "TEST_KEPT"})
        ::setenv(name, "/x", 1);
    World world;
    world.start();
    world.make_script("srun", "env >\"$here/environment.new\"; mv \"$here/environment.new\" \"$here/environment\"");
    world.enter("7");
    world.reach(CentralRole::session, "7");
    world.until([&] { return !world.lines_of("environment").empty(); });
    auto variables = world.lines_of("environment");
    auto has = [&](const char *variable) {
        return std::find(variables.begin(), variables.end(), variable) != variables.end();
    };
    for (const char *variable : {"SLURM_CONTAINER=/x", "SRUN_CONTAINER=/x", "SLURM_TIMELIMIT=/x"})
        assert_false(has(variable));
    assert_true(has("TEST_KEPT=/x"));
    for (const char *name : {"SLURM_CONTAINER", "SRUN_CONTAINER", "SLURM_TIMELIMIT", "TEST_KEPT"})
        ::unsetenv(name);
}

// It was refused by Slurm, perhaps: whoever needs the session next tries again.
void an_srun_that_has_ended_makes_room_for_another(void **) {
    World world;
    world.make_script("srun", "echo 7 >>\"$here/sruns\"");
    world.start();
    world.enter("7");
    auto first = world.reach(CentralRole::session, "x");
    world.until([&] { return world.lines_of("sruns").size() == 1; });
    pid_t pid = std::atoi(world.lines_of("srun-pids").at(0).c_str());
    world.until([&] { return ::kill(pid, 0) != 0; });
    auto second = world.reach(CentralRole::session, "y");
    world.until([&] { return world.lines_of("sruns").size() == 2; });
    world.has_session("");
    assert_true(world.reached(first).ok() && world.reached(second).ok());
}

void a_session_that_does_not_come_is_given_up_in_time(void **) {
    World world;
    world.start();
    world.enter("7");
    auto session = world.reach(CentralRole::session, "x", 300ms);
    assert_false(world.reached(session).ok());
    world.settings.of_plugins["slurm.srun"] = world.directory + "/nowhere";
    world.enter("8");
    auto none = world.reached(world.reach(CentralRole::session, "x"));
    assert_non_null(std::strstr(none.failure().text.c_str(), "cannot run"));
}

void the_launcher_is_one_process_and_the_next_one_follows_it(void **) {
    World world;
    world.start();
    assert_true(world.reached(world.reach(CentralRole::launcher, "first")).ok());
    assert_true(world.reached(world.reach(CentralRole::launcher, "second")).ok());
    const std::string both("\0\0\0\5first\0\0\0\6second", 19);
    world.until([&] {
        std::ifstream in(world.directory + "/invitations");
        std::stringstream text;
        text << in.rdbuf();
        return text.str() == both;
    });
    auto launchers = world.lines_of("launchers");
    assert_int_equal(launchers.size(), 1);
    pid_t pid = std::atoi(launchers[0].c_str());
    assert_int_equal(::kill(pid, SIGKILL), 0);
    world.until([&] { return ::kill(pid, 0) != 0; });
    assert_true(world.reached(world.reach(CentralRole::launcher, "third")).failure().kind == ErrorKind::unreachable);
    assert_true(world.reached(world.reach(CentralRole::launcher, "fourth")).ok());
    world.until([&] { return world.lines_of("launchers").size() == 2; });
}

void the_launcher_goes_with_the_lobby(void **) {
    World world;
    world.start();
    assert_true(world.reached(world.reach(CentralRole::launcher, "first")).ok());
    world.until([&] { return world.lines_of("launchers").size() == 1; });
    pid_t pid = std::atoi(world.lines_of("launchers")[0].c_str());
    world.lobby->stop();
    world.until([&] { return ::kill(pid, 0) != 0; });
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_document_without_a_desk_makes_no_lobby),
        cmocka_unit_test(the_desk_brings_contacts_and_hears_the_user_s_notes),
        cmocka_unit_test(a_desk_that_does_not_read_holds_up_nobody),
        cmocka_unit_test(an_allocation_is_the_user_s_and_has_begun),
        cmocka_unit_test(a_slurmctld_that_hangs_is_not_waited_for),
        cmocka_unit_test(an_allocation_is_asked_for_and_released_by_name),
        cmocka_unit_test(who_leaves_takes_back_what_waits_in_the_queue),
        cmocka_unit_test(who_leaves_while_slurm_hangs_hears_nothing_more),
        cmocka_unit_test(a_session_is_there_with_an_allocation_alone),
        cmocka_unit_test(a_slurmctld_that_answers_late_is_waited_for),
        cmocka_unit_test(a_slurmctld_that_was_away_is_asked_again),
        cmocka_unit_test(each_allocation_has_one_srun_for_its_session),
        cmocka_unit_test(the_sessions_srun_is_without_options_for_those_of_jobs),
        cmocka_unit_test(an_srun_that_has_ended_makes_room_for_another),
        cmocka_unit_test(a_session_that_does_not_come_is_given_up_in_time),
        cmocka_unit_test(the_launcher_is_one_process_and_the_next_one_follows_it),
        cmocka_unit_test(the_launcher_goes_with_the_lobby),
    };
    return cmocka_run_group_tests_name("a lobby under Slurm", tests, nullptr, nullptr);
}
