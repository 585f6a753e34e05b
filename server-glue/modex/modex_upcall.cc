// Upcall of direct modex.
#include "server-glue/library/upcall_tools.h"
#include "server-glue/modex/modex_ask.h"

#include <cstring>
#include <set>

namespace pmixhost {

namespace {

using namespace upcall;

// Direct modexes that libpmix is not through with, by its own name of them. Only for its progress thread.
struct UnderWay {
    std::set<void *> requests;
};

// libpmix is through with a direct modex when it frees what it was given, in its progress thread.
struct GivenModex {
    Bytes bytes;
    void *request;
};
DataReply modex_reply(pmix_modex_cbfunc_t callback, void *data) {
    return {[callback, data](pmix_status_t status, Bytes bytes) {
                in_answering_thread([callback, data, status, bytes = std::move(bytes)]() mutable {
                    auto *given = new GivenModex{std::move(bytes), data};
                    callback(
                        status, given->bytes.empty() ? nullptr : given->bytes.data(), given->bytes.size(), data,
                        [](void *object) {
                            std::unique_ptr<GivenModex> owner(static_cast<GivenModex *>(object));
                            if (Upcalls *upcalls = current())
                                upcalls->handlers.shared<UnderWay>()->requests.erase(owner->request);
                        },
                        given);
                });
            },
            PMIX_ERROR, Bytes()};
}

// What a client's or this server's library has obeyed already, or, of fences, what is of no consequence here.
bool is_for_the_library(const pmix_info_t &directive) {
    for (const char *key : {PMIX_IMMEDIATE, PMIX_OPTIONAL, PMIX_DATA_SCOPE, PMIX_GET_POINTER_VALUES,
                            PMIX_GET_STATIC_VALUES, PMIX_JOB_INFO, PMIX_APP_INFO, PMIX_NODE_INFO, PMIX_SESSION_INFO,
                            PMIX_APPNUM, PMIX_HOSTNAME, PMIX_NODEID, PMIX_SESSION_ID, PMIX_LOCAL_COLLECTIVE_STATUS,
                            PMIX_COLLECT_DATA, PMIX_COLLECT_GENERATED_JOB_INFO, PMIX_SORTED_PROC_ARRAY}) {
        if (PMIX_CHECK_KEY(&directive, key))
            return true;
    }
    return false;
}

// A required directive that is not known is refused.
pmix_status_t read(const pmix_info_t &directive, ModexAsk &ask) {
    if (PMIX_CHECK_KEY(&directive, PMIX_TIMEOUT)) {
        ask.timeout = seconds_of(directive.value);
    } else if (PMIX_CHECK_KEY(&directive, PMIX_REQUIRED_KEY)) {
        // Reserved keys are the host's and the library's, and no process posts them.
        const char *key = directive.value.type == PMIX_STRING ? directive.value.data.string : nullptr;
        if (key && strncmp(key, "pmix", 4) != 0)
            ask.key.assign(key, strnlen(key, PMIX_MAX_KEYLEN));
    } else if (PMIX_CHECK_KEY(&directive, PMIX_GET_REFRESH_CACHE)) {
        ask.anew = flag_of(directive.value);
    } else if (PMIX_INFO_IS_REQUIRED(&directive) && !is_for_the_library(directive)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

// A namespace that is registered while processes of it are asked for makes libpmix put the same request
// once more: there is one answer to both, or it would free the request twice.
pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t ninfo,
                              pmix_modex_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        auto under_way = upcalls.handlers.shared<UnderWay>();
        if (!callback || under_way->requests.contains(data))
            return PMIX_SUCCESS;
        ModexAsk ask;
        for (std::size_t i = 0; info && i < ninfo; ++i) {
            if (pmix_status_t status = read(info[i], ask); status != PMIX_SUCCESS)
                return status;
        }
        ask.target = process_of(*proc);
        auto entry = under_way->requests.insert(data).first;
        try {
            ask.reply = modex_reply(callback, data);
            post_at_once(upcalls, std::move(ask));
        } catch (...) {
            under_way->requests.erase(entry);
            throw;
        }
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_modex_upcall(pmix_server_module_t &module) {
    module.direct_modex = on_direct_modex;
}
} // namespace upcall

} // namespace pmixhost
