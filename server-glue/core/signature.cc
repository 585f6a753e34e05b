// See signature.h.
#include "server-glue/core/signature.h"

#include <algorithm>
#include <map>

namespace pmixhost {

Result<Signature> canonical(CollectiveKind kind, const std::vector<Process> &participants,
                            const std::function<Rank(const Bytes &)> &size_of) {
    struct Named {
        bool all = false;
        std::vector<Rank> ranks;
    };
    std::map<Bytes, Named> by_nspace;
    for (const auto &process : participants) {
        Rank size = size_of(process.nspace);
        if (size == 0)
            return error(ErrorKind::not_found, "namespace {} is not known here", process.nspace);
        if (!process.wildcard && (process.rank >= size || process.rank > highest_rank))
            return error(ErrorKind::not_found, "namespace {} has no rank {}", process.nspace, process.rank);
        Named &named = by_nspace[process.nspace];
        if (process.wildcard)
            named.all = true;
        else
            named.ranks.push_back(process.rank);
    }
    if (by_nspace.empty())
        return error(ErrorKind::invalid, "a collective without participants");
    Signature signature;
    signature.kind = kind;
    for (auto &[nspace, named] : by_nspace) {
        auto &ranks = named.ranks;
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        bool all = named.all || ranks.size() == size_of(nspace);
        signature.members.push_back({nspace, all, all ? wire::RankSet() : wire::RankSet(ranks)});
    }
    return signature;
}

Result<Signature> read_signature(std::string_view key) {
    auto signature = wire::decode<Signature>(key);
    if (!signature)
        return signature;
    const auto &members = signature->members;
    auto is_one = [](const Members &each) {
        if (each.all != 0)
            return each.all == 1 && each.ranks.empty();
        return !each.ranks.empty() && each.ranks.valid() && each.ranks.back() <= highest_rank;
    };
    auto ascends = [](const Members &one, const Members &next) { return one.nspace < next.nspace; };
    bool sorted = std::adjacent_find(members.begin(), members.end(), std::not_fn(ascends)) == members.end();
    bool has_kind = signature->kind >= CollectiveKind::fence && signature->kind <= CollectiveKind::group_destruct;
    if (!has_kind || signature->tolerant > 1 || members.empty() || !sorted ||
        !std::all_of(members.begin(), members.end(), is_one))
        return error(ErrorKind::invalid, "a signature of {} bytes that no daemon of this pmixhost makes", key.size());
    return signature;
}

} // namespace pmixhost
