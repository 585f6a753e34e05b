// What the tools of this host pull: who may, what they want together, and what they are given of it, to the last end.
//
// What libpmix does not tell decides much of this (contrib/doc/decisions/io.md): which pull has ended, and whom it
// gives what is delivered. So all that the tools of a daemon want is one wish. Whose pulls there are is known by the
// connection that asked (library/pull_asker.h), and they end with it; there, too, one that takes nothing is passed over
// for the sake of the others (slow_readers.h), with as much of what they are given kept for it here as it has asked
// for, by its own rule. And each may pull by its own right: a pull that is refused is made void
// (library/refused_pull.h), and one that may have no output any more is left out. Where it is not known, output can be
// pulled only while all tools that are here may have it, pulls end when one comes that may not, and when all tools that
// are here have come after the last one.
//
// Pure: what is asked and what comes in, what is wanted and given out; the caller has the clock and the connections.
// All in the loop's thread, but for what PullGate says of itself.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/pull_gate.h"
#include "server-glue/iof/slow_readers.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace pmixhost {

// For the library, which gives it to whoever pulls it.
struct ToolOutput {
    Rank rank = 0;
    std::uint8_t channel = 0; // one of wire::stdout_channel and stderr_channel
    Bytes bytes;
    bool end = false;          // nothing follows
    bool undated = false;      // of what was before nobody knows when it was written; then of all the pulled channels
    bool cut = false;          // what was before it is kept no more
    std::uint64_t missing = 0; // bytes that were left out before it
};

// Nothing here calls ToolPulls, but for want(), which may deliver().
class ToolPullsPort {
  public:
    virtual ~ToolPullsPort() = default;
    struct Tools {
        std::size_t here = 0, gone = 0;       // so many are; so many have, since the beginning
        std::uint64_t oldest = 0, newest = 0; // StepTools::oldest(), newest()
        std::uint64_t refused = 0; // of those that may have no output, the first (StepTools::first_without())
        // Unless all may, of those whose connection is known: of those that may, and of the others.
        std::set<LibraryConnection> allowed = {}, barred = {};
        bool may() const { return refused == 0; }
    };
    virtual Tools tools() = 0;
    virtual bool is_here(const LibraryConnection &connection) = 0;
    // How the rules have decided, of each tool that has not been told of; `changed`: or otherwise than before.
    virtual void log_decisions(bool changed) = 0;
    // Of this host's tools, from now on; with what was written before, if it says so, this once.
    virtual void want(const OutputWish &wish) = 0;
    // What is forwarded to the job's parent has gone, and want() does not bring it again: of that, what had been
    // written lately, and the ends that have been. Nothing where nothing is forwarded here.
    virtual std::vector<wire::OutputPiece> forwarded_before(const OutputWish &wish) = 0;
    // Can it be that of what want() brings from before nobody knows whether it was written in that time?
    virtual bool may_be_undated(Duration since) = 0;
    // What has not been taken of what the library has written, in bytes: the most of any tool, and of one that pulls.
    virtual std::size_t most_unsent() = 0;
    virtual std::size_t unsent(const LibraryConnection &connection) = 0;
    // Is there a way to leave one out, and are pulls void that are refused? Then what is given from now on is not for
    // what that one pulls of this job; or is again.
    virtual bool can_pass_over() const = 0;
    virtual void pass_over(const LibraryConnection &connection) = 0;
    virtual void take_up(const LibraryConnection &connection) = 0;
    // Likewise, where there is a way: for that one alone, or for that pull of it; ToolPulls::words_given() is called
    // when the library has queued them.
    virtual void give_one(const LibraryConnection &connection, std::optional<int> pull,
                          std::vector<ToolOutput> words) = 0;
    // Is told what a piece cost (ToolPulls::Delivery) when the library has queued it, or when nobody gets it.
    virtual void give_tools(ToolOutput output, std::uint32_t cost) = 0;
    virtual void nobody_takes(std::uint32_t cost) = 0;
    // The library keeps the last piece for whoever pulls next: from now on that is one without meaning.
    virtual void give_nobody() = 0;
    // To all who want to hear of it: what these processes write on these channels does not come any more.
    virtual void tell_failure(const std::vector<Rank> &ranks, std::uint8_t channels, const Bytes &nspace) = 0;
};

class ToolPulls {
  public:
    // libpmix does not tell when a tool goes. What one has taken over goes nowhere from its end to the next look.
    static constexpr Duration tools_look = std::chrono::seconds(1), taken_over_look = std::chrono::milliseconds(20);
    // What any host holds back, however little was asked for: what comes must stay for a moment.
    static constexpr std::uint64_t least_cache = 64u << 10; // most_cache is not less

    struct Job {
        std::string nspace, id;
        Rank processes = 0;
        bool can_be_read = true;                                                   // else there is nothing to pull
        bool can_be_taken_over = true;                                             // else there is only a copy
        std::uint8_t channels = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL; // that there are to pull
        std::uint64_t most_cache = UINT64_MAX;                                     // bytes
    };
    ToolPulls(const Log &log, ToolPullsPort &port) : log_(log), port_(port) {}

    // Before anything else: from now on the gate is kept. Nobody asks yet.
    void open(std::shared_ptr<PullGate> gate, Job job);
    // Of these channels there is something to have of this host's processes.
    void note_there(std::uint8_t channels);
    // PMIx_Spawn has said how it comes here, or that is over.
    void note_forwarded(bool comes_as_spawned) { gate_->comes_as_spawned = comes_as_spawned; }

    // A tool has come or gone, or perhaps; or PullGate::keeps_refused is true.
    void judge(TimePoint now);
    void pull(TimePoint now, const PullAsk &ask);
    void end_pull(const PullEndAsk &ask);

    // Output that has come for this host's tools, or did before they wanted it no more.
    struct Delivery {
        wire::OutputPiece piece;
        std::uint32_t cost = 0;   // as the port is told
        bool is_too_much = false; // for tools that are slow: of the bytes they hear that they are missing, later
    };
    void deliver(TimePoint now, std::vector<Delivery> deliveries);
    // The tools take more: what is missing of streams of which nothing has come since they are told now.
    void tell_missing();
    // How much of what was given before whoever pulls has not taken, in bytes: the most of all for whom the others are
    // to wait. Passes over those that take nothing, and takes up those that do again.
    std::size_t most_unsent(TimePoint now);
    // What one alone is to hear has been given to the library; and is there something that has not?
    void words_given() { --words_under_way_; }
    bool owes_words() const;
    // One event for all that have the same channels.
    void tell_failures(const std::map<Rank, std::uint8_t> &channels, const Bytes &nspace);

    // As it was told to the port last, but for what was written before: that was wanted once.
    const OutputWish &wish() const { return wish_; }
    bool any() const;
    // Does somebody pull it, and has not been told of its end?
    bool waits_for(Rank rank, std::uint8_t channel) const;
    // Have the ends of all streams been given that are pulled?
    bool has_all_ends() const { return !any() || wish_.pulled.is_within(ended_, job_.processes); }

    TimePoint next_time() const { return std::min(look_at_tools_, next_look()); }
    void on_time(TimePoint now) {
        if (now >= look_at_tools_)
            judge(now);
        if (now >= next_look())
            most_unsent(now);
    }

  private:
    using Stream = std::pair<Rank, std::uint8_t>;
    // That have not ended.
    struct Pulls {
        std::size_t of_job = 0, of_children = 0;
        OutputWish wish;    // of the first kind, together: the most cache, and what to drop as it was said last
        OutputQueue behind; // of that, what others were given while it was passed over, as far as its rules keep it
        std::set<Stream> kept_ends; // that are in there
        void forget_behind() {
            behind = {};
            kept_ends.clear();
        }
    };
    // In cost, of what is kept for one: that the library is given at once. More than others may be given between two
    // looks, so that it catches up.
    static constexpr std::uint32_t some_behind = 2 * wire::output_window;
    // While something is under way it is not known how much who is passed over has before it.
    TimePoint next_look() const { return words_under_way_ > 0 ? TimePoint::max() : slow_.next_time(); }
    void tell_ends(const PullAsk &ask, const OutputSelection &before);
    void give_one(const LibraryConnection &connection, std::optional<int> pull, std::vector<ToolOutput> words);
    void give_all(ToolOutput output, std::uint32_t cost);
    bool anybody_takes(const Stream &stream) const;
    bool rules_differ() const;
    static void keep(Pulls &pulls, const ToolOutput &output);
    void keep_for_others(const ToolOutput &output);
    void give_behind(const LibraryConnection &connection, Pulls &pulls, std::uint32_t most);
    void give_some_behind(const LibraryConnection &connection);
    void take_up(const LibraryConnection &connection);
    bool any_unknown() const;
    bool forget_gone(const ToolPullsPort::Tools &tools);
    bool shut_out_others(const ToolPullsPort::Tools &tools);
    void shut_out(const LibraryConnection &connection);
    void want_what_is_left();
    OutputWish together() const;
    void end_pulls(const char *why);
    void tell_failure(const OutputSelection &of);
    void tell_what_is_undated(const PullAsk &ask);
    void look_later(TimePoint now, std::size_t tools);

    const Log &log_;
    ToolPullsPort &port_;
    std::shared_ptr<PullGate> gate_;
    Job job_;
    // By the connection that asked; nothing: those of whom nobody knows it.
    std::map<std::optional<LibraryConnection>, Pulls> pulls_;
    // Whose pulls have ended here, and perhaps not in the library, which gives them what others pull; how many.
    std::map<LibraryConnection, std::size_t> left_;
    // The rules allow them no output: passed over as long as it is so, whatever pulls they have ended. How many the
    // library has left of one it does not tell.
    std::set<LibraryConnection> shut_out_;
    OutputSelection had_; // has been pulled since nobody did: what was written before it is had
    int words_under_way_ = 0;
    std::uint64_t last_unknown_ = 0;      // of the tools that were here when one of those last pulled, the newest
    std::size_t gone_ = 0;                // tools, when last looked at
    bool goes_on_ = false;                // what is pulled already, as judge() has it
    std::set<LibraryConnection> allowed_; // ToolPullsPort::Tools::allowed, as it was then
    OutputWish wish_;                     // of all
    TimePoint look_at_tools_ = TimePoint::max();
    SlowReaders slow_;
    std::set<Stream> ended_;                 // as this host's tools were told
    std::uint64_t missed_ = 0;               // bytes, by this host's tools
    std::map<Stream, std::uint64_t> untold_; // of these, that they have not been told of, because it was too much
    RateLimit missed_lines_, slow_lines_;
};

} // namespace pmixhost
