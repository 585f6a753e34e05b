// See upcalls.h.
//
// Answers are posted back by the library itself: its callbacks may be called from any thread, and
// only shift to its own. They are never called from within an upcall, because the handler runs in
// the loop's thread.
#include "server-glue/upcalls.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace pmixhost {

namespace {

// The one pointer that the module table without a user argument forces on us. Set before
// PMIx_server_init, cleared after PMIx_server_finalize.
std::atomic<Upcalls *> current{nullptr};

// The boundary: nothing that happens in an upcall goes up into libpmix but a status.
template <typename Body> pmix_status_t guarded(Body body) {
    Upcalls *upcalls = current.load(std::memory_order_acquire);
    if (!upcalls)
        return PMIX_ERR_NOT_AVAILABLE;
    try {
        return body(*upcalls);
    } catch (const std::bad_alloc &) {
        return PMIX_ERR_NOMEM;
    } catch (...) {
        return PMIX_ERROR;
    }
}

Process process_of(const pmix_proc_t &proc) {
    // The name may fill its array without a final NUL.
    return {Bytes(proc.nspace, strnlen(proc.nspace, PMIX_MAX_NSLEN)), proc.rank,
            proc.rank == PMIX_RANK_WILDCARD};
}

std::vector<Process> processes_of(const pmix_proc_t *procs, std::size_t count) {
    std::vector<Process> out;
    out.reserve(count);
    for (std::size_t i = 0; procs && i < count; ++i)
        out.push_back(process_of(procs[i]));
    return out;
}

StatusReply status_reply(pmix_op_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status) { callback(status, data); }, PMIX_ERROR};
}

DataReply data_reply(pmix_modex_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status, Bytes bytes) {
                auto *owned = new Bytes(std::move(bytes));
                callback(
                    status, owned->empty() ? nullptr : owned->data(), owned->size(), data,
                    [](void *object) { delete static_cast<Bytes *>(object); }, owned);
            },
            PMIX_ERROR, Bytes()};
}

// std::function wants something copyable; requests are not.
template <typename Request>
void post(Upcalls &upcalls, Request request, void (UpcallHandler::*method)(Request)) {
    auto shared = std::make_shared<Request>(std::move(request));
    upcalls.loop.post([&upcalls, shared, method] { (upcalls.handler.*method)(std::move(*shared)); });
}

// A timeout in seconds, whatever integer type the caller gave it; nullopt when it is none.
std::optional<std::chrono::seconds> seconds_of(const pmix_value_t &value) {
    long long seconds = 0;
    switch (value.type) {
    case PMIX_INT: seconds = value.data.integer; break;
    case PMIX_UINT: seconds = value.data.uint; break;
    case PMIX_INT32: seconds = value.data.int32; break;
    case PMIX_UINT32: seconds = value.data.uint32; break;
    case PMIX_INT64: seconds = value.data.int64; break;
    case PMIX_SIZE: seconds = static_cast<long long>(std::min<std::size_t>(value.data.size, INT32_MAX)); break;
    default: return std::nullopt;
    }
    if (seconds <= 0) // PMIX_TIMEOUT of 0: wait without limit (standard, 3.4.29)
        return std::chrono::seconds(0);
    return std::chrono::seconds(std::min<long long>(seconds, INT32_MAX));
}

// Reads the directives that fence and direct modex know; a required one that is not known is
// refused.
struct Directives {
    pmix_status_t refused = PMIX_SUCCESS;
    pmix_status_t local_status = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
};
Directives directives_of(const pmix_info_t *info, std::size_t count) {
    Directives out;
    for (std::size_t i = 0; info && i < count; ++i) {
        const pmix_info_t &directive = info[i];
        if (PMIX_CHECK_KEY(&directive, PMIX_TIMEOUT))
            out.timeout = seconds_of(directive.value);
        else if (PMIX_CHECK_KEY(&directive, PMIX_LOCAL_COLLECTIVE_STATUS)) {
            if (directive.value.type == PMIX_STATUS)
                out.local_status = directive.value.data.status;
        } else if (PMIX_CHECK_KEY(&directive, PMIX_COLLECT_DATA) ||
                   PMIX_CHECK_KEY(&directive, PMIX_COLLECT_GENERATED_JOB_INFO) ||
                   PMIX_CHECK_KEY(&directive, PMIX_REQUIRED_KEY) ||
                   PMIX_CHECK_KEY(&directive, PMIX_SORTED_PROC_ARRAY)) {
            continue; // the library has done it, or every fence does
        } else if (PMIX_INFO_IS_REQUIRED(&directive)) {
            out.refused = PMIX_ERR_NOT_SUPPORTED;
        }
    }
    return out;
}

pmix_status_t on_connected2(const pmix_proc_t *proc, void *, pmix_info_t[], std::size_t,
                            pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) {
        post(upcalls, ClientEvent{process_of(*proc), status_reply(callback, data)},
             &UpcallHandler::client_connected);
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_finalized(const pmix_proc_t *proc, void *, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) {
        post(upcalls, ClientEvent{process_of(*proc), status_reply(callback, data)},
             &UpcallHandler::client_finalized);
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_abort(const pmix_proc_t *proc, void *, int status, const char message[],
                       pmix_proc_t procs[], std::size_t count, pmix_op_cbfunc_t callback,
                       void *data) {
    return guarded([&](Upcalls &upcalls) {
        AbortRequest request;
        request.caller = process_of(*proc);
        request.status = status;
        request.message = message ? std::string(message, strnlen(message, 4096)) : std::string();
        request.targets = processes_of(procs, count);
        request.reply = status_reply(callback, data);
        post(upcalls, std::move(request), &UpcallHandler::abort);
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[],
                       std::size_t ninfo, char *blob, std::size_t size,
                       pmix_modex_cbfunc_t callback, void *data) {
    // The blob is the host's to free once it takes the request on (libpmix 4.2.2 does not).
    return guarded([&](Upcalls &upcalls) {
        auto directives = directives_of(info, ninfo);
        FenceRequest request;
        request.participants = processes_of(procs, count);
        request.refused = directives.refused;
        if (request.refused == PMIX_SUCCESS && size > upcalls.max_fence_bytes)
            request.refused = PMIX_ERR_OUT_OF_RESOURCE;
        if (request.refused == PMIX_SUCCESS && blob)
            request.data.assign(blob, size);
        request.local_status = directives.local_status;
        request.timeout = directives.timeout;
        request.reply = data_reply(callback, data);
        post(upcalls, std::move(request), &UpcallHandler::fence);
        std::free(blob);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
    });
}

pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t ninfo,
                              pmix_modex_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) {
        auto directives = directives_of(info, ninfo);
        if (directives.refused != PMIX_SUCCESS)
            return directives.refused;
        post(upcalls,
             ModexAsk{process_of(*proc), directives.timeout, data_reply(callback, data)},
             &UpcallHandler::direct_modex);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
    });
}

pmix_server_module_t make_module() {
    pmix_server_module_t module{};
    module.client_connected2 = on_connected2;
    module.client_finalized = on_finalized;
    module.abort = on_abort;
    module.fence_nb = on_fence;
    module.direct_modex = on_direct_modex;
    return module;
}

} // namespace

Upcalls::Upcalls(EventLoop &l, UpcallHandler &h, std::uint64_t max)
    : loop(l), handler(h), max_fence_bytes(max) {
    current.store(this, std::memory_order_release);
}
Upcalls::~Upcalls() { current.store(nullptr, std::memory_order_release); }

pmix_server_module_t *Upcalls::module() {
    static pmix_server_module_t module = make_module(); // libpmix copies it
    return &module;
}

} // namespace pmixhost
