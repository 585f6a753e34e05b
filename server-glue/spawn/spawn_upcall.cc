// The upcall of PMIx_Spawn. Always answered through the callback: libpmix 4.2.2 frees what it copied
// both itself and through the callback's object when the upcall returns an error.
#include "server-glue/library/upcall_tools.h"
#include "server-glue/spawn/spawn_ask.h"
#include "server-glue/spawn/spawn_request.h"

namespace pmixhost {

namespace {

using namespace upcall;

SpawnAnswer spawn_answer(pmix_spawn_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status, std::string nspace) {
                // In the library's thread: 4.2.2 touches its own lists in the callback.
                in_progress_thread([callback, data, status, nspace = std::move(nspace)]() mutable {
                    callback(status, nspace.empty() ? nullptr : nspace.data(), data);
                });
            },
            PMIX_ERROR, std::string()};
}

pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t info_count,
                       const pmix_app_t apps[], std::size_t app_count, pmix_spawn_cbfunc_t callback, void *data) {
    pmix_status_t status = guarded([&](Upcalls &upcalls) {
        SpawnAsk ask;
        ask.caller = process_of(*proc);
        auto request = copy_spawn_request(info, info_count, apps, app_count);
        if (request) {
            ask.request = std::move(*request);
        } else {
            ask.refused = status_of(request.failure());
            ask.why = request.failure().text;
        }
        ask.reply = spawn_answer(callback, data);
        post(upcalls, std::move(ask));
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
    });
    // Needs no memory; of an error nothing is entered in the lists.
    if (status != PMIX_SUCCESS && callback)
        in_library_thread([callback, data] { callback(PMIX_ERR_NOMEM, nullptr, data); });
    return PMIX_SUCCESS;
}

} // namespace

namespace upcall {
void add_spawn_upcall(pmix_server_module_t &module) {
    module.spawn = on_spawn;
}
} // namespace upcall

} // namespace pmixhost
