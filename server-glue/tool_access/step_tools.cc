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

std::optional<Result<void>> StepTools::may_come(pid_t pid) {
    if (rights_.switched_off())
        return error(ErrorKind::denied, "tools are switched off here (tools.enabled)");
    // Who may look may come: of a query libpmix does not say whose it is.
    auto allowed = rights_.may(policy::Action::observe, pid, context_.step.job_id);
    if (!allowed)
        return std::nullopt;
    if (*allowed)
        return Result<void>();
    const policy::Decision &why = *rights_.decision(policy::Action::observe);
    return error(ErrorKind::denied, "the rules for tools refuse it: {} \"{}\"", why.by.place, why.by.text);
}

// The rules have been read: no tool is here before.
bool StepTools::may(const Process &process, policy::Action action) {
    if (process.nspace == context_.step.nspace || !is_tool(process))
        return true;
    return rights_.may(action, 0, context_.step.job_id).value_or(false);
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
    if (rights_.switched_off() || context_.directory.empty() || ::gethostname(host, sizeof host - 1) != 0)
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
