// See member_list.h.
#include "server-glue/groups/member_list.h"

#include <algorithm>

namespace pmixhost {

MemberList::MemberList(const std::vector<Process> &processes) {
    std::map<std::string_view, std::uint32_t> known;
    for (const auto &process : processes)
        add(process, known);
    index();
    runs_.shrink_to_fit();
}

void MemberList::add(const Process &process, std::map<std::string_view, std::uint32_t> &known) {
    // The last one's is the likely one.
    std::uint32_t at = runs_.empty() ? 0 : runs_.back().nspace;
    if (at >= nspaces_.size() || nspaces_[at].name != process.nspace) {
        auto [found, fresh] = known.try_emplace(process.nspace, static_cast<std::uint32_t>(nspaces_.size()));
        at = found->second;
        if (fresh)
            nspaces_.push_back({process.nspace, false, {}});
    }
    std::size_t position = size_++;
    if (process.wildcard) {
        nspaces_[at].all = true;
        runs_.push_back({at, 0, 0, position});
        return;
    }
    if (!runs_.empty()) {
        Run &last = runs_.back();
        if (last.nspace == at && last.count > 0 && process.rank > last.first &&
            process.rank - last.first == last.count) {
            ++last.count;
            return;
        }
    }
    runs_.push_back({at, process.rank, 1, position});
}

void MemberList::index() {
    for (const Run &run : runs_) {
        if (run.count > 0)
            nspaces_[run.nspace].ranges.push_back({run.first, run.first + (run.count - 1)});
    }
    for (Namespace &nspace : nspaces_) {
        std::sort(nspace.ranges.begin(), nspace.ranges.end(),
                  [](const Range &a, const Range &b) { return a.first < b.first; });
        std::vector<Range> apart;
        for (const Range &range : nspace.ranges) {
            if (!apart.empty() && range.first <= apart.back().last + 1)
                apart.back().last = std::max(apart.back().last, range.last);
            else
                apart.push_back(range);
        }
        apart.shrink_to_fit();
        nspace.ranges = std::move(apart);
    }
}

Process MemberList::at(std::size_t position) const {
    auto run = std::prev(std::upper_bound(runs_.begin(), runs_.end(), position,
                                          [](std::size_t wanted, const Run &each) { return wanted < each.position; }));
    const Bytes &name = nspaces_[run->nspace].name;
    if (run->count == 0)
        return {name, UINT32_MAX, true};
    return {name, run->first + static_cast<Rank>(position - run->position), false};
}

std::vector<Process> MemberList::all() const {
    std::vector<Process> out;
    out.reserve(size_);
    for (const Run &run : runs_) {
        const Bytes &name = nspaces_[run.nspace].name;
        if (run.count == 0)
            out.push_back({name, UINT32_MAX, true});
        for (std::uint32_t i = 0; i < run.count; ++i)
            out.push_back({name, run.first + i, false});
    }
    return out;
}

std::vector<Process> MemberList::each(const std::function<Rank(const Bytes &)> &size_of, std::size_t most) const {
    if (std::none_of(runs_.begin(), runs_.end(), [](const Run &run) { return run.count == 0; }))
        return all();
    std::vector<Process> out;
    for (auto &process : all()) {
        Rank size = process.wildcard ? size_of(process.nspace) : 0;
        if (out.size() + std::max<Rank>(size, 1) > most)
            return all();
        if (size == 0)
            out.push_back(std::move(process));
        for (Rank rank = 0; rank < size; ++rank)
            out.push_back({process.nspace, rank, false});
    }
    return out;
}

const MemberList::Namespace *MemberList::find(const Bytes &nspace) const {
    for (const Namespace &each : nspaces_) {
        if (each.name == nspace)
            return &each;
    }
    return nullptr;
}

bool MemberList::contains(const Namespace &nspace, Rank rank) {
    if (nspace.all)
        return true;
    auto after = std::upper_bound(nspace.ranges.begin(), nspace.ranges.end(), rank,
                                  [](Rank wanted, const Range &each) { return wanted < each.first; });
    return after != nspace.ranges.begin() && std::prev(after)->last >= rank;
}

bool MemberList::contains(const Bytes &nspace, Rank rank) const {
    const Namespace *found = find(nspace);
    return found && contains(*found, rank);
}

std::vector<Rank> MemberList::among(const Bytes &nspace, std::span<const Rank> ranks) const {
    std::vector<Rank> out;
    if (const Namespace *found = find(nspace))
        std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(out),
                     [&](Rank rank) { return contains(*found, rank); });
    return out;
}

bool MemberList::only_of(const Bytes &nspace) const {
    return std::all_of(nspaces_.begin(), nspaces_.end(), [&](const Namespace &each) { return each.name == nspace; });
}

} // namespace pmixhost
