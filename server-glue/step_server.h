// The server of one step on one host: wires libpmix' upcalls, the RM backend, the mesh of daemons
// and the services together. All in the event loop's thread; whoever waits for something here has a
// deadline.
#pragma once

#include "common/deadline_timer.h"
#include "common/settings.h"
#include "common/slow_calls.h"
#include "common/status_page.h"
#include "common/transport/mesh.h"
#include "server-glue/allocation_service.h"
#include "server-glue/collective.h"
#include "server-glue/control_abroad.h"
#include "server-glue/core/host_port.h"
#include "server-glue/credential_service.h"
#include "server-glue/daemon/own_evidence.h"
#include "server-glue/event_service.h"
#include "server-glue/foreign_jobs.h"
#include "server-glue/group_invitations.h"
#include "server-glue/group_parts.h"
#include "server-glue/group_registry.h"
#include "server-glue/job_control.h"
#include "server-glue/library/library_watch.h"
#include "server-glue/local_tasks.h"
#include "server-glue/modex.h"
#include "server-glue/posted_heirs.h"
#include "server-glue/namespace_asks.h"
#include "server-glue/private_directory.h"
#include "server-glue/process_sets.h"
#include "server-glue/publish_service.h"
#include "server-glue/query_service.h"
#include "server-glue/shared_fate.h"
#include "server-glue/time_warning.h"
#include "server-glue/recent_names.h"
#include "server-glue/upcalls.h"

#include <array>

namespace pmixhost {

class StepServer final : private UpcallHandler,
                         private BackendListener,
                         private HostPort,
                         private CollectivePort,
                         private ModexPort,
                         private JobControlPort,
                         private ControlAbroadPort,
                         private PublishPort,
                         private EventPort,
                         private ProcessSetPort,
                         private ProcessTablePort,
                         private QueryPort,
                         private AllocationPort,
                         private TimeWarningPort {
  public:
    struct Start {
        EventLoop &loop;
        Log &log;
        const Settings &settings;
        RmBackend &backend;
        StatusPage *page; // may be null
        TaskTable *table; // may be null
        UniqueFd door;    // may be empty, when the backend starts the tasks
        bool live_on;     // the job goes on when it loses processes or hosts
        std::string directory; // to make; empty: a fresh name in settings.directory_base
        EvidencePlace evidence; // should the library hang
    };
    // Begins everything; on_end is called once, when the daemon has nothing more to do (a failure:
    // with its text, which is in the status page already).
    static Result<std::unique_ptr<StepServer>> create(Start start,
                                                      std::function<void(Result<void>)> on_end);
    ~StepServer();
    // The supervisor has ended, which nobody but an RM that ends everything should have done: if tasks
    // still run a moment later, the step is ended with a line that says so.
    void on_supervisor_gone();
    // The end of the process is near: takes back what others can see (directory, RM's sockets).
    void leave();

  private:
    StepServer(Start start, std::unique_ptr<LibraryThread> library_thread, PrivateDirectory directory,
               std::function<void(Result<void>)> on_end);

    // UpcallHandler
    void client_connected(ClientEvent event) override;
    void client_finalized(ClientEvent event) override;
    void abort(AbortRequest request) override;
    void fence(FenceRequest request) override;
    void connect(ConnectRequest request) override;
    void group(GroupAsk request) override;
    void direct_modex(ModexAsk request) override;
    void publish(PublishAsk request) override;
    void lookup(LookupAsk request) override;
    void unpublish(UnpublishAsk request) override;
    void spawn(SpawnAsk request) override;
    void job_control(JobControlAsk request) override;
    void record(const std::string &text, std::function<void(pmix_status_t)> done);
    void mail(std::shared_ptr<const Mail> letter, std::function<void(pmix_status_t)> done);
    void log(LogAsk request) override;
    void query(QueryAsk request) override;
    void allocate(AllocationAsk request) override;
    void get_credential(CredentialAsk request) override { credentials_.get(std::move(request)); }
    void validate_credential(ValidationAsk request) override {
        credentials_.validate(std::move(request));
    }
    void notify(NotifyAsk request) override;
    // BackendListener
    void on_contact(std::string message) override {
        if (message == session_call)
            return come_to_session();
        mesh_->on_contact(message);
    }
    void on_rm_gone(std::string why) override;
    void want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) override;
    void on_task_started(Rank rank, pid_t pid) override { tasks_.started(rank, pid); }
    void on_task_ended(Rank rank, int wait_status) override { tasks_.ended(rank, wait_status); }
    void on_daemon_left(HostIndex host) override { mesh_->left(host); }
    void on_task_parted(Rank rank, std::string said, UniqueFd task) override {
        tasks_.parted(rank, said, std::move(task));
    }
    // JobControlPort
    bool signal_local(Rank rank, int signal) override;
    void end_job(std::string why, StatusReply reply) override;
    void notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) override;
    // ControlAbroadPort
    bool has_ended(const Bytes &nspace) const override { return ended_children_.contains(nspace); }
    std::vector<Bytes> children() const override { return {children_.begin(), children_.end()}; }
    // HostPort
    bool send_to_session(std::uint8_t type, SharedBytes payload) override;
    bool session_is_there() override { return mesh_->connected(session_peer()); }
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    bool host_gone(HostIndex host) override { return mesh_->gone(host); }
    std::size_t queued_bytes(HostIndex to) override { return mesh_->queued_bytes(to); }
    // Of a process that was never one of PMIx nobody needs to hear.
    bool connected(HostIndex host) override {
        return mesh_->connected(host) || (tasks_.any_finalized() && mesh_->connecting(host));
    }
    // PublishPort, CollectivePort, ModexPort and EventPort
    Owner owner_of(Rank rank) override;
    Result<std::vector<HostIndex>> hosts_of(const Signature &signature) override;
    bool local_member_gone(const Signature &signature) override;
    void event_lost(HostIndex to) override;
    std::optional<Bytes> part_of_the_dead(const Signature &signature) override;
    bool spans_outside(const Signature &signature) override;
    void join_outside(const Bytes &key, std::uint64_t sequence,
                      const std::vector<wire::Contribution> &contributions) override;
    void leave_outside(const Bytes &key, std::uint64_t sequence, std::int32_t status) override;
    void ask_library(std::uint64_t token, const Bytes &nspace, Rank rank, Wait wait) override;
    HostIndex host_of(const Bytes &nspace, Rank rank) override;
    HostIndex holder_of(const Bytes &nspace, Rank rank) override;
    Kept kept(const Bytes &nspace, Rank rank) override;
    bool local_process_gone(const Bytes &nspace, Rank rank) override;
    void deliver(const wire::EventNotice &notice) override;
    void deliver(const wire::HostReport &report) override;
    void deliver(const wire::OrderlyEnds &ends) override;
    void send_abroad(wire::EventAbroad event) override;
    void report_abroad(const wire::HostReport &report);
    void on_child_ended(const wire::JobEvent &job);
    // Ends of processes and jobs that this one may share the fate of.
    void learn_kin(const wire::NamespaceInfo &info);
    void note_fate(const wire::EventNotice &notice);
    void note_fate(const wire::HostReport &report);
    void share_fate();
    void tell_session_of(const wire::HostReport &report);
    void tell_session_of(const wire::OrderlyEnds &ends);
    void tell_session_of(Rank ended);
    void tell_session_of_ends();
    void on_session_lost();
    void reach_central(CentralRole role, Bytes invitation, TimePoint deadline,
                       std::function<void(Result<void>)> done);
    void on_job_event(const wire::JobEvent &message);
    // So that it brings what other steps notify.
    void come_to_session();
    // ProcessSetPort
    void define_set(const std::string &name, const Bytes &nspace,
                    const std::vector<Rank> &ranks) override;
    void delete_set(const std::string &name) override;
    void name_taken(const std::string &name, const Bytes &nspace) override;
    // ProcessTablePort and QueryPort
    std::vector<ProcessEntry> local_processes() override;
    const StepInfo &step() const override { return step_; }
    const ProcessSets &process_sets() const override { return sets_; }
    const GroupRegistry &groups() const override { return groups_; }
    std::vector<Bytes> other_namespaces() const override { return foreign_.names(); }
    std::vector<ProcessEntry> local_table() override { return table_.local(); }
    void gather_table(Duration timeout, ProcessTable::Done done) override;
    std::int32_t first_bad_end() const override { return table_.first_bad_end(); }
    void ask_rm(RmQuestion question, TimePoint deadline,
                std::function<void(Result<RmAnswer>)> done) override;
    void unanswered(const std::string &key, pmix_status_t status, const std::string &why) override;
    // TimeWarningPort
    void ask_time_left(std::function<void(Result<std::uint32_t>)> done) override;
    void warn_of_time(std::uint32_t seconds_left) override;
    TimePoint time_now() const override { return loop_.now(); }

    // AllocationPort
    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done) override;
    void abandon_allocation(std::uint64_t id) override;
    void refused(const Process &caller, pmix_status_t status, const std::string &why) override;

    void begin();
    void start_library();
    void on_library(Result<std::unique_ptr<PmixLibrary>> library);
    void on_library_stuck(const std::string &why);
    // A collective in which this host's processes take part; `reply` gets what the others brought.
    void enter(const Signature &signature, Bytes data, pmix_status_t refused, pmix_status_t local_status,
               std::optional<std::chrono::milliseconds> timeout, DataReply reply);
    void on_gathering_done(wire::GatheringDone message);
    void on_foreign_modex(const wire::ModexRequest &message);
    void on_namespace_request(const wire::NamespaceRequest &message);
    // Of a namespace that the library knows.
    void read_posted(ModexAsk request, TimePoint deadline);
    // The answer is the status; the library keeps no wrong idea of the namespace.
    void refuse_modex(ModexAsk request, pmix_status_t status);
    void on_spawned(wire::SpawnReply message);
    // Learns the namespaces among the parts, then answers. `abroad`: of one over several namespaces; may be null.
    void complete_with(CollectiveKind kind, const Signature *abroad, Contributions contributions, DataReply reply);
    // `then` gets what the participants of this host have posted: wire::PostedData, one behind the other.
    void collect_posted(const Signature &signature, std::function<void(Bytes)> then);
    // When the answer to a connect or group must be out that libpmix gives up after `timeout` (0: never).
    static std::chrono::milliseconds before_the_library(std::chrono::seconds timeout);
    // Where its processes are bound to, as far as they are told.
    std::map<Rank, std::string> remember_posted(const wire::NamespacePart &part);
    void enter_group(std::shared_ptr<GroupAsk> ask, const Signature &signature, Bytes posted);
    wire::GroupPart group_part(const Signature &signature);
    void group_done(GroupAsk &ask, const Signature &signature, const Bytes &parts);
    // An event between processes that may be about a group.
    void hear_of_group(pmix_status_t code, Process source, const InfoList &info);
    // Members of groups that want to know, or of one that is being built by invitation, have ended.
    void tell_of_failed(const wire::HostReport &report);
    void tell_of_invited(const std::vector<Rank> &ended);
    void tell_of_ranks(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                       const std::vector<Rank> &ranks);
    template <typename Members> std::vector<pmix_proc_t> members_here(const Members &members);
    void tell_members(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                      const Process &source, std::shared_ptr<InfoList> info, std::size_t processes);
    void send_contact(HostIndex host, Bytes message, TimePoint deadline,
                      std::function<void(Result<void>)> done);
    TimePoint session_start_time();
    void on_session_message(std::uint8_t type, const Bytes &payload);
    void on_launcher_message(std::uint8_t type, const Bytes &payload);
    void on_launched();
    void on_launch_failed(const TaskStartFailure &failure, UniqueFd task);
    HostIndex session_peer() const { return peer_of(CentralRole::session, step_.map.host_count()); }
    HostIndex launcher_peer() const { return peer_of(CentralRole::launcher, step_.map.host_count()); }
    void on_message(HostIndex from, std::uint8_t type, Bytes payload);
    void on_host_gone(HostIndex host, Mesh::Gone how, const Error &why);
    void on_task_gone(Rank rank, std::optional<int> wait_status);
    void note_end(Rank rank, std::optional<int> wait_status);
    void report_ends();
    void note_orderly_end(Rank rank, bool certain);
    void report_orderly_ends_soon();
    void report_orderly_ends();
    void tell_of_terminated();
    void tell_of_terminated(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                            PmixLibrary::Done done);
    // To the library: now, or when it has started. Drops, with a line in the log, what would be too
    // much for it.
    void to_library(std::size_t bytes, std::function<void(PmixLibrary::Done)> notify);
    void watch_events();
    bool local_member_ending(const Signature &signature);
    void kill_ranks(const wire::KillRanks &message);
    void abort_some(AbortRequest &request, const std::vector<Rank> &ranks);
    void note_declaration(JobControlAsk &request);
    // What the processes of this host have posted, and the others do not have, goes to its heir; then `then`.
    void hand_over(std::function<void()> then);
    void ask_heir();
    void finish_handing_over();
    void on_posted_by_ended(HostIndex from, const wire::PostedByEnded &message);
    void on_posted_kept(HostIndex from, bool kept);
    // A fence of the whole job is over, and with it the time when a daemon might not have begun.
    void on_fence_of_all(std::shared_ptr<const PostedDigests> collected);
    std::shared_ptr<const PostedDigests> digest_posted();
    void arm_timer();
    void on_time();
    void end(Result<void> result);
    void finish_end(Result<void> result);
    // Calls `then` when the mesh has nothing queued, or at `limit`.
    void when_sent(TimePoint limit, EventLoop::Handle &timer, std::function<void()> then);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    RmBackend &backend_;
    const StepInfo &step_;
    StatusPage *page_;
    std::function<void(Result<void>)> on_end_;
    bool live_on_;
    UniqueFd door_;
    PrivateDirectory directory_;
    std::unique_ptr<LibraryThread> library_thread_; // early: what follows may hold answers

    std::unique_ptr<Mesh> mesh_;
    LocalTasks tasks_;
    Collectives collectives_;
    Modex modex_;
    PostedHeirs heirs_;
    bool all_have_begun_ = false;   // every daemon of the step
    std::shared_ptr<const PostedDigests> posted_everywhere_; // by the last fence that collected; may be null
    bool handing_over_ = false; // or it is done: nothing of others is kept any more
    SharedBytes last_will_;     // an encoded PostedByEnded
    HostIndex asked_heir_ = no_host;
    unsigned heirs_asked_ = 0;
    std::function<void()> stop_handing_over_; // goes on as if it were done
    EventLoop::Handle handing_over_end_;
    JobControl control_;
    ControlAbroad control_abroad_;
    PublishService publish_;
    SpawnService spawn_;
    std::optional<SlowCalls> mailer_;
    CredentialService credentials_;
    EventService events_;
    std::vector<wire::EndedProcess> ends_; // not yet reported
    EventLoop::Handle ends_timer_, orderly_ends_timer_, events_timer_;
    // Of whose ends the processes of this host have not yet been told; of the second it is not known how.
    RankRanges terminated_, terminated_somehow_;
    std::uint64_t terminated_time_ = 0;
    bool telling_of_terminated_ = false;
    std::set<Rank> inviters_; // of this host: they have invited others to a group
    std::vector<std::function<void()>> early_events_; // before the library had started
    std::uint64_t events_in_library_ = 0; // bytes
    bool events_abroad_ = false;          // has anything been sent to other namespaces?
    bool events_dropped_ = false;         // since the library had nothing
    std::vector<UniqueFd> unstarted_; // tasks that could not execute their program, and wait
    ForeignJobs foreign_;
    NamespaceAsks namespace_asks_{[this](std::uint8_t type, SharedBytes payload) {
        return send_to_session(type, std::move(payload));
    }};
    ProcessSets sets_{*this};
    GroupRegistry groups_;
    GroupInvitations invitations_;
    struct Building {
        std::shared_ptr<GroupAsk> ask;
        Signature signature;
    };
    std::vector<Building> building_groups_; // under way
    ContextIds context_ids_;
    ProcessTable table_;
    QueryService queries_{*this};
    AllocationService allocations_{*this, settings_.allocation_timeout};
    TimeWarning time_warning_{*this, settings_.events_time_warning}; // of the first host alone
    // What processes of other namespaces had posted when they connected. Each is used once: who asks
    // again wants something newer.
    std::map<std::pair<Bytes, Rank>, Bytes> posted_elsewhere_;
    SharedFate fate_{step_.nspace};
    // Namespaces of jobs that processes of this host spawned.
    std::set<Bytes> children_;
    RecentNames ended_children_{10'000};
    std::array<EventLoop::Handle, central_role_count> reach_again_;
    // Processes that have ended, for the session: of this host, and of others as long as this one does not
    // speak for the step; and what the session has been told.
    RankRanges untold_ends_, untold_elsewhere_, told_ends_;
    bool speaks_ = false;
    DeadlineTimer timer_{loop_, [this] { on_time(); }};
    EventLoop::Handle idle_; // until the first task should have come
    EventLoop::Handle lingering_end_, cleaning_end_, lingering_finalize_, alone_, rm_gone_;
    struct EarlyAsk {
        std::uint64_t token;
        Bytes nspace;
        Rank rank;
        Wait wait;
    };
    std::vector<EarlyAsk> early_asks_; // for the library, before it had started
    bool ending_ = false;

    Upcalls upcalls_;
    std::unique_ptr<PmixLibrary> library_;
    std::optional<LibraryWatch> library_watch_;
    bool library_stuck_ = false;
    OwnEvidence evidence_;
    std::function<void()> stop_cleaning_; // while the end waits for libpmix
};

} // namespace pmixhost
