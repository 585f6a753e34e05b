// Networks and addresses of IPv4 and IPv6, as the rules for tools name them. Pure values: nothing is looked up.
#pragma once

#include "common/base/result.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::policy {

// An IPv4 address is kept as IPv6 maps it (::ffff:a.b.c.d), so that it is the same whichever socket it came by; it
// is nevertheless in no IPv6 network, ::/0 among them.
struct Network {
    std::array<unsigned char, 16> bytes{};
    unsigned length = 128; // leading bits that count; 128: one address

    bool is_ipv4() const;
    bool contains(const Network &other) const;
    bool is_loopback() const; // lies in 127.0.0.0/8, or is ::1
    std::string text() const; // "10.0.0.0/8", "10.1.2.3", "2001:db8::/32"
    bool operator==(const Network &) const = default;
};

// "10.1.2.3", "10.0.0.0/8", "2001:db8::1", "2001:db8::/32". Fails (invalid) on everything else, also where bits behind
// the length are set (10.1.2.3/8): the text then has what was probably meant.
Result<Network> parse_network(std::string_view text);
// The same, of one address.
Result<Network> parse_address(std::string_view text);

// Does each address of `whole` lie in one of `parts`?
bool is_covered(const Network &whole, const std::vector<Network> &parts);

} // namespace pmixhost::policy
