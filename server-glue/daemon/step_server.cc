// See step_server.h.
#include "server-glue/daemon/step_server.h"

#include "server-glue/debug/step_stops.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/tasks/remedies.h"

#include <algorithm>
#include <pmix_common.h>
#include <unistd.h>

namespace pmixhost {

// An RM that has not started a task by then never will.
static constexpr auto no_task_patience = std::chrono::minutes(10);

Result<std::unique_ptr<StepServer>> StepServer::create(Start start, std::function<void(Result<void>)> on_end) {
    auto directory = start.directory.empty() ? PrivateDirectory::create_in(start.settings.directory_base)
                                             : PrivateDirectory::create(start.directory);
    if (!directory)
        return directory.failure();
    auto library_thread = LibraryThread::start(
        [&log = start.log](const std::string &what) { log.error("internal error in a call of libpmix: {}", what); });
    if (!library_thread)
        return library_thread.failure();
    RmBackend &backend = start.backend;
    auto stops = stops_of(backend.step(), start.settings, static_cast<bool>(start.door));
    if (!stops)
        return stops.failure();
    std::unique_ptr<StepServer> server(new StepServer(std::move(start), std::move(*stops), std::move(*library_thread),
                                                      std::move(*directory), std::move(on_end)));
    if (auto opened = server->peers_.open(); !opened)
        return opened.failure();
    if (auto begun = backend.start(*server); !begun)
        return begun.failure();
    server->begin();
    return server;
}

StepServer::StepServer(Start start, DebugStops stops, std::unique_ptr<LibraryThread> library_thread,
                       PrivateDirectory directory, std::function<void(Result<void>)> on_end)
    : context_(start.loop, start.log, start.settings, start.backend, start.live_on, std::move(stops)),
      page_(start.page), door_(std::move(start.door)), directory_(std::move(directory)),
      store_(start.directory.empty() ? StoreDirectory::create(context_.settings, directory_) : std::nullopt),
      library_(
          context_, std::move(library_thread), directory_.path(), store_ ? store_->path() : std::string(),
          std::move(start.evidence),
          {[this] { context_.tell_services([](StepService &each) { each.on_address(); }); },
           [this](LocalTasks::EarlyEnvironment environment) { tasks_.set_early_environment(std::move(environment)); },
           [this] {
               tasks_.set_library(*context_.library);
               context_.tell_services([](StepService &each) { each.on_library(); });
               for (auto &what : std::exchange(context_.waiting_for_library, {}))
                   what();
           },
           [this](Error why) { ending_.end(std::move(why)); }, [this] { return ending_.on_library_stuck(); },
           [this](const ToolVisitor &visitor) { return services_.tools.may_come(visitor); },
           [this](const ToolVisitor &visitor, const ToolConnection &connection) {
               services_.tools.came(visitor, connection);
           },
           [this](const std::string &name) { return services_.tools.may_be_called(name); }}),
      upcalls_(context_.loop, library_.thread()), peers_(context_, services_), launch_outcome_(context_),
      tasks_(context_.loop, context_.log, context_.step, context_.stops, directory_.path(), start.table,
             task_callbacks()),
      services_(context_), ending_(context_, services_, page_, std::move(on_end)), timer_(context_.loop, [this] {
          context_.tell_services([now = context_.now()](StepService &each) { each.on_time(now); });
      }) {
    context_.tasks = &tasks_;
    context_.need_library = [this] { library_.need(); };
    context_.directory = directory_.path();
    context_.ends_on_bad_exit = start.ends_on_bad_exit;
    context_.is_end_of_job = [this](const wire::EndedProcess &ended) { return services_.fate.is_end_of_job(ended); };
    context_.may = [this](const Process &asker, policy::Action action) { return services_.tools.may(asker, action); };
    tasks_.set_details_up_to(context_.settings.daemon_details_up_to);
    tasks_.set_remedies(remedies_of_tasks(context_.settings, context_.step));
    ending_.take_asks(upcalls_.handlers);
    context_.tell_services([this](StepService &each) { each.take_asks(upcalls_.handlers); });
    before_waiting_ = context_.loop.before_waiting([this] {
        TimePoint next = TimePoint::max();
        context_.tell_services([&next](StepService &each) { next = std::min(next, each.next_time()); });
        timer_.arm(next);
    });
}

StepServer::~StepServer() {
    // The order matters: what waits is answered, then there are no more upcalls, then nothing that could answer one.
    for (auto each = context_.services.rbegin(); each != context_.services.rend(); ++each)
        (*each)->drop_all();
    library_.stop();
}

LocalTasks::Callbacks StepServer::task_callbacks() {
    LocalTasks::Callbacks out;
    out.on_gone = [this](Rank rank, std::optional<int> status) {
        context_.tell_services([&](StepService &each) { each.on_process_gone(rank, status); });
    };
    out.on_all_ended = [this] {
        services_.events.report_ends();
        ending_.end_after_output(context_.now());
    };
    out.on_serving = [this] {
        if (page_)
            page_->state.store(StatusPage::serving, std::memory_order_release);
        library_.on_registered();
    };
    out.on_let_go = [this] { library_.on_task_let_go(); };
    if (StepIof::captures(context_))
        out.take_streams = [this](Rank rank, TaskDescriptors streams) {
            services_.iof.take_streams(rank, std::move(streams));
        };
    out.on_unread_streams = [this](Rank rank, std::uint8_t channels) { services_.iof.note_unread(rank, channels); };
    out.on_failure = [this](Error why) { ending_.end(std::move(why)); };
    out.on_first_runs = [this] { launch_outcome_.first_runs(); };
    out.on_launched = [this] { launch_outcome_.launched(); };
    out.await_exec_stop = [this](Rank rank, UniqueFd armed, std::function<void(bool)> stands) {
        services_.debug.await_exec_stop(rank, std::move(armed), std::move(stands));
    };
    out.copy_output = [this](Rank rank, OutputCopy copy) {
        return services_.output_copies.start(rank, std::move(copy));
    };
    out.on_launch_failed = [this](const TaskStartFailure &failure, UniqueFd task) {
        launch_outcome_.failed(failure, std::move(task));
    };
    return out;
}

void StepServer::begin() {
    if (page_)
        page_->note_directory(directory_.path());
    services_.debug.open_door();
    bool has_door = static_cast<bool>(door_);
    if (has_door)
        tasks_.open_door(std::move(door_));
    // The connection that a collective of the whole job will need is made while libpmix starts.
    Tree tree(context_.step.map.host_count(), context_.settings.transport_radix);
    if (HostIndex parent = tree.parent(context_.self()); parent != no_host)
        context_.mesh->invite_early(parent);
    if (!context_.step.is_lobby)
        idle_ = context_.loop.after(no_task_patience, [this] {
            if (!tasks_.any_started())
                ending_.end(error(ErrorKind::timeout, "no task came for its environment within {} minutes",
                                  no_task_patience.count()));
        });
    library_.start(has_door);
}

void StepServer::on_rm_gone(std::string why) {
    if (context_.step.is_lobby) // its tool has gone
        ending_.end({});
    else
        ending_.on_rm_gone(std::move(why));
}

void StepServer::leave() {
    bool settled = library_.settle(); // its start makes files
    // First: whoever hears that the daemon has left may remove it too, and need not if it is gone.
    bool removed = !store_ || store_->remove();
    if (directory_.remove() && removed && settled && page_)
        page_->note_directory({});
    context_.backend.stop();
}

void StepServer::want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) {
    tasks_.want_environment(
        rank, {std::move(done), error(ErrorKind::unreachable, "pmixhostd ended before it had an answer")});
}

} // namespace pmixhost
