// See tool_origins.h.
#include "server-glue/tool_access/tool_origins.h"

#include <algorithm>

namespace pmixhost {

void ToolOrigins::settle(TimePoint now) {
    auto gone = [](const Nameless &one) { return !one.is_here(); };
    nameless_.remove_if(gone);
    doubtful_.remove_if(gone);
    while (!nameless_.empty() && now >= nameless_.front().since + patience)
        doubtful_.splice(doubtful_.end(), nameless_, nameless_.begin());
    for (auto next = relayed_.begin(); next != relayed_.end();) {
        auto at = next++;
        if (at->second.seen_gone == TimePoint::max() && !at->second.is_here())
            at->second.seen_gone = now;
        if (at->second.seen_gone != TimePoint::max() && now >= at->second.seen_gone + aftermath)
            relayed_.erase(at);
    }
}

ToolOrigins::Verdict ToolOrigins::may_come(TimePoint now, const Coming &tool) {
    settle(now);
    if (tool.origin.is_relayed() && relayed_.size() >= most)
        return Verdict::too_many;
    if (!tool.nspace.empty()) {
        auto earlier = relayed_.find({tool.nspace, tool.rank});
        return earlier == relayed_.end() || earlier->second.origin == tool.origin ? Verdict::may : Verdict::later;
    }
    bool all_here =
        !tool.origin.is_relayed() &&
        std::none_of(nameless_.begin(), nameless_.end(), [](const Nameless &one) { return one.origin.is_relayed(); });
    return nameless_.empty() || all_here ? Verdict::may : Verdict::later;
}

void ToolOrigins::came(TimePoint now, const Coming &tool, IsHere is_here) {
    if (tool.nspace.empty())
        nameless_.push_back({tool.origin, std::move(is_here), now});
    else if (tool.origin.is_relayed())
        relayed_[{tool.nspace, tool.rank}] = {tool.origin, std::move(is_here)};
}

ToolOrigins::IsHere ToolOrigins::got_name(const Process &name) {
    Nameless one;
    if (!nameless_.empty()) {
        one = std::move(nameless_.front());
        nameless_.pop_front();
    }
    auto doubt = std::find_if(doubtful_.begin(), doubtful_.end(),
                              [](const Nameless &other) { return other.origin.is_relayed() && other.is_here(); });
    if (!one.origin.is_relayed() && doubt != doubtful_.end())
        one.origin = doubt->origin;
    if (one.origin.is_relayed())
        relayed_[{name.nspace, name.rank}] = {one.origin, one.is_here ? one.is_here : doubt->is_here};
    bool sure =
        doubtful_.empty() && one.is_here && one.is_here(); // else it may be that of one that left without a name
    return sure ? one.is_here : nullptr;
}

ToolOrigin ToolOrigins::of(const Process &name) const {
    auto found = relayed_.find({name.nspace, name.rank});
    return found == relayed_.end() ? ToolOrigin() : found->second.origin;
}

} // namespace pmixhost
