// See visit_limits.h.
#include "server-glue/gate/visit_limits.h"

#include <algorithm>

namespace pmixhost {

void VisitLimits::set_desks(std::size_t desks) {
    of_one_ = std::max<std::size_t>(2, desks / 4);
    of_all_ = 4 * desks;
}

Result<void> VisitLimits::come(Id id, uid_t asker, uid_t owner) {
    auto own = std::count_if(all_.begin(), all_.end(), [asker](const auto &one) { return one.second.asker == asker; });
    if (own >= static_cast<std::ptrdiff_t>(of_one_))
        return error(
            ErrorKind::limit,
            "{} commands and visits of yours on jobs of others run already, which is what one user may have "
            "at all desks of this host together (a quarter of gate.max_desks, two at least); next: end one of them",
            own);
    if (all_.size() >= of_all_)
        return error(ErrorKind::limit,
                     "{} commands and visits on jobs of others run on this host already, which is what all users may "
                     "have together (four times gate.max_desks); next: once more, later",
                     all_.size());
    all_[id] = {asker, owner};
    return {};
}

void VisitLimits::handed_over(Id id) {
    if (auto found = all_.find(id); found != all_.end())
        found->second.at_desk = true;
}

void VisitLimits::gone(Id id) {
    all_.erase(id);
}

std::vector<VisitLimits::Id> VisitLimits::of(uid_t asker) const {
    std::vector<Id> ids;
    for (const auto &[id, visit] : all_) {
        if (visit.asker == asker)
            ids.push_back(id);
    }
    return ids;
}

std::vector<VisitLimits::Id> VisitLimits::at_desk_of(uid_t owner) const {
    std::vector<Id> ids;
    for (const auto &[id, visit] : all_) {
        if (visit.at_desk && visit.owner == owner)
            ids.push_back(id);
    }
    return ids;
}

} // namespace pmixhost
