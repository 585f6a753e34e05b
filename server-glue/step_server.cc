// See step_server.h.
#include "server-glue/step_server.h"

#include "common/transport/invitation.h"
#include "server-glue/supervisor.h"
#include "server-glue/user_terminal.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <pmix.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

// An RM that has not started a task by then never will.
static constexpr auto no_task_patience = std::chrono::minutes(10);
// How long the end waits for peers that do not read.
static constexpr auto session_start_patience = std::chrono::seconds(5);
static constexpr auto sending_patience = std::chrono::seconds(5);
static constexpr auto connecting_patience = std::chrono::seconds(1); // of that
// For what libpmix has still to do, where this object ends at all: the process mostly ends before.
static constexpr auto ending_patience = std::chrono::seconds(5);
// And for files that are to be removed, when the file system does not answer.
static constexpr auto cleaning_patience = std::chrono::seconds(30);

// Of events that processes of this host notify, under way in this daemon.
static constexpr std::uint64_t max_event_bytes = 16ull << 20;

static std::unique_ptr<Authenticator> authenticator_for(EventLoop &loop, const RmBackend &backend) {
    if (backend.capabilities().munge)
        return make_munge_authenticator(loop, ::getuid());
    return make_secret_authenticator(backend.step().shared_secret);
}

Result<std::unique_ptr<StepServer>> StepServer::create(Start start,
                                                       std::function<void(Result<void>)> on_end) {
    auto directory = start.directory.empty()
                         ? PrivateDirectory::create_in(start.settings.directory_base)
                         : PrivateDirectory::create(start.directory);
    if (!directory)
        return directory.failure();
    EventLoop &loop = start.loop;
    Log &log = start.log;
    auto library_thread = LibraryThread::start(
        [&log](const std::string &what) { log.error("internal error in a call of libpmix: {}", what); });
    if (!library_thread)
        return library_thread.failure();
    const Settings &settings = start.settings;
    RmBackend &backend = start.backend;
    std::unique_ptr<StepServer> server(
        new StepServer(std::move(start), std::move(*library_thread), std::move(*directory), std::move(on_end)));
    StepServer *raw = server.get();
    const StepInfo &step = backend.step();
    auto mesh = Mesh::create(
        loop, log, settings, step.step_key, step.self, step.map.host_count() + central_role_count,
        authenticator_for(loop, backend),
        {[raw](HostIndex from, std::uint8_t type, Bytes payload) {
             raw->on_message(from, type, std::move(payload));
         },
         [raw](HostIndex host, Mesh::Gone how, const Error &why) {
             // Not at once: this may come from within a send of a service.
             raw->loop_.post([raw, host, how, why] { raw->on_host_gone(host, how, why); });
         },
         [raw](HostIndex host, Bytes message, TimePoint deadline,
               std::function<void(Result<void>)> done) {
             raw->send_contact(host, std::move(message), deadline, std::move(done));
         }});
    if (!mesh)
        return mesh.failure();
    raw->mesh_ = std::move(*mesh);
    if (!step.link_faults.empty())
        raw->mesh_->set_faults(step.link_faults);
    if (auto begun = backend.start(*raw); !begun)
        return begun.failure();
    raw->begin();
    return server;
}

StepServer::StepServer(Start start, std::unique_ptr<LibraryThread> library_thread,
                       PrivateDirectory directory, std::function<void(Result<void>)> on_end)
    : loop_(start.loop), log_(start.log), settings_(start.settings), backend_(start.backend),
      step_(start.backend.step()), page_(start.page), on_end_(std::move(on_end)),
      live_on_(start.live_on),
      door_(std::move(start.door)), directory_(std::move(directory)),
      library_thread_(std::move(library_thread)),
      tasks_(loop_, log_, step_, directory_.path(), start.table,
             {[this](Rank rank, std::optional<int> status) { on_task_gone(rank, status); },
              [this] {
                  report_ends();
                  report_orderly_ends();
                  end({});
              },
              [this] {
                  if (page_)
                      page_->state.store(StatusPage::serving, std::memory_order_release);
              },
              [this](Error why) { end(std::move(why)); }, [this] { on_launched(); },
              [this](const TaskStartFailure &failure, UniqueFd task) {
                  on_launch_failed(failure, std::move(task));
              }}),
      collectives_(*this, *this, step_.self, settings_.transport_radix), modex_(*this, *this, step_.self),
      heirs_(step_.map, step_.self, settings_.transport_radix),
      control_(*this, *this, step_.nspace, step_.map, step_.self, settings_.transport_radix),
      control_abroad_(*this, *this, control_, step_.nspace),
      publish_(*this, *this, step_.map.hosts()[step_.self],
               {settings_.publish_timeout, settings_.publish_wait}),
      spawn_([this](std::uint8_t type, SharedBytes payload) {
          return mesh_->send(launcher_peer(), type, std::move(payload));
      }),
      credentials_(loop_, log_),
      events_(*this, *this, step_.map, step_.nspace, step_.self, settings_.transport_radix),
      foreign_(log_, step_.session_id, step_.map.hosts()[step_.self]), context_ids_(step_.number, step_.self),
      table_(*this, *this, step_.map, step_.self, settings_.transport_radix),
      upcalls_(loop_, *library_thread_, *this,
               {settings_.fence_max_bytes, settings_.publish_max_bytes, max_event_bytes}),
      evidence_(loop_, log_, std::move(start.evidence)) {}

StepServer::~StepServer() {
    // In this order: what waits is answered, then no more upcalls, then nothing that could answer one.
    collectives_.drop_all();
    modex_.drop_all();
    library_.reset();
    library_thread_->end(ending_patience);
}

void StepServer::on_supervisor_gone() {
    alone_ = loop_.after(dying_patience, [this] {
        if (ending_ || tasks_.watch().running() == 0)
            return;
        if (live_on_)
            return log_.error("the supervisor of pmixhostd was killed; nobody watches this daemon now");
        std::string text = fmt::format("the supervisor of pmixhostd on {} was killed; the step is ended",
                                       step_.map.hosts()[step_.self]);
        log_.error("{}", text);
        backend_.end_step({1, text}, [this](Result<void> ended) {
            if (!ended)
                log_.error("the step could not be ended: {}", ended.failure().text);
        });
    });
}

void StepServer::leave() {
    // First: whoever hears that the daemon has left may remove it too, and need not if it is gone.
    if (directory_.remove() && page_)
        page_->note_directory({});
    backend_.stop();
}

void StepServer::begin() {
    if (page_)
        page_->note_directory(directory_.path());
    if (door_)
        tasks_.open_door(std::move(door_));
    // The connection that a collective of the whole job will need is made while libpmix starts.
    Tree tree(step_.map.host_count(), settings_.transport_radix);
    if (HostIndex parent = tree.parent(step_.self); parent != no_host)
        mesh_->invite(parent);

    idle_ = loop_.after(no_task_patience, [this] {
        if (!tasks_.any_started())
            end(error(ErrorKind::timeout, "no task came for its environment within {} minutes",
                      no_task_patience.count()));
    });

    start_library();
}

void StepServer::send_contact(HostIndex host, Bytes message, TimePoint deadline,
                              std::function<void(Result<void>)> done) {
    HostIndex hosts = step_.map.host_count();
    if (host < hosts)
        return backend_.send_contact(host, std::move(message), all_have_begun_ || heirs_.has_left(host), deadline,
                                     std::move(done));
    Invitation invitation;
    invitation.contact = std::move(message);
    invitation.step_key = step_.step_key;
    invitation.host_count = hosts;
    invitation.nspace = step_.nspace;
    reach_central(static_cast<CentralRole>(host - hosts), wire::encode(invitation), deadline,
                  std::move(done));
}

// Not every host of the step starts a session at once: the lowest one that is there does, and any
// other one only when that has not helped.
TimePoint StepServer::session_start_time() {
    HostIndex first = 0;
    while (first < step_.self && mesh_->gone(first))
        ++first;
    if (first == step_.self)
        return loop_.now();
    mesh_->send(first, wire::WantSession::type, share(wire::encode(wire::WantSession{})));
    return loop_.now() + session_start_patience;
}

void StepServer::end(Result<void> result) {
    if (ending_)
        return;
    ending_ = true;
    if (!result && page_)
        page_->fail(result.failure().text);
    if (spawn_.used() && mesh_->connected(launcher_peer())) {
        wire::StepOver over;
        over.badly = !live_on_ && (!result || tasks_.any_ended_badly());
        mesh_->send(launcher_peer(), wire::StepOver::type, share(wire::encode(over)));
    }
    // What its own processes had posted has been handed over before they ended; what others have, perhaps not.
    if (!result || heirs_.all_kept().empty())
        return finish_end(std::move(result));
    hand_over([this] { finish_end({}); });
}

// What processes wanted to be removed at the end of their job is, and what others wait for (the result of a
// fence, say) goes out. In this order: who asks for a connection meanwhile is told farewell as well.
void StepServer::finish_end(Result<void> result) {
    mesh_->farewell();
    auto last = std::make_shared<std::optional<Result<void>>>(std::move(result));
    auto cleaned = [this, last] {
        if (auto end = std::exchange(*last, std::nullopt))
            when_sent(loop_.now() + sending_patience, lingering_end_, [this, end = *end] { on_end_(end); });
    };
    if (!library_ || library_stuck_ || !tasks_.any_started() || tasks_.watch().running() > 0)
        return cleaned();
    stop_cleaning_ = cleaned;
    library_->end_nspace(step_.nspace, [cleaned](pmix_status_t) { cleaned(); });
    cleaning_end_ = loop_.after(cleaning_patience, cleaned);
}

void StepServer::when_sent(TimePoint limit, EventLoop::Handle &timer, std::function<void()> then) {
    // The session may have to be started first.
    std::size_t left = mesh_->unsent_bytes() + (events_abroad_ ? mesh_->queued_bytes(session_peer()) : 0);
    // For a moment also what the step's tree is told of the ends here, while that connection is being made;
    // and who has been asked to come is told farewell, or it would take this host for lost.
    if (loop_.now() < limit - sending_patience + connecting_patience) {
        HostIndex heir = heirs_.heir_of(step_.self);
        if (heir != no_host && mesh_->connecting(heir))
            left += mesh_->queued_bytes(heir);
        left += mesh_->dialing();
    }
    if (left == 0 || loop_.now() >= limit)
        return then();
    timer = loop_.after(std::chrono::milliseconds(5), [this, limit, &timer, then = std::move(then)] {
        when_sent(limit, timer, then);
    });
}

// --- what libpmix asks ------------------------------------------------------------------------------

void StepServer::client_connected(ClientEvent event) {
    if (event.client.nspace == step_.nspace)
        tasks_.client_connected(event.client.rank);
    event.reply(PMIX_SUCCESS);
}

void StepServer::client_finalized(ClientEvent event) {
    if (event.client.nspace != step_.nspace || !tasks_.client_finalized(event.client.rank))
        return event.reply(PMIX_SUCCESS);
    // The last client goes on only when everything is out: the RM may kill this daemon as soon as its
    // tasks have ended.
    auto reply = std::make_shared<StatusReply>(std::move(event.reply));
    hand_over([this, reply] {
        mesh_->farewell();
        when_sent(loop_.now() + sending_patience, lingering_finalize_,
                  [reply] { (*reply)(PMIX_SUCCESS); });
    });
}

void StepServer::fence(FenceRequest request) {
    auto signature = canonical(CollectiveKind::fence, request.participants, [this](const Bytes &nspace) {
        return nspace == step_.nspace ? step_.map.rank_count() : foreign_.size_of(nspace);
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND, {});
    bool of_all = signature->members.size() == 1 && signature->members[0].all &&
                  signature->members[0].nspace == step_.nspace;
    if (!of_all || (all_have_begun_ && !request.collects))
        return enter(*signature, std::move(request.data), request.refused, request.local_status, request.timeout,
                     std::move(request.reply));
    auto reply = std::make_shared<DataReply>(std::move(request.reply));
    auto collected = request.collects ? digest_posted() : nullptr;
    enter(*signature, std::move(request.data), request.refused, request.local_status, request.timeout,
          {[this, reply, collected](pmix_status_t status, Bytes data) {
               if (status == PMIX_SUCCESS)
                   on_fence_of_all(collected);
               (*reply)(status, std::move(data));
           },
           PMIX_ERROR, Bytes()});
}

void StepServer::enter(const Signature &signature, Bytes data, pmix_status_t refused,
                       pmix_status_t local_status,
                       std::optional<std::chrono::milliseconds> timeout, DataReply reply) {
    TimePoint now = loop_.now(), deadline = TimePoint::max();
    auto limit = timeout.value_or(settings_.fence_timeout);
    if (limit.count() > 0)
        deadline = now + limit;
    std::int32_t status = refused;
    if (status == PMIX_SUCCESS && signature.tolerant == 0 &&
        (local_status != PMIX_SUCCESS || local_member_gone(signature) ||
                                   local_member_ending(signature)))
        status = PMIX_ERR_PROC_TERM_WO_SYNC;
    std::shared_ptr<const Signature> abroad;
    if (!signature.of_group() && spans_outside(signature))
        abroad = std::make_shared<const Signature>(signature);
    auto shared = std::make_shared<DataReply>(std::move(reply));
    CollectiveReply whole = {[this, kind = signature.kind, abroad, shared](std::int32_t result, Contributions all) {
                                 if (result != PMIX_SUCCESS || !all)
                                     return (*shared)(result, {});
                                 complete_with(kind, abroad.get(), std::move(all), std::move(*shared));
                             },
                             PMIX_ERROR, nullptr};
    collectives_.enter(now, signature, std::move(data), status, deadline, std::move(whole));
    arm_timer();
}

void StepServer::publish(PublishAsk request) {
    publish_.publish(loop_.now(), std::move(request));
    arm_timer();
}
void StepServer::lookup(LookupAsk request) {
    publish_.lookup(loop_.now(), std::move(request));
    arm_timer();
}
void StepServer::unpublish(UnpublishAsk request) {
    publish_.unpublish(loop_.now(), std::move(request));
    arm_timer();
}

void StepServer::spawn(SpawnAsk ask) {
    if (ask.refused != PMIX_SUCCESS)
        return ask.answer(ask.refused, {});
    ask.request.nspace = ask.caller.nspace;
    ask.request.rank = ask.caller.rank;
    ask.request.lives_on = live_on_ ? 1 : 0;
    // Who names a personality is an MPI library and will connect with the children: the connection to
    // the session is made while they start.
    if (std::any_of(ask.request.directives.begin(), ask.request.directives.end(),
                    [](const auto &directive) { return directive.key == PMIX_PERSONALITY; }))
        mesh_->invite(session_peer());
    spawn_.spawn(std::move(ask.request), std::move(ask.answer));
}

// --- what the RM says -------------------------------------------------------------------------------

// An RM that ends in order has waited for the tasks before, but this daemon may hear of both at once: the
// tasks' ends come first then, and all is well.
void StepServer::on_rm_gone(std::string why) {
    rm_gone_ = loop_.after(dying_patience, [this, why = std::move(why)] {
        end(error(ErrorKind::unreachable, "{}", why));
    });
}

void StepServer::want_environment(Rank rank,
                                  std::function<void(Result<std::vector<std::string>>)> done) {
    tasks_.want_environment(
        rank, {std::move(done), error(ErrorKind::unreachable, "pmixhostd ended before it had an answer")});
}

void StepServer::on_task_gone(Rank rank, std::optional<int> wait_status) {
    note_end(rank, wait_status);
    collectives_.on_local_process_gone();
    modex_.on_local_process_gone(step_.nspace, rank);
    publish_.on_process_ended(rank);
    allocations_.on_process_ended(step_.nspace, rank);
    if (!publish_.used())
        tell_session_of(rank);
    arm_timer();
}

// --- what the services need -------------------------------------------------------------------------

bool StepServer::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    return mesh_->send(to, type, std::move(payload));
}

Owner StepServer::owner_of(Rank rank) {
    Owner owner{::geteuid(), ::getegid()};
    struct stat process;
    pid_t pid = tasks_.watch().pid_of(rank);
    // A process that may not be looked at shows root instead of its own.
    if (pid > 0 && ::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 &&
        process.st_uid == owner.uid)
        owner.gid = process.st_gid;
    return owner;
}

bool StepServer::send_to_session(std::uint8_t type, SharedBytes payload) {
    tell_session_of_ends();
    return mesh_->send(session_peer(), type, std::move(payload));
}

Result<std::vector<HostIndex>> StepServer::hosts_of(const Signature &signature) {
    std::set<HostIndex> hosts;
    for (const auto &members : signature.members) {
        if (members.nspace != step_.nspace)
            continue; // its own step sees to it
        if (members.all) {
            for (HostIndex h = 0; h < step_.map.host_count(); ++h) {
                if (!step_.map.ranks_on(h).empty())
                    hosts.insert(hosts.end(), h);
            }
        }
        for (Rank rank : members.ranks) {
            HostIndex host = step_.map.host_of(rank);
            if (host == no_host)
                return error(ErrorKind::not_found, "there is no rank {}", rank);
            hosts.insert(host);
        }
    }
    return std::vector<HostIndex>(hosts.begin(), hosts.end());
}

bool StepServer::local_member_gone(const Signature &signature) {
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (tasks_.gone(rank) && signature.contains(step_.nspace, rank))
            return true;
    }
    return false;
}

// libpmix leaves a rank out of the fence as soon as its connection is closed, which is before anyone
// else can hear of its end.
bool StepServer::local_member_ending(const Signature &signature) {
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (tasks_.watch().ending(rank) && signature.contains(step_.nspace, rank))
            return true;
    }
    return false;
}

void StepServer::arm_timer() {
    timer_.arm(std::min(
        {collectives_.next_time(), modex_.next_time(), control_.next_time(),
         control_abroad_.next_time(), publish_.next_time(),
         table_.next_time(), queries_.next_time(), time_warning_.next_time(), fate_.next_time(), namespace_asks_.next_time()}));
}

void StepServer::on_time() {
    collectives_.on_time(loop_.now());
    modex_.on_time(loop_.now());
    control_.on_time(loop_.now());
    control_abroad_.on_time(loop_.now());
    publish_.on_time(loop_.now());
    table_.on_time(loop_.now());
    queries_.on_time(loop_.now());
    time_warning_.on_time(loop_.now());
    share_fate();
    namespace_asks_.on_time(loop_.now());
    arm_timer();
}

} // namespace pmixhost
