// A contact message: where a daemon listens. The backend carries it to another daemon of the step
// (at most 4 KiB, unauthenticated as far as this code is concerned); that one dials.
#pragma once

#include "common/config/settings.h"
#include "common/job/job_map.h"
#include "common/wire/codec.h"

namespace pmixhost {

struct Contact {
    static constexpr const char *name = "Contact";
    static constexpr std::size_t max_bytes = 4096;
    std::uint32_t host = 0;
    std::uint16_t port = 0;
    Bytes cookie;
    std::vector<Bytes> addresses;
    static constexpr void fields(auto &&field) {
        field(&Contact::host, "host", "index of the host that listens");
        field(&Contact::port, "port", "its TCP port");
        field(&Contact::cookie, "cookie", "16 random bytes that a Hello must repeat");
        field(&Contact::addresses, "addresses", "numeric IPv4 or IPv6 addresses to try, in this order, at most 16");
    }
    static Result<Contact> decode(std::string_view message);
};

// This host's addresses: of the named interfaces, or of all that are up; loopback only where there
// is no other. Link-local IPv6 addresses are left out. At most 16.
Result<std::vector<Bytes>> own_addresses(const std::vector<std::string> &interfaces);

} // namespace pmixhost
