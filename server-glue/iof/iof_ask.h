// PMIx_IOF_pull, PMIx_IOF_deregister and PMIx_IOF_push, as processes ask for them.
#pragma once

#include "common/base/bytes.h"
#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <atomic>
#include <optional>
#include <vector>

namespace pmixhost {

// Whether output may be pulled, decided by the loop before anybody asks: libpmix wants the answer at once
// (iof_upcall.cc).
struct PullGate {
    std::atomic<pmix_status_t> verdict{PMIX_ERR_NOT_SUPPORTED}; // any thread
    // Of the job, whose processes alone can be pulled from; they do not change once there are upcalls.
    std::string nspace;
    Rank ranks = 0;
};

// One that has been granted. Who pulls libpmix does not say.
struct PullAsk {
    static constexpr std::size_t max_sources = 1'000'000;
    std::vector<Process> sources;
    std::uint8_t channels = 0;
    std::optional<std::uint64_t> cache; // bytes
    bool drop_oldest = false;
    bool take_over = false; // it goes nowhere else (PMIX_IOF_REDIRECT)
};
// One pull is over; libpmix does not say which.
struct PullEndAsk {};

struct PushAsk {
    static constexpr std::size_t max_targets = 1'000'000;
    Process caller;
    std::vector<Process> targets;
    Bytes bytes;
    bool end = false; // nothing follows
    StatusReply reply;
};

} // namespace pmixhost
