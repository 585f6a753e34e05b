// See step_tools.h.
#include "server-glue/tool_access/step_tools.h"

#include "common/rendezvous/rendezvous_files.h"
#include "common/text/printable.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"

#include <climits>
#include <ctime>
#include <unistd.h>

namespace pmixhost {

void StepTools::take_asks(UpcallHandlers &handlers) {
    handlers.on<ToolConnectedAsk>([this](ToolConnectedAsk ask) { connected(std::move(ask)); });
}

// A name that is given here is of this host and this step, so no other tool of the system has it.
void StepTools::connected(ToolConnectedAsk ask) {
    Process name =
        ask.name.value_or(Process{fmt::format("{}.tool.{}.{}", context_.step.nspace, context_.self(), named_ + 1), 0});
    if (!ask.name)
        ++named_;
    if (tools_.size() < max_remembered)
        tools_.insert({name.nspace, name.rank});
    context_.log.info("a tool has connected: {}, rank {}", printable(name.nspace), name.rank);
    ask.answer(std::move(name));
}

// The job goes on without tools.
void StepTools::on_library() {
    char host[HOST_NAME_MAX + 1] = "";
    if (context_.directory.empty() || ::gethostname(host, sizeof host - 1) != 0)
        return;
    RendezvousServer server{context_.step.server_nspace(),
                            context_.self(),
                            context_.library->address(),
                            text_of(library_version()),
                            ::getpid(),
                            ::geteuid(),
                            ::getegid(),
                            std::time(nullptr)};
    if (server.address.empty())
        return;
    auto written = write_rendezvous_files(context_.directory, rendezvous_names(host, server, context_.step.nspace),
                                          rendezvous_text(server));
    if (!written)
        context_.log.warning("tools do not find this step: {}", written.failure().text);
}

} // namespace pmixhost
