// Upcall of fence.
#include "server-glue/collective/fence_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <cstdlib>

namespace pmixhost {

namespace {

using namespace upcall;

DataReply data_reply(pmix_modex_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status, Bytes bytes) {
                in_answering_thread([callback, data, status, bytes = std::move(bytes)]() mutable {
                    auto *owned = new Bytes(std::move(bytes));
                    callback(
                        status, owned->empty() ? nullptr : owned->data(), owned->size(), data,
                        [](void *object) { delete static_cast<Bytes *>(object); }, owned);
                });
            },
            PMIX_ERROR, Bytes()};
}

// A required directive that is not known is refused.
void read(const pmix_info_t &directive, FenceAsk &ask) {
    if (PMIX_CHECK_KEY(&directive, PMIX_TIMEOUT)) {
        ask.timeout = seconds_of(directive.value);
    } else if (PMIX_CHECK_KEY(&directive, PMIX_LOCAL_COLLECTIVE_STATUS)) {
        if (directive.value.type == PMIX_STATUS)
            ask.local_status = directive.value.data.status;
    } else if (PMIX_CHECK_KEY(&directive, PMIX_COLLECT_DATA)) {
        ask.collects = flag_of(directive.value); // the library has done it
    } else if (PMIX_INFO_IS_REQUIRED(&directive)) {
        for (const char *key : {PMIX_REQUIRED_KEY, PMIX_COLLECT_GENERATED_JOB_INFO, PMIX_SORTED_PROC_ARRAY}) {
            if (PMIX_CHECK_KEY(&directive, key))
                return; // the library has done it, every fence does, or it is of no consequence here
        }
        ask.refused = PMIX_ERR_NOT_SUPPORTED;
    }
}

// No way of doing it has a name here, so whoever insists on one is refused. Newer libraries do not know these keys.
bool insists_on_an_algorithm(const pmix_info_t info[], std::size_t count) {
#ifdef PMIX_COLLECTIVE_ALGO_REQD
    bool named = false, required = false;
    for (std::size_t i = 0; info && i < count; ++i) {
        named = named || PMIX_CHECK_KEY(&info[i], PMIX_COLLECTIVE_ALGO);
        required = required || (PMIX_CHECK_KEY(&info[i], PMIX_COLLECTIVE_ALGO_REQD) && flag_of(info[i].value));
    }
    return named && required;
#else
    (void)info;
    (void)count;
    return false;
#endif
}

pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[], std::size_t ninfo,
                       char *blob, std::size_t size, pmix_modex_cbfunc_t callback, void *data) {
    // The blob is the host's to free, whatever the upcall returns (libpmix 4.2.2 and 5.0.7 never do).
    std::unique_ptr<char, void (*)(void *)> owner(blob, std::free);
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        FenceAsk ask;
        for (std::size_t i = 0; info && i < ninfo; ++i)
            read(info[i], ask);
        if (insists_on_an_algorithm(info, ninfo))
            ask.refused = PMIX_ERR_NOT_SUPPORTED;
        ask.participants = processes_of(procs, count);
        if (ask.refused == PMIX_SUCCESS && size > upcalls.handlers.shared<CollectiveLimits>()->bytes)
            ask.refused = PMIX_ERR_OUT_OF_RESOURCE;
        if (ask.refused == PMIX_SUCCESS && blob) {
            try {
                ask.data.assign(blob, size);
            } catch (const std::bad_alloc &) {
                ask.refused = PMIX_ERR_OUT_OF_RESOURCE; // the other hosts must hear of it
            }
        }
        owner.reset(); // there may be no room for both
        ask.reply = data_reply(callback, data);
        post_at_once(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_fence_upcall(pmix_server_module_t &module) {
    module.fence_nb = on_fence;
}
} // namespace upcall

} // namespace pmixhost
