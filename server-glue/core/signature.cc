// See signature.h.
#include "server-glue/core/signature.h"

#include <algorithm>
#include <map>

namespace pmixhost {

bool Signature::contains(const Bytes &nspace, Rank rank) const {
    for (const auto &m : members) {
        if (m.nspace == nspace)
            return m.all || std::binary_search(m.ranks.begin(), m.ranks.end(), rank);
    }
    return false;
}

Result<Signature> canonical(CollectiveKind kind, const std::vector<Process> &participants,
                            const std::function<Rank(const Bytes &)> &size_of) {
    std::map<Bytes, Members> by_nspace;
    for (const auto &process : participants) {
        Rank size = size_of(process.nspace);
        if (size == 0)
            return error(ErrorKind::not_found, "namespace {} is not known here", process.nspace);
        if (!process.wildcard && (process.rank >= size || process.rank > highest_rank))
            return error(ErrorKind::not_found, "namespace {} has no rank {}", process.nspace, process.rank);
        Members &m = by_nspace[process.nspace];
        m.nspace = process.nspace;
        if (process.wildcard)
            m.all = 1;
        else
            m.ranks.push_back(process.rank);
    }
    if (by_nspace.empty())
        return error(ErrorKind::invalid, "a collective without participants");
    Signature signature;
    signature.kind = kind;
    for (auto &[nspace, m] : by_nspace) {
        std::sort(m.ranks.begin(), m.ranks.end());
        m.ranks.erase(std::unique(m.ranks.begin(), m.ranks.end()), m.ranks.end());
        if (m.all || m.ranks.size() == size_of(nspace)) {
            m.all = 1;
            m.ranks.clear();
        }
        signature.members.push_back(std::move(m));
    }
    return signature;
}

} // namespace pmixhost
