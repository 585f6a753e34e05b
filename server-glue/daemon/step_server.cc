// See step_server.h.
#include "server-glue/daemon/step_server.h"

#include "common/transport/invitation.h"
#include "server-glue/daemon/supervisor.h"

#include <algorithm>
#include <pmix_common.h>
#include <unistd.h>

namespace pmixhost {

// An RM that has not started a task by then never will.
static constexpr auto no_task_patience = std::chrono::minutes(10);
// Of events that processes of this host notify, under way in this daemon.
static constexpr std::uint64_t max_event_bytes = 16ull << 20;

Result<std::unique_ptr<StepServer>> StepServer::create(Start start, std::function<void(Result<void>)> on_end) {
    auto directory = start.directory.empty() ? PrivateDirectory::create_in(start.settings.directory_base)
                                             : PrivateDirectory::create(start.directory);
    if (!directory)
        return directory.failure();
    auto library_thread = LibraryThread::start([&log = start.log](const std::string &what) {
        log.error("internal error in a call of libpmix: {}", what);
    });
    if (!library_thread)
        return library_thread.failure();
    RmBackend &backend = start.backend;
    std::unique_ptr<StepServer> server(
        new StepServer(std::move(start), std::move(*library_thread), std::move(*directory), std::move(on_end)));
    if (auto opened = server->open_mesh(); !opened)
        return opened.failure();
    if (auto begun = backend.start(*server); !begun)
        return begun.failure();
    server->begin();
    return server;
}

StepServer::StepServer(Start start, std::unique_ptr<LibraryThread> library_thread, PrivateDirectory directory,
                       std::function<void(Result<void>)> on_end)
    : context_(start.loop, start.log, start.settings, start.backend, start.live_on), page_(start.page),
      door_(std::move(start.door)), directory_(std::move(directory)),
      library_(context_, std::move(library_thread), directory_.path(), std::move(start.evidence),
               {[this] {
                    tasks_.set_library(*context_.library);
                    context_.tell_services([](StepService &each) { each.on_library(); });
                },
                [this](Error why) { ending_.end(std::move(why)); }, [this] { return ending_.on_library_stuck(); }}),
      upcalls_(context_.loop, library_.thread(), *this,
               {context_.settings.fence_max_bytes, context_.settings.publish_max_bytes, max_event_bytes}),
      launch_outcome_(context_),
      tasks_(context_.loop, context_.log, context_.step, directory_.path(), start.table, task_callbacks()),
      services_(context_, upcalls_.events), messages_(context_.log),
      ending_(context_, services_, page_, std::move(on_end)), timer_(context_.loop, [this] {
          context_.tell_services([now = context_.now()](StepService &each) { each.on_time(now); });
      }) {
    context_.tasks = &tasks_;
    context_.tell_services([this](StepService &each) { each.take_messages(messages_); });
    before_waiting_ = context_.loop.before_waiting([this] { arm_timer(); });
}

StepServer::~StepServer() {
    // In this order: what waits is answered, then no more upcalls, then nothing that could answer one.
    services_.collectives.drop_all();
    services_.modex.drop_all();
    library_.stop();
}

LocalTasks::Callbacks StepServer::task_callbacks() {
    LocalTasks::Callbacks out;
    out.on_gone = [this](Rank rank, std::optional<int> status) {
        context_.tell_services([&](StepService &each) { each.on_process_gone(rank, status); });
    };
    out.on_all_ended = [this] {
        services_.events.report_ends();
        ending_.end({});
    };
    out.on_serving = [this] {
        if (page_)
            page_->state.store(StatusPage::serving, std::memory_order_release);
    };
    out.on_failure = [this](Error why) { ending_.end(std::move(why)); };
    out.on_launched = [this] { launch_outcome_.launched(); };
    out.on_launch_failed = [this](const TaskStartFailure &failure, UniqueFd task) {
        launch_outcome_.failed(failure, std::move(task));
    };
    return out;
}

static std::unique_ptr<Authenticator> authenticator_for(EventLoop &loop, const RmBackend &backend) {
    if (backend.capabilities().munge)
        return make_munge_authenticator(loop, ::getuid());
    return make_secret_authenticator(backend.step().shared_secret);
}

Result<void> StepServer::open_mesh() {
    const StepInfo &step = context_.step;
    auto mesh = Mesh::create(
        context_.loop, context_.log, context_.settings, step.step_key, step.self,
        step.map.host_count() + central_role_count, authenticator_for(context_.loop, context_.backend),
        {[this](HostIndex from, std::uint8_t type, Bytes payload) { on_message(from, type, std::move(payload)); },
         [this](HostIndex peer, Mesh::Gone how, const Error &why) {
             // Not at once: this may come from within a send of a service.
             context_.loop.post([this, peer, how, why] { on_peer_gone(peer, how, why); });
         },
         [this](HostIndex peer, Bytes message, TimePoint deadline, std::function<void(Result<void>)> done) {
             send_contact(peer, std::move(message), deadline, std::move(done));
         }});
    if (!mesh)
        return mesh.failure();
    mesh_ = std::move(*mesh);
    context_.mesh = mesh_.get();
    if (!step.link_faults.empty())
        mesh_->set_faults(step.link_faults);
    return {};
}

void StepServer::begin() {
    if (page_)
        page_->note_directory(directory_.path());
    if (door_)
        tasks_.open_door(std::move(door_));
    // The connection that a collective of the whole job will need is made while libpmix starts.
    Tree tree(context_.step.map.host_count(), context_.settings.transport_radix);
    if (HostIndex parent = tree.parent(context_.self()); parent != no_host)
        mesh_->invite(parent);
    idle_ = context_.loop.after(no_task_patience, [this] {
        if (!tasks_.any_started())
            ending_.end(error(ErrorKind::timeout, "no task came for its environment within {} minutes",
                              no_task_patience.count()));
    });
    library_.start();
}

void StepServer::leave() {
    // First: whoever hears that the daemon has left may remove it too, and need not if it is gone.
    if (directory_.remove() && page_)
        page_->note_directory({});
    context_.backend.stop();
}

void StepServer::arm_timer() {
    TimePoint next = TimePoint::max();
    context_.tell_services([&next](StepService &each) { next = std::min(next, each.next_time()); });
    timer_.arm(next);
}

// --- clients ----------------------------------------------------------------------------------------

void StepServer::client_connected(ClientEvent event) {
    if (event.client.nspace == context_.step.nspace)
        tasks_.client_connected(event.client.rank);
    event.reply(PMIX_SUCCESS);
}

void StepServer::client_finalized(ClientEvent event) {
    if (event.client.nspace != context_.step.nspace || !tasks_.client_finalized(event.client.rank))
        return event.reply(PMIX_SUCCESS);
    ending_.last_client_finalized(std::move(event.reply));
}

// --- what the RM says -------------------------------------------------------------------------------

void StepServer::on_contact(std::string message) {
    if (message == session_call)
        return services_.session.come();
    mesh_->on_contact(message);
}

// An RM that ends in order has waited for the tasks before, but this daemon may hear of both at once: the
// tasks' ends come first then, and all is well.
void StepServer::on_rm_gone(std::string why) {
    rm_gone_ = context_.loop.after(
        dying_patience, [this, why = std::move(why)] { ending_.end(error(ErrorKind::unreachable, "{}", why)); });
}

void StepServer::want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) {
    tasks_.want_environment(
        rank, {std::move(done), error(ErrorKind::unreachable, "pmixhostd ended before it had an answer")});
}

void StepServer::on_supervisor_gone() {
    alone_ = context_.loop.after(dying_patience, [this] {
        if (context_.ending || tasks_.watch().running() == 0)
            return;
        if (context_.live_on)
            return context_.log.error("the supervisor of pmixhostd was killed; nobody watches this daemon now");
        std::string text =
            fmt::format("the supervisor of pmixhostd on {} was killed; the step is ended", context_.host_name());
        context_.log.error("{}", text);
        context_.end_step({1, text});
    });
}

// --- the other daemons ------------------------------------------------------------------------------

void StepServer::on_message(HostIndex from, std::uint8_t type, Bytes payload) {
    using Peer = StepMessages::Peer;
    if (from == context_.session_peer()) {
        services_.session.tell_of_ends(); // of those that came while the connection was made
        messages_.hand_on(Peer::session, from, "the session", type, std::move(payload));
    } else if (from == context_.launcher_peer()) {
        messages_.hand_on(Peer::launcher, from, "the launcher", type, std::move(payload));
    } else {
        messages_.hand_on(Peer::host, from, context_.step.map.hosts()[from], type, std::move(payload));
    }
}

void StepServer::on_peer_gone(HostIndex peer, Mesh::Gone how, const Error &why) {
    HostIndex hosts = context_.step.map.host_count();
    bool left = how == Mesh::Gone::left;
    if (peer < hosts) {
        if (!left && !context_.ending)
            context_.log.warning("{} is lost: {}", context_.step.map.hosts()[peer], why.text);
        return context_.tell_services([&](StepService &each) { each.on_host_gone(peer, left); });
    }
    mesh_->forget(peer); // the next one who wants it may have better luck
    if (!context_.ending)
        context_.log.warning("the {} of this job is gone: {}", name_of(static_cast<CentralRole>(peer - hosts)),
                             why.text);
    if (peer == context_.session_peer())
        context_.tell_services([](StepService &each) { each.on_session_gone(); });
    else
        context_.tell_services([](StepService &each) { each.on_launcher_gone(); });
}

void StepServer::send_contact(HostIndex peer, Bytes message, TimePoint deadline,
                              std::function<void(Result<void>)> done) {
    HostIndex hosts = context_.step.map.host_count();
    if (peer < hosts)
        return context_.backend.send_contact(peer, std::move(message), services_.handing_over.has_begun(peer),
                                             deadline, std::move(done));
    Invitation invitation;
    invitation.contact = std::move(message);
    invitation.step_key = context_.step.step_key;
    invitation.host_count = hosts;
    invitation.nspace = context_.step.nspace;
    services_.session.reach(static_cast<CentralRole>(peer - hosts), wire::encode(invitation), deadline,
                            std::move(done));
}

} // namespace pmixhost
