// The upcall of groups: construct and destruct. What the library does by itself (a group of
// processes of this host alone, without a context id) does not come here, but its destruction does: with some
// versions twice, one call behind the other, for one answer.
//
// It is always answered through the callback. Of an error that the upcall returns, all versions (read in 4.2.2 to
// 6.1.0) free the object of the caller twice, and forget the other callers of this host, who then wait for ever.
#include "server-glue/collective/fence_ask.h"
#include "server-glue/groups/group_ask.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/member_data.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/upcall_tools.h"

#include <algorithm>

namespace pmixhost {

namespace {

using namespace upcall;

constexpr const char *bootstrap_key = "pmix.grp.boot"; // PMIX_GROUP_BOOTSTRAP, from libpmix 6 on

GroupReply group_reply(pmix_info_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status, GroupAnswer answer) {
                in_library_thread([callback, data, status, answer = std::move(answer)] {
                    auto *results = new InfoList;
                    if (status == PMIX_SUCCESS && !answer.members.empty()) // 4.2.2 takes no notice of them
                        results->add_processes(PMIX_GROUP_MEMBERSHIP, procs_of(answer.members));
                    if (answer.context_id)
                        results->add(PMIX_GROUP_CONTEXT_ID, *answer.context_id);
                    if (!answer.endpoints.empty() && library_gives_data_of_each_member())
                        member_data::hand_over(answer.endpoints, procs_of(answer.members),
                                               answer.context_id.has_value(), *results);
                    else if (!answer.endpoints.empty())
                        results->add_bytes(PMIX_GROUP_ENDPT_DATA, answer.endpoints);
                    callback(
                        status, results->data(), results->size(), data,
                        [](void *object) { delete static_cast<InfoList *>(object); }, results);
                });
            },
            PMIX_ERROR, GroupAnswer()};
}

// libpmix' own thread alone.
struct TakenDestruction {
    // The object for the answer of the last one that may be handed on once more, until it is answered.
    const void *data = nullptr;
};

// Of a destruction that may be handed on once more: by libpmix' own thread, which is then through with both calls, so
// that the object for the answer is there at the second one, and none of a later destruction is taken for it. In the
// same way what is refused at once is answered: the upcall has then returned.
void answer_status(pmix_info_cbfunc_t callback, void *data, pmix_status_t status) {
    in_progress_thread([callback, data, status] {
        Upcalls *upcalls = current();
        auto taken = upcalls ? upcalls->handlers.shared<TakenDestruction>() : nullptr;
        if (taken && taken->data == data)
            taken->data = nullptr;
        if (callback)
            callback(status, nullptr, 0, data, nullptr, nullptr);
    });
}

GroupReply reply_to_both(pmix_info_cbfunc_t callback, void *data) {
    return {[callback, data](pmix_status_t status, const GroupAnswer &) { answer_status(callback, data, status); },
            PMIX_ERROR, GroupAnswer()};
}

void read(const pmix_info_t &info, GroupAsk &ask, std::uint64_t most_bytes) {
    bool flag = flag_of(info.value);
    if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) {
        ask.timeout = seconds_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOCAL_COLLECTIVE_STATUS)) {
        if (info.value.type == PMIX_STATUS)
            ask.local_status = info.value.data.status;
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
        ask.wants_context = flag;
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_NOTIFY_TERMINATION)) {
        ask.tells_of_ends = flag;
        ask.must_bear_ends = ask.must_bear_ends || (flag && PMIX_INFO_IS_REQUIRED(&info));
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_OPTIONAL) || PMIX_CHECK_KEY(&info, PMIX_GROUP_FT_COLLECTIVE)) {
        ask.tolerant = ask.tolerant || flag;
        ask.must_bear_ends = ask.must_bear_ends || (flag && PMIX_INFO_IS_REQUIRED(&info));
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ENDPT_DATA)) {
        if (info.value.type != PMIX_BYTE_OBJECT || !info.value.data.bo.bytes || library_gives_data_of_each_member())
            return; // a member's own word, which is nothing to libpmix 6
        if (info.value.data.bo.size > most_bytes)
            ask.refused = PMIX_ERR_OUT_OF_RESOURCE;
        else
            ask.endpoints.assign(info.value.data.bo.bytes, info.value.data.bo.size);
    } else if (library_gives_data_of_each_member() && member_data::is_one(info)) {
        auto packed = pack_infos(&info, 1);
        if (!packed || ask.endpoints.size() + packed->size() > most_bytes)
            ask.refused = packed ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_PACK_FAILURE;
        else
            ask.endpoints += *packed;
    } else if (library_gives_data_of_each_member() &&
               (PMIX_CHECK_KEY(&info, PMIX_GROUP_ADD_MEMBERS) || PMIX_CHECK_KEY(&info, bootstrap_key))) {
        ask.refused = PMIX_ERR_NOT_SUPPORTED; // it is the host that would have to wait for them
    } else if (PMIX_INFO_IS_REQUIRED(&info)) {
        for (const char *key : {PMIX_GROUP_LEADER, PMIX_GROUP_LOCAL_ONLY, PMIX_SORTED_PROC_ARRAY, PMIX_EMBED_BARRIER,
                                PMIX_GROUP_INFO, PMIX_GROUP_ID}) {
            if (PMIX_CHECK_KEY(&info, key))
                return; // the library's, or of no consequence here
        }
        ask.refused = PMIX_ERR_NOT_SUPPORTED;
    }
}

bool has_flag(const pmix_info_t directives[], std::size_t count, const char *key) {
    return directives && std::any_of(directives, directives + count, [key](const pmix_info_t &info) {
               return PMIX_CHECK_KEY(&info, key) && flag_of(info.value);
           });
}

// A member that libpmix 6 adds (PMIX_GROUP_BOOTSTRAP) names no process.
pmix_status_t kind_of(pmix_group_operation_t operation, std::size_t count, CollectiveKind &kind) {
    if (operation != PMIX_GROUP_CONSTRUCT && operation != PMIX_GROUP_DESTRUCT)
        return PMIX_ERR_NOT_SUPPORTED;
    kind = operation == PMIX_GROUP_CONSTRUCT ? CollectiveKind::group_construct : CollectiveKind::group_destruct;
    return count == 0 ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

pmix_status_t on_group(pmix_group_operation_t operation, char *name, const pmix_proc_t procs[], std::size_t count,
                       const pmix_info_t directives[], std::size_t ndirs, pmix_info_cbfunc_t callback, void *data) {
    pmix_status_t status = guarded([&](Upcalls &upcalls) -> pmix_status_t {
        // Which of those that have the flag are handed on twice cannot be told: a program may have given it. And where
        // a member is a wildcard the library gives it to a group of several hosts too.
        bool perhaps_twice = operation == PMIX_GROUP_DESTRUCT && library_destructs_local_groups_twice() &&
                             has_flag(directives, ndirs, PMIX_GROUP_LOCAL_ONLY);
        if (perhaps_twice) {
            auto taken = upcalls.handlers.shared<TakenDestruction>();
            if (data && taken->data == data)
                return PMIX_SUCCESS; // the answer to the first call is that to both
            taken->data = data;
        }
        GroupAsk ask;
        if (pmix_status_t refused = kind_of(operation, procs ? count : 0, ask.kind); refused != PMIX_SUCCESS)
            return refused;
        ask.members = processes_of(procs, count);
        const std::uint64_t most_bytes = upcalls.handlers.shared<CollectiveLimits>()->bytes;
        for (std::size_t i = 0; directives && i < ndirs; ++i)
            read(directives[i], ask, most_bytes);
        if (name && *name)
            ask.name = name;
        else
            ask.refused = PMIX_ERR_BAD_PARAM; // as on all hosts of its members, who hear of it
        ask.tolerant = ask.tolerant || ask.tells_of_ends;
        ask.reply = perhaps_twice ? reply_to_both(callback, data) : group_reply(callback, data);
        post_at_once(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
    if (status != PMIX_SUCCESS)
        answer_status(callback, data, status);
    return PMIX_SUCCESS;
}

} // namespace

namespace upcall {
void add_group_upcall(pmix_server_module_t &module) {
    module.group = on_group;
}
} // namespace upcall

} // namespace pmixhost
