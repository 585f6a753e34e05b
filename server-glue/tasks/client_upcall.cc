// Upcalls of clients that come and go.
#include "server-glue/library/upcall_tools.h"
#include "server-glue/tasks/client_asks.h"

namespace pmixhost {

namespace {

using namespace upcall;

pmix_status_t on_connected2(const pmix_proc_t *proc, void *, pmix_info_t[], std::size_t, pmix_op_cbfunc_t callback,
                            void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        post_at_once(upcalls, ClientConnectedAsk{process_of(*proc), status_reply(callback, data)});
        return PMIX_SUCCESS;
    });
}

// The library notes that a process has finalized only after it has answered it. When the process closes its
// connection before that, the library counts one process less on this host for good. In libpmix' own thread nothing
// comes between.
StatusReply finalize_reply(pmix_op_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status) {
                in_progress_thread([callback, data, status] { callback(status, data); });
            },
            PMIX_ERROR};
}

pmix_status_t on_finalized(const pmix_proc_t *proc, void *, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        post_at_once(upcalls, ClientFinalizedAsk{process_of(*proc), finalize_reply(callback, data)});
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_client_upcalls(pmix_server_module_t &module) {
    module.client_connected2 = on_connected2;
    module.client_finalized = on_finalized;
}
} // namespace upcall

} // namespace pmixhost
