// PMIx_Job_control, as a process asks for it.
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

struct JobControlAsk {
    static constexpr std::size_t max_signals = 64;
    static constexpr std::size_t max_targets = 4'000'000; // more than the largest job has processes
    Process caller;
    std::vector<Process> targets;         // empty: the caller's whole job, or
    bool everyone = false;                // every job of the session
    wire::ControlOrder order;             // without who asks
    std::vector<std::string> unsupported; // keys of what was passed over, or is why it is refused
    std::vector<std::string> declared;    // keys by which the caller only says what it can take
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
    bool only_declares() const { return order.signals.empty() && !order.notifies && !declared.empty(); }
};

} // namespace pmixhost
