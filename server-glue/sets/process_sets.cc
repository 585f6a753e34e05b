// See process_sets.h.
#include "server-glue/sets/process_sets.h"

#include <algorithm>

namespace pmixhost {

const ProcessSets::Set *ProcessSets::find(std::string_view name) const {
    auto found = std::find_if(sets_.begin(), sets_.end(), [&](const Set &s) { return s.set.name == name; });
    return found == sets_.end() ? nullptr : &*found;
}

void ProcessSets::define(const Bytes &nspace, const std::vector<ProcessSet> &sets) {
    for (const auto &set : sets) {
        if (find(set.name)) {
            port_.name_taken(set.name, nspace);
            continue;
        }
        sets_.push_back({nspace, set});
        port_.define_set(set.name, nspace, set.ranks);
    }
}

void ProcessSets::connected(const Bytes &nspace, const std::vector<ProcessSet> &sets) {
    if (++connections_[nspace] == 1)
        define(nspace, sets);
}

void ProcessSets::disconnected(const Bytes &nspace) {
    auto known = connections_.find(nspace);
    if (known == connections_.end() || --known->second > 0)
        return;
    connections_.erase(known);
    auto gone = std::stable_partition(sets_.begin(), sets_.end(), [&](const Set &s) { return s.nspace != nspace; });
    std::vector<Set> deleted(std::make_move_iterator(gone), std::make_move_iterator(sets_.end()));
    sets_.erase(gone, sets_.end());
    for (const auto &set : deleted)
        port_.delete_set(set.set.name);
}

} // namespace pmixhost
