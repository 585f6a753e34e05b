// The upcall of a tool that connects. What libpmix says of its user is the tool's own claim and is not looked at: the
// guard has asked the kernel.
#include "server-glue/library/library_version.h"
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

// From 5.0.9 on the name that a tool has stated takes the place of what it sent itself under these keys, which else
// stands there as it came.
std::optional<Process> name_among(const pmix_info_t info[], std::size_t count) {
    const pmix_info_t *nspace = nullptr, *rank = nullptr;
    for (std::size_t i = 0; info && i < count; ++i) {
        if (!nspace && PMIX_CHECK_KEY(&info[i], PMIX_NSPACE) && info[i].value.type == PMIX_STRING)
            nspace = &info[i];
        else if (!rank && PMIX_CHECK_KEY(&info[i], PMIX_RANK) && info[i].value.type == PMIX_PROC_RANK)
            rank = &info[i];
    }
    if (!nspace || !rank || !nspace->value.data.string)
        return std::nullopt;
    return Process{nspace->value.data.string, rank->value.data.rank};
}

// Behind what the tool sent the library puts the version and the user, and then the name, if the tool has stated one
// in its first message; what the tool itself sent under these keys is no name. Where it sent fewer than it says, as
// many places stay empty at the end.
std::optional<Process> stated_name(const pmix_info_t info[], std::size_t count) {
    if (library_mixes_names_of_tools())
        return name_among(info, count);
    while (info && count > 0 && info[count - 1].key[0] == '\0')
        --count;
    if (!info || count < 3)
        return std::nullopt;
    const pmix_info_t &nspace = info[count - 2], &rank = info[count - 1];
    if (!PMIX_CHECK_KEY(&info[count - 3], PMIX_GRPID) || !PMIX_CHECK_KEY(&nspace, PMIX_NSPACE) ||
        !PMIX_CHECK_KEY(&rank, PMIX_RANK) || nspace.value.type != PMIX_STRING || !nspace.value.data.string ||
        rank.value.type != PMIX_PROC_RANK)
        return std::nullopt;
    return Process{nspace.value.data.string, rank.value.data.rank};
}

void on_tool_connected(pmix_info_t info[], std::size_t count, pmix_tool_connection_cbfunc_t callback, void *data) {
    guarded([&](Upcalls &upcalls) -> pmix_status_t {
        ToolConnectedAsk ask;
        ask.name = stated_name(info, count);
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
