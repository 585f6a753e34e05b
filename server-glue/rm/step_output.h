// A facet of the RM's backend (rm_backend.h): a copy of what this host's tasks write, beside the RM's own way of it,
// where the daemon does not stand in between itself (io.capture). Without it tools can follow the output of jobs with
// io.capture alone.
#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace pmixhost {

class RmStepOutput {
  public:
    virtual ~RmStepOutput() = default;
    struct Reader {
        // Once, before anything else: there is a copy.
        std::function<void()> on_begin;
        // `task` counts this host's tasks as JobMap::ranks_on() does; `channel` is wire::stdout_channel or
        // stderr_channel. `end`: the task has closed it. What was written last before it was asked for comes first,
        // as far as the RM has it.
        std::function<void(std::size_t task, std::uint8_t channel, std::string_view bytes, bool end)> on_output;
        // Once, as the last: nothing follows. A failure: the RM gives none (unsupported, unreachable), or no more.
        std::function<void(Result<void>)> on_end;
    };
    // Is there such a way in this step? The same answer at any time.
    virtual bool can_be_read() const = 0;
    // At most once, after start(). The reader takes all that comes: what it does not want it drops. Calls nothing from
    // within.
    virtual void read_output(Reader reader) = 0;
};

} // namespace pmixhost
