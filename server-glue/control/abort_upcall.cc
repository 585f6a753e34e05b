// Upcall of abort.
#include "server-glue/control/abort_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <cstring>

namespace pmixhost {

namespace {

using namespace upcall;

pmix_status_t on_abort(const pmix_proc_t *proc, void *, int status, const char message[], pmix_proc_t procs[],
                       std::size_t count, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        AbortAsk ask;
        ask.caller = process_of(*proc);
        ask.status = status;
        ask.message = message ? std::string(message, strnlen(message, 4096)) : std::string();
        ask.targets = processes_of(procs, count);
        ask.reply = status_reply(callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_abort_upcall(pmix_server_module_t &module) {
    module.abort = on_abort;
}
} // namespace upcall

} // namespace pmixhost
