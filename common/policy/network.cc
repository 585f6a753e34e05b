// See network.h.
#include "common/policy/network.h"

#include "common/config/config_values.h"
#include "common/text/printable.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

namespace pmixhost::policy {

static constexpr unsigned mapped_length = 96; // of ::ffff:0:0/96
static constexpr std::array<unsigned char, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool bit(const Network &network, unsigned index) {
    return (network.bytes[index / 8] >> (7 - index % 8)) & 1;
}

static void set_bit(Network &network, unsigned index, bool value) {
    auto mask = static_cast<unsigned char>(0x80 >> (index % 8));
    auto &byte = network.bytes[index / 8];
    byte = static_cast<unsigned char>(value ? byte | mask : byte & ~mask);
}

bool Network::is_ipv4() const {
    return length >= mapped_length && std::equal(mapped.begin(), mapped.end(), bytes.begin());
}

bool Network::contains(const Network &other) const {
    if (other.length < length || other.is_ipv4() != is_ipv4())
        return false;
    unsigned whole = length / 8;
    if (!std::equal(bytes.begin(), bytes.begin() + whole, other.bytes.begin()))
        return false;
    for (unsigned i = whole * 8; i < length; ++i) {
        if (bit(*this, i) != bit(other, i))
            return false;
    }
    return true;
}

bool Network::is_loopback() const {
    Network v4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127}, mapped_length + 8};
    Network v6;
    v6.bytes.back() = 1;
    return v4.contains(*this) || v6 == *this;
}

std::string Network::text() const {
    char out[INET6_ADDRSTRLEN] = "";
    bool v4 = is_ipv4();
    ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data() + (v4 ? 12 : 0), out, sizeof out);
    return length == 128 ? std::string(out) : fmt::format("{}/{}", out, v4 ? length - mapped_length : length);
}

Result<Network> parse_address(std::string_view text) {
    Network address;
    std::string ended(text.substr(0, INET6_ADDRSTRLEN));
    if (ended.size() == text.size() && ended.find('\0') == std::string::npos) {
        if (::inet_pton(AF_INET6, ended.c_str(), address.bytes.data()) == 1)
            return address;
        if (::inet_pton(AF_INET, ended.c_str(), address.bytes.data() + 12) == 1) {
            std::copy(mapped.begin(), mapped.end(), address.bytes.begin());
            return address;
        }
    }
    return error(ErrorKind::invalid, "{} is no address of IPv4 or IPv6", printable(text));
}

Result<Network> parse_network(std::string_view text) {
    auto slash = text.find('/');
    auto network = parse_address(text.substr(0, slash));
    if (!network || slash == std::string_view::npos)
        return network;
    // ::ffff:10.0.0.0/104 is one of IPv4, written with the length that IPv6 has.
    bool v4 = network->is_ipv4() && text.substr(0, slash).find(':') == std::string_view::npos;
    auto length = parse_number(text.substr(slash + 1), v4 ? 32 : 128);
    if (!length)
        return error(ErrorKind::invalid, "{} needs a length from 0 to {} behind its /", printable(text), v4 ? 32 : 128);
    network->length = static_cast<unsigned>(*length) + (v4 ? mapped_length : 0);
    Network cut = *network;
    for (unsigned i = cut.length; i < 128; ++i)
        set_bit(cut, i, false);
    if (cut != *network)
        return error(ErrorKind::invalid, "{} has bits behind its length; {} is the network, {} the address",
                     printable(text), cut.text(), printable(text.substr(0, slash)));
    return network;
}

bool is_covered(const Network &whole, const std::vector<Network> &parts) {
    std::vector<Network> inside;
    for (const auto &part : parts) {
        if (part.contains(whole))
            return true;
        if (whole.contains(part))
            inside.push_back(part);
    }
    if (inside.empty())
        return false;
    // Two halves, each of which has parts of its own: at most 128 times one below the other.
    Network half = whole;
    ++half.length;
    if (!is_covered(half, inside))
        return false;
    set_bit(half, whole.length, true);
    return is_covered(half, inside);
}

} // namespace pmixhost::policy
