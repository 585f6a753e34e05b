// See starter_address.h.
#include "plugins/kit/starter_address.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>

namespace pmixhost::kit {

std::string StarterAddress::text() const {
    std::string line = fmt::format("{} ", port);
    for (unsigned char byte : cookie)
        line += fmt::format("{:02x}", byte);
    for (const auto &address : addresses)
        line += " " + address;
    return line;
}

Result<StarterAddress> StarterAddress::parse(std::string_view text) {
    auto garbled = [] { return error(ErrorKind::invalid, "the address for exit reports is garbled"); };
    StarterAddress target;
    std::string_view port = take_until(text, ' '), cookie = take_until(text, ' ');
    auto [stop, code] = std::from_chars(port.data(), port.data() + port.size(), target.port);
    if (code != std::errc() || stop != port.data() + port.size() || target.port == 0 ||
        cookie.size() != 2 * target.cookie.size())
        return garbled();
    for (std::size_t i = 0; i < target.cookie.size(); ++i) {
        const char *digits = cookie.data() + 2 * i;
        auto [end, bad] = std::from_chars(digits, digits + 2, target.cookie[i], 16);
        if (bad != std::errc() || end != digits + 2)
            return garbled();
    }
    while (!text.empty() && target.addresses.size() < max_addresses) {
        std::string_view address = take_until(text, ' ');
        if (address.empty())
            return garbled();
        target.addresses.emplace_back(address);
    }
    if (!text.empty() || target.addresses.empty())
        return garbled();
    return target;
}

} // namespace pmixhost::kit
