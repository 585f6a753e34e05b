// Whether output may be pulled, decided by the loop before anybody asks: libpmix wants the answer at once
// (iof_upcall.cc). The upcalls have theirs from UpcallHandlers::shared().
#pragma once

#include "common/base/bytes.h"
#include "server-glue/core/signature.h"
#include "server-glue/guard/library_connection.h"
#include "server-glue/iof/output_selection.h"

#include <pmix_common.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace pmixhost {

struct PullGate {
    // For tools; the second one for jobs whose output is forwarded here. Any thread.
    std::atomic<pmix_status_t> verdict{PMIX_ERR_NOT_SUPPORTED}, of_children{PMIX_SUCCESS};
    // May that be pulled? `by_tool`, `connection`: as PullAsk has them. To a process of the job its children's output
    // is forwarded, and no rule for tools is about it; what its own job writes it has in other ways. Any thread.
    pmix_status_t may_be_pulled(bool of_child, std::optional<bool> by_tool,
                                const std::optional<LibraryConnection> &connection = {}) {
        if (by_tool == false)
            return of_child ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
        std::lock_guard guard(lock_); // a verdict goes with those that it does not hold for
        const pmix_status_t of_all = (of_child ? of_children : verdict).load();
        if (of_all != PMIX_ERR_NO_PERMISSIONS || !connection)
            return of_all;
        return allowed_.contains(*connection) ? PMIX_SUCCESS : of_all;
    }
    // `allowed`: tools that may although others that are here may not; none where a pull that is refused cannot be made
    // void. Returns whether it is another verdict. Any thread.
    bool set_verdict(pmix_status_t of_tools, pmix_status_t of_their_children, std::set<LibraryConnection> allowed) {
        std::lock_guard guard(lock_);
        of_children = of_their_children;
        allowed_ = std::move(allowed);
        return verdict.exchange(of_tools) != of_tools;
    }
    // A pull that was refused could not be made void in the library (library/refused_pull.h), which may give it what
    // others pull: until no tool is here, since the one that has it may lose a right that it has now. As the loop says.
    // Any thread.
    std::atomic<bool> keeps_refused{false};
    // Channels of which there is something to have of the processes of this host (readable_streams.h). Any thread.
    std::atomic<std::uint8_t> there{PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL};
    // Of the job, whose processes alone can be pulled from; they do not change once there are upcalls.
    std::string nspace;
    Rank ranks = 0;
    std::uint8_t channels = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL; // that there are to pull
    std::uint64_t most_cache = UINT64_MAX;                                     // bytes that a tool may have held for it
    // Of this job's processes PMIx_Spawn has said how their output comes here: nothing is held or cached for a tool.
    // Any thread.
    std::atomic<bool> comes_as_spawned{false};
    bool can_be_taken_over = true; // else PMIX_IOF_REDIRECT gives a copy, or nothing where it is required
    // May a pull of these be granted? Not if it must have what was written before and somebody pulls some of it, who
    // has had that. If so it counts as one that pulls them, until the loop has read it and says what is pulled. Any
    // thread.
    bool note_pull(const OutputSelection &asked, bool must_have_kept) {
        std::lock_guard guard(lock_);
        if (must_have_kept &&
            (asked.meets(had_) || std::any_of(unread_.begin(), unread_.end(),
                                              [&](const OutputSelection &other) { return asked.meets(other); })))
            return false;
        unread_.push_back(asked);
        return true;
    }
    // The loop has read the oldest of them.
    void note_read() {
        std::lock_guard guard(lock_);
        if (!unread_.empty())
            unread_.pop_front();
    }
    void set_had(const OutputSelection &had) {
        std::lock_guard guard(lock_);
        had_ = had;
    }
    // Or of a job of which these channels are forwarded to this one (children_io.h). Any thread.
    void note_child(const Bytes &child, std::uint8_t channels_of_it) {
        std::lock_guard guard(lock_);
        children_[child] = channels_of_it;
    }
    // Nothing: it is none.
    std::optional<std::uint8_t> channels_of_child(const Bytes &child) {
        std::lock_guard guard(lock_);
        auto found = children_.find(child);
        return found == children_.end() ? std::nullopt : std::optional(found->second);
    }

    // Or of one of which nothing is forwarded: there is nothing to pull.
    void note_unforwarded_child(const Bytes &child) {
        std::lock_guard guard(lock_);
        unforwarded_.insert(child);
    }
    bool has_unforwarded_child(const Bytes &child) {
        std::lock_guard guard(lock_);
        return unforwarded_.contains(child);
    }
    // It has ended, or whom its output is for has gone.
    void forget_child(const Bytes &child) {
        std::lock_guard guard(lock_);
        children_.erase(child);
        unforwarded_.erase(child);
    }

  private:
    std::mutex lock_;
    std::map<Bytes, std::uint8_t> children_;
    std::set<Bytes> unforwarded_;
    std::set<LibraryConnection> allowed_;
    OutputSelection had_;
    std::deque<OutputSelection> unread_;
};

} // namespace pmixhost
