// See dap_references.h.
#include "tools/dap/dap_references.h"

#include <utility>

namespace pmixhost {

int DapReferences::add(DapFrame frame) {
    if (frames_.size() >= most)
        return 0;
    frames_.emplace(next_, std::move(frame));
    return next_++;
}

int DapReferences::add(DapContainer container) {
    if (containers_.size() >= most)
        return 0;
    containers_.emplace(next_, std::move(container));
    return next_++;
}

const DapFrame *DapReferences::frame(int id) const {
    auto found = frames_.find(id);
    return found == frames_.end() ? nullptr : &found->second;
}

const DapContainer *DapReferences::container(int id) const {
    auto found = containers_.find(id);
    return found == containers_.end() ? nullptr : &found->second;
}

std::vector<std::string> DapReferences::forget(Rank rank) {
    std::erase_if(frames_, [rank](const auto &one) { return one.second.rank == rank; });
    std::erase_if(containers_, [rank](const auto &one) { return one.second.frame.rank == rank; });
    std::vector<std::string> out;
    if (auto held = held_.find(rank); held != held_.end()) {
        out = std::move(held->second);
        held_.erase(held);
    }
    return out;
}

} // namespace pmixhost
