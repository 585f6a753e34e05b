// Upcalls of connect and disconnect: collectives over processes of one or several namespaces.
#include "server-glue/collective/connect_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <cstring>

namespace pmixhost {

namespace {

using namespace upcall;

pmix_status_t post_connect(CollectiveKind kind, const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[],
                           std::size_t ninfo, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        ConnectAsk ask;
        ask.kind = kind;
        for (std::size_t i = 0; info && i < ninfo; ++i) {
            if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT)) {
                ask.timeout = seconds_of(info[i].value);
            } else if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) {
                if (info[i].value.type == PMIX_STATUS)
                    ask.local_status = info[i].value.data.status;
            } else if (!PMIX_CHECK_KEY(&info[i], PMIX_SORTED_PROC_ARRAY) && PMIX_INFO_IS_REQUIRED(&info[i])) {
                ask.refused = PMIX_ERR_NOT_SUPPORTED;
            }
        }
        ask.participants = processes_of(procs, count);
        ask.reply = status_reply(callback, data);
        post_at_once(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_connect(const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[], std::size_t ninfo,
                         pmix_op_cbfunc_t callback, void *data) {
    return post_connect(CollectiveKind::connect, procs, count, info, ninfo, callback, data);
}
pmix_status_t on_disconnect(const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[], std::size_t ninfo,
                            pmix_op_cbfunc_t callback, void *data) {
    return post_connect(CollectiveKind::disconnect, procs, count, info, ninfo, callback, data);
}

} // namespace

namespace upcall {
void add_connect_upcalls(pmix_server_module_t &module) {
    module.connect = on_connect;
    module.disconnect = on_disconnect;
}
} // namespace upcall

} // namespace pmixhost
