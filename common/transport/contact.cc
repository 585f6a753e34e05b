// See contact.h.
#include "common/transport/contact.h"

#include "common/transport/offered_addresses.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>

namespace pmixhost {

static constexpr std::size_t max_addresses = 16;

Result<Contact> Contact::decode(std::string_view message) {
    if (message.size() > max_bytes)
        return error(ErrorKind::limit, "contact message: over {} bytes", max_bytes);
    auto contact = wire::decode<Contact>(message);
    if (!contact)
        return contact;
    if (contact->cookie.size() != 16 || contact->port == 0 || contact->addresses.empty() ||
        contact->addresses.size() > max_addresses)
        return error(ErrorKind::invalid, "contact message: malformed");
    return contact;
}

Result<std::vector<Bytes>> own_addresses(const std::vector<std::string> &interfaces) {
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        return system_error("cannot list the network interfaces", errno);
    std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);

    std::vector<Bytes> v4, v6, loopback;
    for (ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
            continue;
        if (!interfaces.empty() && std::find(interfaces.begin(), interfaces.end(), i->ifa_name) == interfaces.end())
            continue;
        char text[INET6_ADDRSTRLEN];
        bool is_loopback = (i->ifa_flags & IFF_LOOPBACK) && interfaces.empty();
        if (i->ifa_addr->sa_family == AF_INET) {
            auto *address = reinterpret_cast<sockaddr_in *>(i->ifa_addr);
            inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
            (is_loopback ? loopback : v4).push_back(text);
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            auto *address = reinterpret_cast<sockaddr_in6 *>(i->ifa_addr);
            if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr))
                continue;
            inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text);
            (is_loopback ? loopback : v6).push_back(text);
        }
    }
    if (v4.empty() && v6.empty())
        v4 = loopback;
    auto offered = offered_addresses(std::move(v4), std::move(v6), max_addresses);
    if (offered.empty())
        return error(ErrorKind::not_found,
                     "no network interface with an address{}; see transport.interfaces in "
                     "pmixhost.conf",
                     interfaces.empty() ? "" : " among those configured");
    return offered;
}

} // namespace pmixhost
