// See socket_list.h.
#include "server-glue/evidence/socket_list.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <vector>

namespace pmixhost {

namespace {

bool hex(std::string_view text, std::uint32_t &number) {
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return failed == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The kernel prints each 32 bits of an address as a number of the machine's own byte order.
std::string address(std::string_view text, bool version_6) {
    std::size_t words = version_6 ? 4 : 1;
    std::uint32_t bytes[4] = {}, port = 0;
    if (text.size() != words * 8 + 5 || text[words * 8] != ':' || !hex(text.substr(words * 8 + 1), port))
        return {};
    for (std::size_t i = 0; i < words; ++i) {
        if (!hex(text.substr(i * 8, 8), bytes[i]))
            return {};
    }
    char out[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(version_6 ? AF_INET6 : AF_INET, bytes, out, sizeof out);
    return version_6 ? fmt::format("[{}]:{}", out, port) : fmt::format("{}:{}", out, port);
}

std::string_view state_name(std::uint32_t state) {
    // include/net/tcp_states.h, from 1.
    static constexpr std::string_view names[] = {"established", "SYN sent",  "SYN received", "FIN wait 1",
                                                 "FIN wait 2",  "time wait", "closed",       "close wait",
                                                 "last ACK",    "listening", "closing"};
    return state >= 1 && state <= std::size(names) ? names[state - 1] : "of unknown state";
}

} // namespace

void SocketList::add(std::string_view text, bool version_6) {
    constexpr std::size_t max = 65536;
    while (!text.empty() && by_inode_.size() < max) {
        auto line = take_until(text, '\n');
        // sl local remote state tx:rx timer:when retransmits uid timeout inode ...
        std::vector<std::string_view> words;
        while (words.size() < 10) {
            auto begin = line.find_first_not_of(' ');
            if (begin == line.npos)
                break;
            line.remove_prefix(begin);
            words.push_back(line.substr(0, line.find(' ')));
            line.remove_prefix(words.back().size());
        }
        std::uint32_t state = 0, unsent = 0, unread = 0;
        std::uint64_t inode = 0;
        if (words.size() < 10 || words[4].size() != 17 || !hex(words[3], state) ||
            !hex(words[4].substr(0, 8), unsent) || !hex(words[4].substr(9), unread) ||
            std::from_chars(words[9].data(), words[9].data() + words[9].size(), inode).ec != std::errc())
            continue;
        auto local = address(words[1], version_6), remote = address(words[2], version_6);
        constexpr std::uint32_t listening = 10; // where the two queues are the backlog and its bound
        if (local.empty() || remote.empty() || inode == 0)
            continue;
        by_inode_[inode] = state == listening
                               ? fmt::format("TCP {}, listening, {} connections not yet accepted", local, unread)
                               : fmt::format("TCP {} to {}, {}, {} bytes unread, {} bytes unsent", local, remote,
                                             state_name(state), unread, unsent);
    }
}

std::string SocketList::describe(std::uint64_t inode) const {
    auto found = by_inode_.find(inode);
    return found == by_inode_.end() ? std::string() : found->second;
}

} // namespace pmixhost
