// The ports and interfaces of the daemons, as `pmixhost doctor` sees them. See host_checks.h.
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/text/take_until.h"
#include "tools/doctor/host_checks.h"

#include <algorithm>
#include <cstdio>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>

namespace pmixhost {

namespace {

// Whether a daemon could listen there now.
bool is_free(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int yes = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); // those of ended connections are free
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    return ::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 &&
           ::listen(fd.get(), 1) == 0;
}

std::optional<KernelPorts> ports_of_kernel() {
    auto text = read_small_file("/proc/sys/net/ipv4/ip_local_port_range");
    unsigned first = 0, last = 0;
    if (!text || std::sscanf(text->c_str(), "%u %u", &first, &last) != 2)
        return std::nullopt;
    auto reserved = read_small_file("/proc/sys/net/ipv4/ip_local_reserved_ports");
    return KernelPorts{{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)},
                       reserved ? *reserved : std::string()};
}

std::set<std::string> interfaces_that_are_up() {
    std::set<std::string> names;
    ifaddrs *list = nullptr;
    if (::getifaddrs(&list) != 0)
        return names;
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
    for (auto *one = list; one; one = one->ifa_next) {
        if (one->ifa_addr && (one->ifa_flags & IFF_UP) &&
            (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6))
            names.insert(one->ifa_name);
    }
    return names;
}

Finding finding_of_interfaces(const std::vector<std::string> &named) {
    auto up = interfaces_that_are_up();
    if (named.empty())
        return fine("interfaces", fmt::format("any: {}", fmt::join(up, ", ")));
    std::vector<std::string> missing;
    std::copy_if(named.begin(), named.end(), std::back_inserter(missing),
                 [&up](const auto &name) { return !up.contains(name); });
    if (missing.empty())
        return fine("interfaces", fmt::format("{}", fmt::join(named, ", ")));
    std::string text = fmt::format("not here, or down, or without address: {}", fmt::join(missing, ", "));
    std::string cure = fmt::format("transport.interfaces in pmixhost.conf: some of {}", fmt::join(up, ", "));
    return missing.size() == named.size() ? wrong("interfaces", text, cure) : doubtful("interfaces", text, cure);
}

} // namespace

bool KernelPorts::gives(const PortRange &ports) const {
    unsigned next = std::max(ports.first, range.first); // the first of them that is not known to be reserved
    const unsigned last = std::min(ports.last, range.last);
    for (std::string_view rest = reserved; !rest.empty() && next <= last;) { // in order, as the kernel writes them
        std::string one(take_until(rest, ','));
        unsigned begin = 0, end = 0;
        int numbers = std::sscanf(one.c_str(), "%u-%u", &begin, &end);
        if (numbers < 1 || begin > next)
            break;
        next = std::max(next, (numbers == 2 ? end : begin) + 1);
    }
    return next <= last;
}

Finding finding_of_ports(const PortRange &ports, unsigned free, const std::optional<KernelPorts> &kernels) {
    if (ports.first == 0)
        return fine("ports", "any that is free");
    unsigned all = static_cast<unsigned>(ports.last - ports.first) + 1;
    std::string range = fmt::format("{}-{}", ports.first, ports.last);
    std::string text = fmt::format("transport.ports {}: {} of {} free", range, free, all);
    if (free == 0)
        return wrong("ports", text,
                     "name a range that nothing else uses: transport.ports in pmixhost.conf (ss -tlnp "
                     "tells who has them)");
    if (free < 4)
        return doubtful("ports", text,
                        "each step on this host takes one, and each command or tool that looks at a job elsewhere: "
                        "widen transport.ports in pmixhost.conf");
    if (kernels && kernels->gives(ports))
        return doubtful("ports",
                        fmt::format("transport.ports {} lies in the ports that the kernel gives to anybody ({}-{})",
                                    range, kernels->range.first, kernels->range.last),
                        fmt::format("add {} to the list in net.ipv4.ip_local_reserved_ports (sysctl), or name ports "
                                    "outside of these",
                                    range));
    return fine("ports", text);
}

Findings network_findings(const Patient &patient) {
    const Settings &settings = patient.config.loaded.settings;
    const PortRange &ports = settings.transport_ports;
    unsigned free = 0;
    for (unsigned port = ports.first; port != 0 && port <= ports.last; ++port)
        free += is_free(static_cast<std::uint16_t>(port));
    return {finding_of_ports(ports, free, ports_of_kernel()), finding_of_interfaces(settings.transport_interfaces)};
}

} // namespace pmixhost
