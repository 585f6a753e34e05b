// See tool_origins.h.
#include "server-glue/tool_access/tool_origins.h"

namespace pmixhost {

static constexpr auto nowhere = "unknown";

bool ToolOrigins::may_come(TimePoint now, const std::string &from) {
    if (nameless_ == 0 || (coming_.empty() && from.empty()))
        return true;
    if (now < since_ + patience)
        return false;
    if (!coming_.empty())
        doubtful_ = coming_;
    nameless_ = 0; // libpmix has dropped them
    return true;
}

void ToolOrigins::unnamed(TimePoint now, const std::string &from) {
    ++nameless_;
    coming_ = from;
    since_ = now;
}

void ToolOrigins::got_name(const Process &name) {
    std::string from = coming_;
    if (nameless_ == 0)
        from.clear();
    else if (--nameless_ == 0)
        coming_.clear();
    named(name, from.empty() ? doubtful_ : from);
}

void ToolOrigins::named(const Process &name, const std::string &from) {
    if (from.empty())
        relayed_.erase({name.nspace, name.rank});
    else if (relayed_.size() < most)
        relayed_[{name.nspace, name.rank}] = from;
}

std::string ToolOrigins::of(const Process &name) const {
    auto found = relayed_.find({name.nspace, name.rank});
    if (found != relayed_.end())
        return found->second;
    return relayed_.size() >= most ? nowhere : std::string();
}

} // namespace pmixhost
