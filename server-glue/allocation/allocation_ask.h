// PMIx_Allocation_request, as a process asks for it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

struct AllocationAsk {
    static constexpr std::size_t max_text = 1024, max_host_list = 64 * 1024;
    Process caller;
    std::uint8_t directive = 0;
    // A member that was not said is empty or 0.
    std::string request_id, allocation, host_list, queue;
    std::uint64_t hosts = 0, cpus = 0, seconds = 0, megabytes = 0;
    std::vector<std::string> unsupported; // keys of what was passed over, or is why it is refused
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    ListReply reply;
};

} // namespace pmixhost
