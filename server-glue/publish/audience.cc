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

namespace {

bool is_before(const wire::ProcessName &one, const wire::ProcessName &other) {
    return one.nspace != other.nspace ? one.nspace < other.nspace : one.rank < other.rank;
}

} // namespace

Audience::Audience(std::uint8_t range, Participant center, std::vector<wire::ProcessName> list)
    : width_(width_of(range)), center_(std::move(center)) {
    static const auto none = std::make_shared<const List>();
    std::sort(list.begin(), list.end(), is_before);
    for (const auto &name : list)
        list_bytes_ += sizeof name + name.nspace.size();
    list_ = list.empty() ? none : std::make_shared<const List>(std::move(list));
}

bool Audience::has(const Bytes &nspace, std::uint32_t rank) const {
    return std::binary_search(list_->begin(), list_->end(), wire::ProcessName{nspace, rank}, is_before);
}

bool Audience::includes(const Participant &who) const {
    if (width_ != RangeWidth::list)
        return circle() == circle_of(width_, who);
    return center_.is_process(who) || has(who.nspace, who.rank) || has(who.nspace, PMIX_RANK_WILDCARD);
}

bool Audience::meets(const Audience &other) const {
    if (width_ != RangeWidth::list)
        return circle() == other.circle();
    auto names_one_of = [&other](const wire::ProcessName &mine) {
        if (mine.rank != PMIX_RANK_WILDCARD)
            return other.has(mine.nspace, mine.rank) || other.has(mine.nspace, PMIX_RANK_WILDCARD);
        auto first =
            std::lower_bound(other.list_->begin(), other.list_->end(), wire::ProcessName{mine.nspace, 0}, is_before);
        return first != other.list_->end() && first->nspace == mine.nspace;
    };
    // Who has published it is in it as well.
    return includes(other.center_) || other.includes(center_) ||
           std::any_of(list_->begin(), list_->end(), names_one_of);
}

} // namespace pmixhost
