// The contract between pmixhostd and a resource manager (RM).
//
// A backend is a module (backend_<name>.so, found as backend_loader.h says) that pmixhostd loads by name. The common
// denominator is small: one daemon per host, each with connections of its own, and a way to hand a short contact
// message to another daemon of the step, and to end the step. Everything else is a facet: an interface of its own in
// a header beside this one, which RmBackend gives a pointer to, or null. The services answer "not supported" for what
// is null, and the query interface does not list it. The table of all facets is facets.h; how to write a backend:
// contrib/doc/new-backend.md.
//
// All calls and all callbacks happen in the event-loop thread, and none may block; work that blocks goes to a thread
// of the backend's own, which posts its result to the loop. Every callback that is handed over is called exactly
// once.
#pragma once

#include "common/base/log.h"
#include "common/config/settings.h"
#include "common/job/job_map.h"
#include "common/job/process_set.h"
#include "common/job/told_ends.h"
#include "common/loop/event_loop.h"
#include "common/process/program_look.h"
#include "common/rendezvous/server_names.h"
#include "common/start/exec_words.h"
#include "common/start/start_document.h"
#include "common/transport/link_faults.h"
#include "server-glue/core/task_descriptors.h"
#include "server-glue/rm/facets.h"
#include "server-glue/rm/invitation_stream.h"
#include "server-glue/rm/job_starter.h"

#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

// What is known of a step when its daemon starts. Made by the backend from the start document.
struct StepInfo {
    std::string nspace; // PMIx namespace, at most PMIX_MAX_NSLEN bytes
    // Of its daemons; the host's index is the rank.
    std::string server_nspace() const { return server_nspace_of(nspace); }
    std::string job_id;                       // PMIX_JOBID: what the RM's users call the job or step ("12.0")
    std::uint32_t session_id = 0;             // PMIX_SESSION_ID: the allocation
    std::uint32_t number = 0;                 // of the step in its allocation; below 2^24
    std::vector<std::string> allocated_hosts; // PMIX_ALLOCATED_NODELIST; empty: the step's hosts
    std::uint32_t universe_size = 0;          // PMIX_UNIV_SIZE: slots in the allocation; 0: no limit is known
    JobMap map;
    HostIndex self = 0;                   // this daemon's host
    std::vector<App> apps;                // at least one
    std::vector<ProcessSet> process_sets; // with those of the programs; names are distinct
    std::string mapping_policy;           // PMIX_MAPBY, in PMIx' words; empty: unknown
    std::string ranking_policy;           // PMIX_RANKBY
    std::string binding_policy;           // PMIX_BINDTO; empty: unknown
    std::string session_directory;        // PMIX_TMPDIR: scratch of the RM for the session; may be empty
    std::string topology_file;            // of this host: common/process/topology_file.h; may be empty, or not there
    PmixUse pmix_use = PmixUse::may_come; // by its programs
    bool launcher_file = false;           // a tool that has started the launcher waits for where this job is
    bool tells_launch = false;            // who has started the launcher is told of the launch (spawned_step.h)
    ToldEnds tells_ends = ToldEnds::none; // likewise, then, of the ends of processes
    std::vector<LinkFault> link_faults;   // for tests: what links of this host shall suffer
    struct Parent {
        std::string nspace;
        Rank rank = 0;
        bool shares_fate = false;  // see shared_fate.h
        std::string stops;         // for debuggers: common/job/debug_stops.h
        std::uint8_t forwards = 0; // standard streams that the parent handles (iof/), as bits of pmix_iof_channel_t
        HostIndex host = 0;        // the one of the parent's job by which it does
        std::string debugs;        // the namespace that the step's processes, debugger daemons, debug; empty: none
        Rank debugged_rank = 0;    // or PMIX_RANK_WILDCARD
        std::uint8_t tells = 0;    // what it is to hear of: ParentWord::tells
        std::uint32_t held_bytes = 0, held_seconds = 0; // of a forwarded stream: ParentWord::held_bytes
    };
    std::optional<Parent> parent; // the process that called PMIx_Spawn for this step
    // Binds the daemons of a step to each other: what all of them must name in the handshake.
    std::string step_key; // cluster-wide unique name of this step
    // The secret by which they authenticate each other; empty: they do so with munge. It came with the start
    // document, and only the step's daemons and what started them know it.
    std::string shared_secret;
    // It has no processes: it serves a tool of somebody who has no job, that may start some (spawn_places.h).
    bool is_lobby = false;
    // For the user, when another job or what it has published is not found: why jobs that PMIx_Spawn has not started
    // from one another do not find each other here. Empty: they do.
    std::string relatives_only;
};

// Why a step is to be ended, for the RM and for the user.
struct StepEnd {
    int exit_status = 1; // what the launcher should report (0..255)
    std::string text;    // one line for the user
};

class RmAllocations;
class RmJobRecord;
class RmQuestions;
class RmRoles;
class RmSpawnedStep;
class RmSpawnPlaces;
class RmStepOutput;
class RmUserNotes;

// What the daemon hears from the backend. None of these blocks.
class BackendListener {
  public:
    virtual ~BackendListener() = default;
    // A contact message of another daemon of this step, or session_call. The RM need not vouch for its sender,
    // because the handshake authenticates in any case.
    virtual void on_contact(std::string message) = 0;
    // The backend can no longer serve (the RM side went away): the daemon ends.
    virtual void on_rm_gone(std::string why) = 0;
    // Only from a backend that starts the tasks itself (without a door_fd in the start document): the environment
    // for `rank` is wanted now, from PMIx_server_setup_fork. The answer comes through `done` (in the loop's thread).
    virtual void want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) = 0;
    // A task was started (pid) or has ended (wait status). Only from such a backend; otherwise the
    // daemon finds out itself, through the task door.
    virtual void on_task_started(Rank rank, pid_t pid) = 0;
    virtual void on_task_ended(Rank rank, int wait_status) = 0;
    // Only from such a backend. Does the daemon stand between the tasks' standard streams and where these lead
    // (io.capture)? Then each task gets pipes in their place, and before it is started the daemon is given, of each
    // stream, the pipe's other end and what the task would have had; nothing where the task keeps it.
    virtual bool wants_streams() const = 0;
    virtual void take_streams(Rank rank, TaskDescriptors streams) = 0;
    // From such a backend, in a step with StepInfo::parent: what a task said on PMIXHOST_TASK_FD
    // (common/start/task_spec.h) until it closed.
    virtual void on_exec_report(Rank rank, ExecWords words) = 0;
    // The daemon of that host has ended in order; a contact message did not find it.
    virtual void on_daemon_left(HostIndex host) = 0;
};

class RmBackend {
  public:
    virtual ~RmBackend() = default;

    virtual const StepInfo &step() const = 0;

    // Called once, after the server library is up and before any other call below. Until then a backend has no thread,
    // because the daemon changes its environment.
    virtual Result<void> start(BackendListener &listener) = 0;

    // Hands `message` (at most 4 KiB) to the daemon on `host`, which may not be up yet: the
    // backend retries until `deadline`. With `has_begun` it is known to have been up, and nobody there means
    // that it has left: not_found at once, or BackendListener::on_daemon_left after a success.
    // Errors: unreachable, timeout, not_found.
    virtual void send_contact(HostIndex host, std::string message, bool has_begun, TimePoint deadline,
                              std::function<void(Result<void>)> done) = 0;

    // Ends the whole step, with the RM's own means, so that the launcher reports `end`. May be
    // called more than once, also on several hosts at once: the first report counts. Errors: unreachable and timeout
    // where the RM is away for the moment (the supervisor asks again after these alone, for a minute at most; a
    // daemon's own order the backend repeats itself); any other is for good.
    virtual void end_step(StepEnd end, std::function<void(Result<void>)> done) = 0;

    // The daemon will exit; nothing is called after this. Does not wait for an RM that does not answer,
    // unless it is asked to end something.
    virtual void stop() = 0;

    // The facets; null: this RM has none. Always the same answer, also before start(); what they point to lives as
    // long as the backend.
    virtual RmQuestions *questions() { return nullptr; }
    virtual RmAllocations *allocations() { return nullptr; }
    virtual RmJobRecord *job_record() { return nullptr; }
    virtual RmUserNotes *user_notes() { return nullptr; }
    virtual RmRoles *roles() { return nullptr; }
    virtual RmSpawnedStep *spawned_step() { return nullptr; }
    virtual RmStepOutput *step_output() { return nullptr; }
    // Only in a lobby (StepInfo::is_lobby), and always there.
    virtual RmSpawnPlaces *spawn_places() { return nullptr; }
};

// The module's only export: `extern "C" const BackendModule pmixhost_backend`.
struct BackendContext {
    EventLoop &loop;
    Log &log;
    const StartDocument &document; // these two live as long as the backend
    const Settings &settings;
};
struct BackendModule {
    static constexpr std::uint32_t current_abi = 19;
    std::uint32_t abi; // must equal current_abi, checked before anything else is touched
    const char *name;
    Facets facets; // of each backend that create() makes; those of the module itself follow
    // Fails where the start document lacks or garbles something; the text names it.
    Result<std::unique_ptr<RmBackend>> (*create)(BackendContext context);
    // Says where the session of an allocation gets its invitations when it was not started with a stream of them;
    // null: it can only be started with one. Fails (exists) when this allocation has a session already.
    Result<std::unique_ptr<InvitationSource>> (*session_invitations)(BackendContext context,
                                                                     std::function<void(std::string)> on_invitation);
    // For the launcher; null: this RM starts no jobs. Called in a thread, since it may wait for the RM;
    // what it is given lives as long as the call.
    // `allocation`: where jobs are started, as the RM's users call it; empty: where the launcher's own job is.
    Result<std::unique_ptr<JobStarter>> (*create_starter)(const StartDocument &document, const Settings &settings,
                                                          const std::string &allocation);
    // Brings `message` (at most 4 KiB) to one daemon of the caller's running step that the RM's users call `step`, as
    // ("12.0"), or, where that job has only one, by the job's name ("12"), or by its namespace; null: this RM has no
    // such way. Called in a thread, on a host that need not be one of the job; may wait for the RM. Errors: not_found
    // (no such step runs), unsupported (no daemon of this user serves it), limit (several steps: the text names them),
    // unreachable.
    Result<void> (*call_step)(const Settings &settings, const std::string &step, const std::string &message);
    // The caller's running steps on all hosts, by names that call_step takes ("12.0"), in order, whether a pmixhost
    // serves them or not; without those that are pmixhost's own, and what is no parallel program. Null: this RM has no
    // such list. Called on a host that need not be one of a job; may wait for the RM. Fails (unreachable).
    Result<std::vector<std::string>> (*own_steps)();
    // Whose job that is, in the words of call_step; null: this RM does not say. Called as own_steps. Fails (invalid,
    // not_found, unreachable).
    Result<uid_t> (*owner_of)(const std::string &job);
    // Makes the backend of a lobby (StepInfo::is_lobby), with spawn_places(), and of `facets` what makes sense there;
    // null: this RM has none. The document has `lobby.fd` (SOCK_SEQPACKET): who has started the daemon is at the other
    // end, brings contact messages, and hears lines for the user; the daemon leaves when that end closes.
    Result<std::unique_ptr<RmBackend>> (*create_lobby)(BackendContext context);
    // Gives back an allocation of the caller's, with all that runs in it. One that is over is given back. Called in a
    // thread; may wait for the RM. Null where create_lobby is. Fails (denied, unreachable).
    Result<void> (*give_back)(const std::string &allocation);
};

} // namespace pmixhost
