// Where a tool is that publishes or looks up, and whether it is there still: what it publishes may go with it, and
// libpmix tells nobody of its end.
#pragma once

#include "common/base/bytes.h"

#include <functional>
#include <optional>
#include <sys/types.h>

namespace pmixhost {

struct ToolPlace {
    Bytes host; // the name of its node, or the address that it is relayed from; two tools of one host have the same one
    std::function<bool()> is_here; // is it connected? In the loop's thread; may be kept as long as its maker is there
    std::optional<uid_t> asker = std::nullopt; // whose it is, where that is another user than the job's
};

} // namespace pmixhost
