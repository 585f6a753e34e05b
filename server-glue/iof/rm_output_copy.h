// The output of this host's tasks as the RM gives a copy of it (server-glue/rm/step_output.h), where the daemon
// does not stand in between: read from the first wish to the step's end, since the RM would begin a second copy
// with what the first one had already.
//
// All in the loop's thread.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"
#include "server-glue/step/step_context.h"

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace pmixhost {

class RmOutputCopy {
  public:
    static constexpr std::size_t kept_bytes = 16u << 10; // of each stream, of what was written last
    static constexpr Duration quiet = std::chrono::seconds(1);
    using OnOutput = std::function<void(Rank, std::uint8_t channel, std::string_view bytes, bool end)>;

    RmOutputCopy(StepContext &context, OnOutput on_output) : context_(context), on_output_(std::move(on_output)) {}

    // Is there such a copy of the step's output (io.copy)? A spawned job has none: what its parent did not ask for
    // nobody gets.
    static bool offered(const StepContext &context);
    // It is wanted from now on. Calls nothing from within.
    void read();
    // What has been read last of a stream, and whether that has ended; nothing: nothing has.
    struct Kept {
        std::string_view bytes;
        bool end = false;
    };
    std::optional<Kept> kept(Rank rank, std::uint8_t channel) const;
    // Its process has ended. The RM has no end of a stream that it does not see (a file), nor of one that had ended
    // before this was read: such ones end when nothing has come for `quiet`.
    void process_gone(Rank rank) { gone_.try_emplace(rank, context_.now()); }
    TimePoint next_time() const;
    void on_time(TimePoint now);
    // Is it read, and not yet over?
    bool any_open() const { return state_ == State::reading && !all_ended(); }
    // Has any of it come lately?
    bool comes(TimePoint now) const { return state_ == State::reading && now < last_read_ + quiet; }

  private:
    enum class State { idle, reading, over };
    struct Stream {
        Bytes kept;
        bool ended = false;
    };
    void take(std::size_t task, std::uint8_t channel, std::string_view bytes, bool end);
    void end(Rank rank);
    bool ended(Rank rank) const;
    bool all_ended() const;
    void on_end(const Result<void> &why);

    StepContext &context_;
    OnOutput on_output_;
    State state_ = State::idle;
    std::map<std::pair<Rank, std::uint8_t>, Stream> streams_;
    std::map<Rank, TimePoint> gone_;
    TimePoint last_read_ = TimePoint::min();
    RateLimit strange_lines_;
};

} // namespace pmixhost
