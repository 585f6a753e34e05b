// See layout.h.
#include "tools/run/layout.h"

#include "common/config/config_values.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"

namespace pmixhost {

namespace {

using Placement = std::vector<std::vector<Rank>>;

Error unknown_policy(std::string_view policy) {
    return error(ErrorKind::invalid, "--map-by '{}'; allowed: slot, node, plane=K, ppr:K:node, list=HOST,HOST,...",
                 printable(policy));
}

Placement block(Rank tasks, HostIndex hosts) {
    Placement out(hosts);
    Rank rank = 0;
    for (HostIndex host = 0; host < hosts; ++host) {
        Rank share = tasks / hosts + (host < tasks % hosts ? 1 : 0);
        for (Rank i = 0; i < share; ++i)
            out[host].push_back(rank++);
    }
    return out;
}

Placement in_turn(Rank tasks, HostIndex hosts, std::uint64_t size) {
    Placement out(hosts);
    for (Rank rank = 0; rank < tasks; ++rank)
        out[rank / size % hosts].push_back(rank);
    return out;
}

Result<Placement> listed(std::string_view list, Rank tasks, HostIndex hosts) {
    Placement out(hosts);
    Rank rank = 0;
    while (!list.empty()) {
        auto entry = take_until(list, ',');
        auto host = parse_number(entry, hosts - 1);
        if (!host)
            return error(ErrorKind::invalid, "--map-by list: '{}' is no host; they are 0 to {}", printable(entry),
                         hosts - 1);
        out[*host].push_back(rank++);
    }
    if (rank != tasks)
        return error(ErrorKind::invalid, "--map-by list: has {} tasks, but there are {}", rank, tasks);
    return out;
}

Result<Placement> place(std::string_view policy, Rank tasks, HostIndex hosts) {
    if (policy == "slot" || policy == "block")
        return block(tasks, hosts);
    if (policy == "node" || policy == "cyclic")
        return in_turn(tasks, hosts, 1);
    if (policy.starts_with("list="))
        return listed(policy.substr(5), tasks, hosts);
    bool per_host = policy.starts_with("ppr:") && policy.ends_with(":node");
    if (!per_host && !policy.starts_with("plane="))
        return unknown_policy(policy);
    auto size = parse_number(per_host ? policy.substr(4, policy.size() - 4 - 5) : policy.substr(6), UINT32_MAX);
    if (!size || *size == 0)
        return unknown_policy(policy);
    if (per_host && *size * hosts < tasks)
        return error(ErrorKind::invalid, "--map-by {}: {} tasks do not fit on {} hosts", policy, tasks, hosts);
    return in_turn(tasks, hosts, *size);
}

} // namespace

Result<Placement> place_tasks(std::string_view policy, Rank tasks, HostIndex hosts) {
    auto placement = place(policy, tasks, hosts);
    if (!placement)
        return placement;
    for (HostIndex host = 0; host < hosts; ++host) {
        if ((*placement)[host].empty())
            return error(ErrorKind::invalid, "host {} would get no task; use fewer --hosts or another --map-by", host);
    }
    return placement;
}

std::string rank_list(const std::vector<Rank> &ranks) {
    std::string out;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
            ++last;
        out += out.empty() ? "" : ",";
        out += last == i ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
        i = last + 1;
    }
    return out;
}

} // namespace pmixhost
