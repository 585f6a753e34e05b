// See group_parts.h.
#include "server-glue/groups/group_parts.h"

#include <algorithm>

namespace pmixhost {

std::uint64_t ContextIds::next() {
    if (step_ >> step_bits != 0 || host_ >> host_bits != 0 || last_ + 1 >= 1ull << counter_bits)
        return 0;
    return std::uint64_t{step_} << (host_bits + counter_bits) | std::uint64_t{host_} << counter_bits | ++last_;
}

static void take_posted(const wire::GroupPart &part, GroupParts &out) {
    wire::Reader reader(part.posted);
    while (reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (reader.ok() && !posted.data.empty())
            out.posted.push_back({part.nspace, posted.rank, std::move(posted.data)});
    }
}

Result<GroupParts> merge_group_parts(const Bytes &parts, const Bytes &own_nspace) {
    std::vector<wire::GroupPart> all;
    wire::Reader reader(parts);
    while (reader.ok() && !reader.at_end()) {
        wire::GroupPart part;
        reader.get(part);
        if (!reader.ok())
            return error(ErrorKind::invalid, "the part of a host in a group cannot be read");
        all.push_back(std::move(part));
    }
    // The order in which they came differs from host to host.
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return std::tie(a.nspace, a.host) < std::tie(b.nspace, b.host); });
    GroupParts out;
    std::uint64_t context_id = 0;
    bool wanted = false;
    for (const auto &part : all) {
        wanted = wanted || part.wants_context != 0;
        if (context_id == 0)
            context_id = part.context_id;
        if (part.nspace != own_nspace) {
            take_posted(part, out);
            continue;
        }
        out.hosts.insert(part.host);
        out.gone.insert(part.gone.begin(), part.gone.end());
        out.endpoints += part.endpoints;
    }
    if (wanted && context_id == 0)
        return error(ErrorKind::limit, "there are no more context ids for groups");
    if (wanted)
        out.context_id = context_id;
    return out;
}

} // namespace pmixhost
