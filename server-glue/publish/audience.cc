// See audience.h.
#include "server-glue/publish/audience.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

RangeWidth width_of(std::uint8_t range) {
    switch (range) {
    case PMIX_RANGE_PROC_LOCAL:
        return RangeWidth::process;
    case PMIX_RANGE_CUSTOM:
        return RangeWidth::list;
    case PMIX_RANGE_LOCAL:
        return RangeWidth::host;
    case PMIX_RANGE_NAMESPACE:
        return RangeWidth::nspace;
    default:
        return RangeWidth::session;
    }
}

Circle circle_of(RangeWidth width, const Participant &who) {
    switch (width) {
    case RangeWidth::process:
        return {width, who.nspace, who.rank};
    case RangeWidth::host:
        return {width, who.host, 0};
    case RangeWidth::nspace:
        return {width, who.nspace, 0};
    default:
        return {width, {}, 0};
    }
}

bool Audience::includes(const Participant &who) const {
    if (width_ != RangeWidth::list)
        return circle() == circle_of(width_, who);
    return center_.is_process(who) || std::any_of(list_.begin(), list_.end(), [&who](const auto &name) {
               return name.nspace == who.nspace && (name.rank == who.rank || name.rank == PMIX_RANK_WILDCARD);
           });
}

bool Audience::meets(const Audience &other) const {
    if (width_ != RangeWidth::list)
        return circle() == other.circle();
    auto same = [](const wire::ProcessName &mine, const wire::ProcessName &its) {
        return mine.nspace == its.nspace &&
               (mine.rank == its.rank || mine.rank == PMIX_RANK_WILDCARD || its.rank == PMIX_RANK_WILDCARD);
    };
    return center_.is_process(other.center_) || std::any_of(list_.begin(), list_.end(), [&](const auto &mine) {
               return std::any_of(other.list_.begin(), other.list_.end(),
                                  [&](const auto &its) { return same(mine, its); });
           });
}

} // namespace pmixhost
