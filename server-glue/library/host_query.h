// The host's answer to PMIx_Query_info, for query_interposition.cc. Any thread.
#pragma once

#include <pmix_server.h>

#include <atomic>

namespace pmixhost {

// Null until the library starts.
inline std::atomic<pmix_server_query_fn_t> &host_query() {
    static std::atomic<pmix_server_query_fn_t> query{nullptr};
    return query;
}

} // namespace pmixhost
