// See library_holder.h.
#include "server-glue/daemon/library_holder.h"

#include "server-glue/daemon/module_table.h"
#include "server-glue/debug/stop_ask.h"
#include "server-glue/events/monitors.h"
#include "server-glue/guard/listener_takeover.h"
#include "server-glue/iof/step_iof.h"
#include "server-glue/library/expected_environment.h"
#include "server-glue/library/given_environment.h"
#include "server-glue/library/pmix_library.h"

#include <algorithm>
#include <pmix.h>
#include <unistd.h>

namespace pmixhost {

// The time for what libpmix has still to do when this object ends; mostly the process ends before.
static constexpr auto ending_patience = std::chrono::seconds(5);
static constexpr auto settling_patience = std::chrono::seconds(1);
// For how long tasks run before the library is started although nobody has asked for it: what ends earlier costs
// nothing, and who needs longer than that to come to PMIx_Init, as interpreters do, finds it ready.
static constexpr Duration lateness = std::chrono::milliseconds(20);
// Programs that cannot come to it are none of these, and where one does all the same its connection starts the library.
// It is for tools then, which should not wait for a job that has been there for a while.
static constexpr Duration lateness_without_use = std::chrono::seconds(1);

struct LibraryHolder::Started {
    std::optional<Result<std::unique_ptr<PmixLibrary>>> library;
};

LibraryHolder::LibraryHolder(StepContext &context, std::unique_ptr<LibraryThread> thread, std::string directory,
                             std::string store, EvidencePlace evidence, Callbacks callbacks)
    : context_(context), directory_(std::move(directory)), store_(std::move(store)), callbacks_(std::move(callbacks)),
      thread_(std::move(thread)), started_(std::make_shared<Started>()),
      evidence_(context.loop, context.log, std::move(evidence)) {}

LibraryHolder::~LibraryHolder() = default;

struct LibraryHolder::Late {
    std::unique_ptr<ListenerTakeover> listening;
    std::optional<ExpectedEnvironment> environment;
    std::string why_not; // one of both is there
};

// Not where somebody waits for what only the library tells: a parent, a debugger, a tool that follows the launch, who
// reads the output.
bool LibraryHolder::may_be_late() const {
    const StepInfo &step = context_.step;
    bool stops = std::any_of(stop_places.begin(), stop_places.end(),
                             [this](StopPlace place) { return !context_.stops.at(place).empty(); });
    return !step.parent && !step.tells_launch && !step.launcher_file && !stops && !StepIof::captures(context_);
}

void LibraryHolder::start(bool tasks_come) {
    // It is watched from now on, because the start itself may take too long.
    watch_.emplace(context_.loop, *thread_, context_.settings.daemon_library_timeout, PmixLibrary::ask,
                   [this](const std::string &why) { on_stuck(why); });
    if (!tasks_come || !may_be_late())
        return start_library("it may not be late for this step");
    if (context_.settings.daemon_library == "early")
        return start_library("daemon.library is early");
    if (context_.step.pmix_use == PmixUse::is_expected)
        return start_library("a program names it");
    if (context_.step.pmix_use == PmixUse::may_come && clients_open_store_first())
        return start_library("a program may come to it, and then look for its store");
    // In that thread, since files of settings may be where a file system does not answer.
    ExpectedServer server{context_.step.server_nspace(), context_.self(), {}, directory_, store_,
                          context_.host_name(),          ::getpid()};
    thread_->run("reading libpmix' settings", [this, server]() mutable {
        auto late = std::make_shared<Late>(how_late(std::move(server)));
        context_.loop.post([this, late] { be_late(std::move(*late)); });
    });
}

// In the library thread.
LibraryHolder::Late LibraryHolder::how_late(ExpectedServer server) {
    auto listening = ListenerTakeover::create_listening();
    if (!listening)
        return {nullptr, std::nullopt, listening.failure().text};
    server.address = (*listening)->address();
    auto expected = ExpectedEnvironment::create(seen_environment(), own_library_settings(), std::move(server));
    if (!expected)
        return {nullptr, std::nullopt, expected.failure().text};
    return {std::move(*listening), std::move(*expected), {}};
}

void LibraryHolder::be_late(Late late) {
    if (context_.ending)
        return;
    if (!late.listening)
        return start_library(late.why_not);
    is_late_ = true;
    listening_ = std::move(late.listening);
    context_.library_address = listening_->address();
    knock_ = context_.loop.watch(listening_->listener(), EventLoop::readable,
                                 [this](unsigned) { start_library("somebody connects"); });
    callbacks_.on_address();
    callbacks_.on_late([this, environment = std::move(*late.environment)](Rank rank) {
        return given_environment(environment.of(context_.step.nspace, rank));
    });
}

void LibraryHolder::need() {
    if (is_late_)
        start_library("a tool or another host needs it");
}

void LibraryHolder::on_task_let_go() {
    has_let_go_ = true;
    if (!is_starting_ && !lateness_)
        lateness_ = context_.loop.after(context_.step.pmix_use == PmixUse::cannot ? lateness_without_use : lateness,
                                        [this] { start_library("tasks have run for a while"); });
}

void LibraryHolder::start_library(std::string_view why) {
    knock_.reset();
    lateness_.reset();
    if (context_.ending || std::exchange(is_starting_, true))
        return;
    context_.log.debug("the PMIx library is started: {}", why);
    PmixLibrary::Options options{context_.step.server_nspace(), context_.self(), directory_, context_.host_name(),
                                 store_};
    if (context_.settings.daemon_topology == "kept")
        options.topology_file = context_.step.topology_file;
    auto listening = std::make_shared<std::unique_ptr<ListenerTakeover>>(std::move(listening_));
    thread_->run("PMIx_server_init", [this, options, listening, started = started_] {
        started->library.emplace(
            PmixLibrary::start(context_.loop, *thread_, options, module_table(), std::move(*listening)));
        context_.loop.post([this] { on_started(); });
    });
}

void LibraryHolder::on_started() {
    auto library = std::move(*started_->library);
    started_->library.reset();
    if (!library)
        return callbacks_.on_failure(library.failure());
    library_ = std::move(*library);
    context_.library = library_.get();
    if (!is_late_) {
        context_.library_address = library_->address();
        callbacks_.on_address();
    }
    // Who was let go is not yet registered; others are let go by the library.
    if (!has_let_go_ && !admit())
        return;
    thread_->run("PMIx_Register_event_handler", [&log = context_.log] {
        listen_to_monitors([&log](pmix_status_t status) {
            if (status != PMIX_SUCCESS)
                log.error("what libpmix' monitors find is not told to other hosts: {}", PMIx_Error_string(status));
        });
        listen_to_stops([&log](pmix_status_t status) {
            if (status != PMIX_SUCCESS)
                log.error("debuggers are not told of who has stopped: {}", PMIx_Error_string(status));
        });
    });
    callbacks_.on_up();
}

void LibraryHolder::on_registered() {
    if (has_let_go_)
        admit();
}

bool LibraryHolder::admit() {
    PmixLibrary::Door door{callbacks_.on_failure};
    door.let_in = [this](const std::string &nspace, Rank rank, const std::string &version) {
        if (nspace == context_.step.nspace)
            context_.client_libraries.let_in(rank, parse_library_version(version));
    };
    door.turned_away = [this](const std::string &nspace, Rank rank, const std::string &why) {
        if (nspace == context_.step.nspace)
            context_.client_libraries.turned_away(rank, why);
    };
    door.tool_may_come = callbacks_.tool_may_come;
    door.tool_came = callbacks_.tool_came;
    door.tool_may_be_called = callbacks_.tool_may_be_called;
    door.most_tools = context_.settings.tools_max_connections;
    auto guarded = library_->admit_clients(context_.log, std::move(door));
    if (!guarded)
        callbacks_.on_failure(guarded.failure());
    return guarded.ok();
}

// The clients of this host would wait for ever, and nothing can be asked of libpmix any more. The loop
// goes round, so the step can be ended in an orderly way.
void LibraryHolder::on_stuck(const std::string &why) {
    context_.library_stuck = true;
    if (callbacks_.on_stuck())
        return context_.log.error("{}", why);
    evidence_.capture(why, [this, why](const std::string &where) {
        callbacks_.on_failure(error(ErrorKind::timeout, "{}{}", why, where));
    });
}

bool LibraryHolder::settle() {
    return !is_starting_ || library_ || thread_->end(settling_patience);
}

void LibraryHolder::stop() {
    context_.library = nullptr;
    library_.reset();
    if (thread_->end(ending_patience))
        started_->library.reset(); // it needs the thread
}

} // namespace pmixhost
