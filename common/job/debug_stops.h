// Where the processes of a job shall stop for a debugger, and which: PMIX_DEBUG_STOP_ON_EXEC, _IN_INIT and _IN_APP. Of
// a spawned job the launcher's plan has it (server-glue/rm/spawn_plan.h), and the job's daemons read it from what they
// are told of their parent (common/start/spawn_channel.h); else whoever starts the job says it (PMIXHOST_DEBUG_STOP).
// As a text: "exec=0-3,7;init=0-15", each place at most once, and "exec" is "exec=all".
#pragma once

#include "common/base/result.h"
#include "common/job/rank_ranges.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace pmixhost {

// What sets debug.stop (common/config).
inline constexpr std::string_view debug_stop_variable = "PMIXHOST_DEBUG_STOP";

enum class StopPlace : std::uint8_t { exec = 0, init = 1, app = 2 };
inline constexpr std::size_t stop_place_count = 3;
inline constexpr std::array<StopPlace, stop_place_count> stop_places = {StopPlace::exec, StopPlace::init,
                                                                        StopPlace::app};
inline constexpr std::array<std::string_view, stop_place_count> stop_place_words = {"exec", "init", "app"};

class DebugStops {
  public:
    // It goes through an environment, in which a variable has its limits.
    static constexpr std::size_t max_text = 64u << 10;

    RankRanges &at(StopPlace place) { return ranks_[static_cast<std::size_t>(place)]; }
    const RankRanges &at(StopPlace place) const { return ranks_[static_cast<std::size_t>(place)]; }
    bool empty() const;

    // Empty when nobody shall stop.
    std::string text() const;
    // Nothing when it is no such text. Whoever are all is known later: fit().
    static std::optional<DebugStops> parse(std::string_view text);
    // In a job of so many processes. Fails (not_found) for a rank that is not there.
    Result<void> fit(Rank count);

  private:
    static constexpr Rank all_ranks = UINT32_MAX;
    std::array<RankRanges, stop_place_count> ranks_;
};

} // namespace pmixhost
