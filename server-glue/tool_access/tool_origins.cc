// See tool_origins.h.
#include "server-glue/tool_access/tool_origins.h"

#include <algorithm>

namespace pmixhost {

void ToolOrigins::settle(TimePoint now) {
    auto gone = [](const Nameless &one) { return !one.is_here(); };
    nameless_.remove_if(gone);
    doubtful_.remove_if(gone);
    stated_.remove_if([](const Named &one) { return !one.tool.is_here(); });
    while (!stated_.empty() && now >= stated_.front().tool.since + patience) {
        doubtful_.push_back(std::move(stated_.front().tool));
        stated_.pop_front();
    }
    while (!nameless_.empty() && now >= nameless_.front().since + patience)
        doubtful_.splice(doubtful_.end(), nameless_, nameless_.begin());
    std::erase_if(known_, [](const auto &one) { return !one.second.is_here(); });
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
    bool all_here = !tool.origin.is_relayed() && std::none_of(nameless_.begin(), nameless_.end(), [](const auto &one) {
        return one.origin.is_relayed();
    }) && std::none_of(stated_.begin(), stated_.end(), [](const auto &one) { return one.tool.origin.is_relayed(); });
    if (!tool.nspace.empty()) {
        auto earlier = relayed_.find({tool.nspace, tool.rank});
        bool is_its_name = earlier == relayed_.end() || earlier->second.origin == tool.origin;
        bool is_told_apart = names_are_sure_ || nameless_.empty() || all_here;
        return is_its_name && is_told_apart ? Verdict::may : Verdict::later;
    }
    return (nameless_.empty() && stated_.empty()) || all_here ? Verdict::may : Verdict::later;
}

void ToolOrigins::came(TimePoint now, const Coming &tool, IsHere is_here) {
    if (tool.nspace.empty())
        return nameless_.push_back({tool.origin, std::move(is_here), now, tool.pid});
    Name name{tool.nspace, tool.rank};
    if (!names_are_sure_)
        stated_.push_back({name, {tool.origin, is_here, now, tool.pid}});
    known_.erase(name); // of one that libpmix has not yet noticed to be gone
    if (tool.pid > 0)
        known_[name] = {is_here, tool.pid};
    if (tool.origin.is_relayed())
        relayed_[name] = {tool.origin, std::move(is_here)};
}

std::list<ToolOrigins::Nameless>::iterator ToolOrigins::relayed_one_in_doubt() {
    return std::find_if(doubtful_.begin(), doubtful_.end(),
                        [](const Nameless &other) { return other.origin.is_relayed() && other.is_here(); });
}

bool ToolOrigins::has_stated(const Process &name) {
    if (names_are_sure_)
        return true;
    auto found = std::find_if(stated_.begin(), stated_.end(), [&](const Named &one) {
        return one.name == Name{name.nspace, name.rank} && one.tool.is_here();
    });
    if (found == stated_.end())
        return false;
    bool is_of_this_host = !found->tool.origin.is_relayed();
    stated_.erase(found);
    if (auto doubt = relayed_one_in_doubt(); is_of_this_host && doubt != doubtful_.end()) {
        relayed_[{name.nspace, name.rank}] = {doubt->origin, doubt->is_here};
        known_.erase({name.nspace, name.rank});
    }
    return true;
}

// libpmix asks for none whose connection it has closed. One that had no turn may be any that is here.
ToolOrigins::IsHere ToolOrigins::got_name(const Process &name) {
    auto gone = [](const Nameless &one) { return !one.is_here(); };
    nameless_.remove_if(gone);
    doubtful_.remove_if(gone);
    auto doubt = relayed_one_in_doubt();
    const Name key{name.nspace, name.rank};
    known_.erase(key); // of an earlier one
    if (nameless_.empty()) {
        auto any =
            std::find_if(relayed_.begin(), relayed_.end(), [](const auto &each) { return each.second.is_here(); });
        if (doubt != doubtful_.end())
            relayed_[key] = {doubt->origin, doubt->is_here};
        else if (any != relayed_.end())
            relayed_[key] = Relayed(any->second);
        return nullptr;
    }
    Nameless one = std::move(nameless_.front());
    nameless_.pop_front();
    const bool is_sure = doubtful_.empty();
    if (one.origin.is_relayed()) {
        relayed_[key] = {one.origin, one.is_here};
        if (!is_sure)
            doubtful_.push_back(one); // it may have been asked for one of those, and is to come yet
    } else if (doubt != doubtful_.end()) {
        relayed_[key] = {doubt->origin, doubt->is_here};
    }
    if (is_sure && one.pid > 0)
        known_[key] = {one.is_here, one.pid};
    return is_sure ? one.is_here : nullptr;
}

pid_t ToolOrigins::pid_of(const Process &name) const {
    auto found = known_.find({name.nspace, name.rank});
    return found == known_.end() ? 0 : found->second.pid;
}

ToolOrigin ToolOrigins::of(const Process &name) const {
    auto found = relayed_.find({name.nspace, name.rank});
    return found == relayed_.end() ? ToolOrigin() : found->second.origin;
}

} // namespace pmixhost
