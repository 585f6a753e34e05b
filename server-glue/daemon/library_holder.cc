// See library_holder.h.
#include "server-glue/daemon/library_holder.h"

#include "server-glue/daemon/module_table.h"
#include "server-glue/debug/stop_ask.h"
#include "server-glue/events/monitors.h"
#include "server-glue/library/pmix_library.h"

#include <pmix.h>

namespace pmixhost {

// The time for what libpmix has still to do when this object ends; mostly the process ends before.
static constexpr auto ending_patience = std::chrono::seconds(5);

LibraryHolder::LibraryHolder(StepContext &context, std::unique_ptr<LibraryThread> thread, std::string directory,
                             std::string store, EvidencePlace evidence, Callbacks callbacks)
    : context_(context), directory_(std::move(directory)), store_(std::move(store)), callbacks_(std::move(callbacks)),
      thread_(std::move(thread)), evidence_(context.loop, context.log, std::move(evidence)) {}

LibraryHolder::~LibraryHolder() = default;

void LibraryHolder::start() {
    PmixLibrary::Options options{context_.step.server_nspace(), context_.self(), directory_, context_.host_name(),
                                 store_};
    if (context_.settings.daemon_topology == "kept")
        options.topology_file = context_.step.topology_file;
    thread_->run("PMIx_server_init", [this, options] {
        auto library = std::make_shared<Result<std::unique_ptr<PmixLibrary>>>(
            PmixLibrary::start(context_.loop, *thread_, options, module_table()));
        context_.loop.post([this, library] { on_started(std::move(*library)); });
    });
    // It is watched from now on, because the start itself may take too long.
    watch_.emplace(context_.loop, *thread_, context_.settings.daemon_library_timeout, PmixLibrary::ask,
                   [this](const std::string &why) { on_stuck(why); });
}

void LibraryHolder::on_started(Result<std::unique_ptr<PmixLibrary>> library) {
    if (!library)
        return callbacks_.on_failure(library.failure());
    library_ = std::move(*library);
    context_.library = library_.get();
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
    if (auto guarded = library_->admit_clients(context_.log, std::move(door)); !guarded)
        return callbacks_.on_failure(guarded.failure());
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

void LibraryHolder::stop() {
    context_.library = nullptr;
    library_.reset();
    thread_->end(ending_patience);
}

} // namespace pmixhost
