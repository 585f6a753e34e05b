// PMIx_IOF_pull, PMIx_IOF_deregister and PMIx_IOF_push, as processes ask for them.
#pragma once

#include "common/base/bytes.h"
#include "server-glue/core/signature.h"
#include "server-glue/guard/library_connection.h"
#include "server-glue/iof/output_selection.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>
#include <vector>

namespace pmixhost {

// A pull that has been granted (pull_gate.h). Who pulls libpmix does not say; whether it is a tool, and on which
// connection it asks, is known where its own objects are (library/pull_asker.h).
struct PullAsk {
    std::optional<bool> by_tool;
    std::optional<LibraryConnection> connection;
    std::optional<int> number; // in the library's table
    static constexpr std::size_t max_sources = 1'000'000;
    std::vector<Process> sources;
    std::uint8_t channels = 0;
    std::optional<std::uint64_t> cache; // bytes
    bool must_have_cache = false;
    std::optional<bool> drop_oldest; // unsaid: the newest
    bool take_over = false;          // it goes nowhere else (PMIX_IOF_REDIRECT)
    bool must_take_over = false;
    // PMIX_IOF_BUFFERING_SIZE and _TIME: at least so many bytes are given at once, or what has waited so long.
    std::optional<std::uint32_t> held;
    bool must_be_held = false;
    std::optional<std::chrono::seconds> held_for;
    std::optional<std::chrono::seconds> since; // of what was written before: own_key::output_since
    bool of_child = false;                     // of a job whose output is forwarded here: it comes in any case

    OutputSelection selection() const {
        std::set<Rank> ranks;
        for (const auto &source : sources) {
            if (source.rank == PMIX_RANK_WILDCARD)
                return channels;
            ranks.insert(source.rank);
        }
        return {channels, ranks};
    }
};
// One pull of whoever asks is over; libpmix does not say which.
struct PullEndAsk {
    std::optional<bool> by_tool;
    std::optional<LibraryConnection> connection;
};
// A pull that was refused could not be made void (PullGate::keeps_refused), and that was not yet known.
struct KeptPullAsk {};

struct PushAsk {
    static constexpr std::size_t max_targets = 1'000'000;
    Process caller;
    std::vector<Process> targets;
    Bytes bytes;
    bool end = false; // nothing follows
    StatusReply reply;
};

} // namespace pmixhost
