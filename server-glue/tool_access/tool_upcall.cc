// The upcall of a tool that connects. What libpmix says of its user is the tool's own claim and is not looked at: the
// guard has asked the kernel.
#include "server-glue/library/upcall_tools.h"
#include "server-glue/tool_access/tool_ask.h"

namespace pmixhost {

namespace {

using namespace upcall;

OneShot<Process> tool_answer(const std::optional<Process> &name, pmix_tool_connection_cbfunc_t callback, void *data) {
    return {[callback, data](Process given) {
                in_library_thread([callback, data, given = std::move(given)] {
                    pmix_proc_t proc = proc_of(given.nspace, given.rank);
                    callback(PMIX_SUCCESS, &proc, data);
                });
            },
            name.value_or(Process{"pmixhost.tool", 0})};
}

void on_tool_connected(pmix_info_t info[], std::size_t count, pmix_tool_connection_cbfunc_t callback, void *data) {
    guarded([&](Upcalls &upcalls) -> pmix_status_t {
        ToolConnectedAsk ask;
        std::optional<Bytes> nspace;
        std::optional<Rank> rank;
        // The library adds its own behind what the tool sent: the last one counts.
        for (std::size_t i = 0; info && i < count; ++i) {
            const pmix_value_t &value = info[i].value;
            if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE) && value.type == PMIX_STRING && value.data.string)
                nspace = value.data.string;
            else if (PMIX_CHECK_KEY(&info[i], PMIX_RANK) && value.type == PMIX_PROC_RANK)
                rank = value.data.rank;
        }
        if (nspace && rank)
            ask.name = Process{*nspace, *rank};
        ask.answer = tool_answer(ask.name, callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_tool_upcall(pmix_server_module_t &module) {
    module.tool_connected = on_tool_connected;
}
} // namespace upcall

} // namespace pmixhost
