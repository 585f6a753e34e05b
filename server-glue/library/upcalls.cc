// See upcalls.h and upcall_tools.h.
#include "server-glue/library/upcall_tools.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace pmixhost {

using namespace upcall;

namespace upcall {

// The one pointer that the module table without a user argument forces on us. Set before
// PMIx_server_init, cleared after PMIx_server_finalize.
static std::atomic<Upcalls *> the_upcalls{nullptr};

Upcalls *current() { return the_upcalls.load(std::memory_order_acquire); }

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

bool read_processes(const pmix_value_t &value, std::vector<Process> &out) {
    if (value.type == PMIX_PROC && value.data.proc) {
        out.push_back(process_of(*value.data.proc));
        return true;
    }
    if (value.type != PMIX_DATA_ARRAY || !value.data.darray || value.data.darray->type != PMIX_PROC)
        return false;
    auto more = processes_of(static_cast<const pmix_proc_t *>(value.data.darray->array),
                             value.data.darray->size);
    out.insert(out.end(), more.begin(), more.end());
    return true;
}

StatusReply status_reply(pmix_op_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status) {
                in_library_thread([callback, data, status] { callback(status, data); });
            },
            PMIX_ERROR};
}

QueryReply list_reply(pmix_info_cbfunc_t callback, void *data) {
    auto answer = [callback, data](pmix_status_t status, std::shared_ptr<InfoList> found) {
        in_progress_thread([callback, data, status, found] {
            auto *kept = new std::shared_ptr<InfoList>(found);
            callback(
                status, found ? found->data() : nullptr, found ? found->size() : 0, data,
                [](void *object) { delete static_cast<std::shared_ptr<InfoList> *>(object); }, kept);
        });
    };
    return {answer, PMIX_ERROR, nullptr};
}

std::optional<long long> number_of(const pmix_value_t &value) {
    switch (value.type) {
    case PMIX_INT: return value.data.integer;
    case PMIX_UINT: return value.data.uint;
    case PMIX_INT32: return value.data.int32;
    case PMIX_UINT32: return value.data.uint32;
    case PMIX_INT64: return value.data.int64;
    case PMIX_UINT64:
        return static_cast<long long>(std::min<std::uint64_t>(value.data.uint64, INT32_MAX));
    case PMIX_SIZE: return static_cast<long long>(std::min<std::size_t>(value.data.size, INT32_MAX));
    default: return std::nullopt;
    }
}

bool flag_of(const pmix_value_t &value) {
    return value.type == PMIX_UNDEF || (value.type == PMIX_BOOL && value.data.flag);
}

std::optional<std::chrono::seconds> seconds_of(const pmix_value_t &value) {
    auto seconds = number_of(value);
    if (!seconds)
        return std::nullopt;
    return std::chrono::seconds(std::clamp<long long>(*seconds, 0, INT32_MAX));
}

} // namespace upcall

namespace {

DataReply data_reply(pmix_modex_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status, Bytes bytes) {
                in_library_thread([callback, data, status, bytes = std::move(bytes)]() mutable {
                    auto *owned = new Bytes(std::move(bytes));
                    callback(
                        status, owned->empty() ? nullptr : owned->data(), owned->size(), data,
                        [](void *object) { delete static_cast<Bytes *>(object); }, owned);
                });
            },
            PMIX_ERROR, Bytes()};
}

// Reads the directives that fence and direct modex know; a required one that is not known is
// refused.
struct Directives {
    pmix_status_t refused = PMIX_SUCCESS;
    pmix_status_t local_status = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    bool collects = false;
    Bytes key;
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
        } else if (PMIX_CHECK_KEY(&directive, PMIX_COLLECT_DATA)) {
            out.collects = flag_of(directive.value); // the library has done it
        } else if (PMIX_CHECK_KEY(&directive, PMIX_REQUIRED_KEY)) {
            // Reserved keys are the host's and the library's, and no process posts them.
            const char *key = directive.value.type == PMIX_STRING ? directive.value.data.string : nullptr;
            if (key && strncmp(key, "pmix", 4) != 0)
                out.key.assign(key, strnlen(key, PMIX_MAX_KEYLEN));
        } else if (PMIX_CHECK_KEY(&directive, PMIX_COLLECT_GENERATED_JOB_INFO) ||
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

// The library notes that the process has finalized only after it has answered it, and for one that closes its
// connection before that it counts one process less on this host for good. In its own thread nothing comes between.
StatusReply finalize_reply(pmix_op_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status) {
                in_progress_thread([callback, data, status] { callback(status, data); });
            },
            PMIX_ERROR};
}

pmix_status_t on_finalized(const pmix_proc_t *proc, void *, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) {
        post(upcalls, ClientEvent{process_of(*proc), finalize_reply(callback, data)},
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
    // The blob is the host's to free, whatever the upcall returns (libpmix 4.2.2 and 5.0.7 never do).
    std::unique_ptr<char, void (*)(void *)> owner(blob, std::free);
    return guarded([&](Upcalls &upcalls) {
        auto directives = directives_of(info, ninfo);
        FenceRequest request;
        request.participants = processes_of(procs, count);
        request.refused = directives.refused;
        if (request.refused == PMIX_SUCCESS && size > upcalls.limits.fence_bytes)
            request.refused = PMIX_ERR_OUT_OF_RESOURCE;
        if (request.refused == PMIX_SUCCESS && blob) {
            try {
                request.data.assign(blob, size);
            } catch (const std::bad_alloc &) {
                request.refused = PMIX_ERR_OUT_OF_RESOURCE; // the other hosts must hear of it
            }
        }
        owner.reset(); // there may be no room for both
        request.local_status = directives.local_status;
        request.timeout = directives.timeout;
        request.collects = directives.collects;
        request.reply = data_reply(callback, data);
        post(upcalls, std::move(request), &UpcallHandler::fence);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
    });
}

// libpmix is through with a direct modex when it frees what it was given, in its progress thread.
struct GivenModex {
    Bytes bytes;
    void *request;
};
DataReply modex_reply(pmix_modex_cbfunc_t callback, void *data) {
    return {[callback, data](pmix_status_t status, Bytes bytes) {
                in_library_thread([callback, data, status, bytes = std::move(bytes)]() mutable {
                    auto *given = new GivenModex{std::move(bytes), data};
                    callback(
                        status, given->bytes.empty() ? nullptr : given->bytes.data(), given->bytes.size(), data,
                        [](void *object) {
                            std::unique_ptr<GivenModex> owner(static_cast<GivenModex *>(object));
                            if (Upcalls *upcalls = current())
                                upcalls->modexes.erase(owner->request);
                        },
                        given);
                });
            },
            PMIX_ERROR, Bytes()};
}

// A namespace that is registered while processes of it are asked for makes libpmix put the same request
// once more: there is one answer to both, or it would free the request twice.
pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t ninfo,
                              pmix_modex_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) {
        if (!callback || upcalls.modexes.contains(data))
            return static_cast<pmix_status_t>(PMIX_SUCCESS);
        auto directives = directives_of(info, ninfo);
        if (directives.refused != PMIX_SUCCESS)
            return directives.refused;
        auto entry = upcalls.modexes.insert(data).first;
        try {
            post(upcalls, ModexAsk{process_of(*proc), std::move(directives.key), directives.timeout, modex_reply(callback, data)},
                 &UpcallHandler::direct_modex);
        } catch (...) {
            upcalls.modexes.erase(entry);
            throw;
        }
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
    add_allocation_upcall(module);
    add_connect_upcalls(module);
    add_control_upcalls(module);
    add_data_upcalls(module);
    add_group_upcall(module);
    add_log_upcall(module);
    add_query_upcall(module);
    add_security_upcalls(module);
    add_event_upcalls(module);
    add_spawn_upcall(module);
    return module;
}

} // namespace

Upcalls::Upcalls(EventLoop &l, LibraryThread &t, UpcallHandler &h, Limits most)
    : loop(l), library(t), handler(h), limits(most) {
    the_upcalls.store(this, std::memory_order_release);
}
Upcalls::~Upcalls() { the_upcalls.store(nullptr, std::memory_order_release); }

pmix_server_module_t *Upcalls::module() {
    static pmix_server_module_t module = make_module(); // libpmix copies it
    return &module;
}

} // namespace pmixhost
