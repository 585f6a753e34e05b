// The launcher (central_roles.h): the pmixhostd beside srun or `pmixhost run` that starts a job for each PMIx_Spawn
// of their step, as the same user at the same place would, so that the children's output, Ctrl-C and accounting are
// the RM's own.
//
// A request becomes a plan (spawn/plan_spawn.h), a command (job_starter.h) and a process (child_job.h), and is
// answered when the process has said that every program runs, or that it will not, or when the time is over. When the
// step ends normally, the children go on, and the launcher with them. They are ended (SIGTERM to their commands) when
// a host of the step was lost that is not to live on without it, a task ended badly, or whoever started the launcher
// says so or has gone; and one that was not launched as a whole, when its own host's daemon has not ended it, or that
// a tool has asked for that goes, or whose server leaves, before it has the answer. A command that does not end is
// killed two minutes later: an RM that does not answer it may keep it for ever, and with it who waits for this process.
//
// The launcher of a lobby (StepInfo::is_lobby) starts jobs in allocations that the requests name, and gives those back
// that were asked for one of these jobs (spawn/allocation_places.h): it outlives the lobby, and a lobby that is killed.
//
// All runs in the loop's thread.
#pragma once

#include "common/base/line_writer.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/spawn_messages.h"
#include "server-glue/core/message_takers.h"
#include "server-glue/daemon/central_server.h"
#include "server-glue/spawn/allocation_places.h"
#include "server-glue/spawn/child_job.h"

#include <map>
#include <set>

namespace pmixhost {

class LauncherServer {
  public:
    struct Patience {
        Duration failed = std::chrono::seconds(10); // for a job to end whose launch has failed
        Duration end = std::chrono::minutes(2);     // for one that was told to end
    };
    // `on_end` is called once, when the step is over and so are its children, and the allocations are given back.
    LauncherServer(EventLoop &loop, Log &log, const Settings &settings, AllocationPlaces::Calls calls,
                   CentralServer::Authenticators authenticators, std::function<void()> on_end, Patience patience);
    LauncherServer(EventLoop &loop, Log &log, const Settings &settings, AllocationPlaces::Calls calls,
                   CentralServer::Authenticators authenticators, std::function<void()> on_end)
        : LauncherServer(loop, log, settings, std::move(calls), std::move(authenticators), std::move(on_end),
                         Patience{}) {}

    // Takes an invitation of the step; an empty message orders the end of all children.
    void on_invitation(const std::string &message);
    // The step is over: no requests come any more.
    void on_step_over();
    // `why` is for the log.
    void end_children(const std::string &why);

  private:
    // Who has asked: a host of a step. Not by its connection, which may be lost and come again; so a step that invites
    // with another's name has a say over that one's jobs. It is the same user's (transport/invitation.h). What ends
    // while there is no connection the step's host finds out by itself (spawn/lost_children.h).
    struct Spawner {
        Bytes nspace;
        HostIndex host = 0;
        bool operator==(const Spawner &) const = default;
    };
    struct Child {
        std::unique_ptr<ChildJob> job;
        std::shared_ptr<JobStarter> starter;
        std::string allocation;
        Spawner of;
        std::uint64_t id = 0;                  // of the request
        std::string nspace;                    // once it is known
        std::shared_ptr<const SpawnPlan> plan; // until it is answered
        bool answered = false, ran = false;
        bool ending = false;                       // it was told to end
        bool drops_early_signals = false;          // as in JobCommand
        bool told_start = false;                   // that the first process runs
        bool tell_start = false, tell_end = false; // as in SpawnPlan
        bool silent_end = false;
        bool logs_start = false, logs_end = false;
        std::chrono::seconds job_timeout{0};
        EventLoop::Handle kill_timer; // once it was told to end
        EventLoop::Handle timer; // until it runs, then until its time is over; or until it ends, where it does not run
    };
    // A request that came before there was a starter.
    struct Early {
        Spawner from;
        wire::SpawnRequest request;
        TimePoint since;
    };
    void take_messages();
    void drop_early(); // the step is ending
    void end_child(const Bytes &parent, const Bytes &nspace);
    void end(std::uint64_t number, Child &child);
    void cancel(const Spawner &from, std::uint64_t id, const std::string &why);
    void host_lost(const Spawner &lost);
    void on_request(const Spawner &from, wire::SpawnRequest request);
    void refuse(const Spawner &from, const wire::SpawnRequest &request, int status, const std::string &reason);
    // `starter`: of the place, which a request that is refused leaves; null where the step is ending.
    void start(const Spawner &from, wire::SpawnRequest request, std::shared_ptr<JobStarter> starter);
    // False: it is refused.
    bool begin(const Spawner &from, wire::SpawnRequest request, std::shared_ptr<JobStarter> starter);
    void on_event(std::uint64_t child, SpawnEvent event);
    void on_end(std::uint64_t child, int wait_status, const std::string &said);
    void tell_start(Child &child); // once
    void tell(const Child &child, std::uint8_t what, int wait_status = 0);
    void answer(std::uint64_t number, Child &child, int status, const std::string &reason);
    void limit_time(std::uint64_t number, Child &child);
    void end_failed(std::uint64_t number, Child &child); // in a moment
    wire::NamespaceInfo describe(const Child &child) const;
    void reply(const Spawner &to, std::uint64_t id, int status, const std::string &nspace, const std::string &reason,
               wire::NamespaceInfo info = {});
    void send(const Spawner &to, std::uint8_t type, SharedBytes payload); // unless it is not here
    // On the user's terminal, which may take no more for now: nobody waits for it.
    void tell_user(const std::string &text);
    void end_if_done();

    EventLoop &loop_;
    Log &log_;
    LineWriter terminal_;
    const Settings &settings_;
    const Patience patience_;
    std::function<void()> on_end_;
    MessageTakers<const Spawner &> messages_;
    CentralServer peers_;
    std::map<std::uint64_t, Child> children_;
    std::uint64_t next_child_ = 1;
    std::map<std::uint64_t, Early> early_;
    std::uint64_t next_early_ = 1;
    bool step_over_ = false, ending_ = false;
    std::set<Bytes> living_on_; // namespaces whose hosts go on without one that is lost (SpawnRequest::lives_on)
    AllocationPlaces places_;
};

} // namespace pmixhost
