// See desk_channel.h.
#include "server-glue/gate/desk_channel.h"

#include "common/base/hurry.h"
#include "common/rendezvous/desk_word.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sys/socket.h>

namespace pmixhost {

Result<std::optional<std::string>> receive_word(int channel) {
    char bytes[longest_desk_word];
    Hurry hurry; // who says it may have sent something along that takes its time to be dropped
    ssize_t there = ::recv(channel, bytes, sizeof bytes, MSG_DONTWAIT);
    if (there < 0 && (errno == EAGAIN || errno == EINTR))
        return {std::nullopt};
    if (there < 0)
        return system_error("recv", errno);
    return {std::string(bytes, static_cast<std::size_t>(there))};
}

bool say(int channel, const std::string &word) {
    return ::send(channel, word.data(), std::min(word.size(), longest_desk_word), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

void hang_up(int connection) {
    ::shutdown(connection, SHUT_RDWR);
}

Result<DeskWord> parse_gate_word(std::string_view word) {
    constexpr std::string_view took = "took ", quiet = "quiet ", refused = "refused ", tells = "tells ";
    if (word == "ready")
        return DeskWord(DeskReady{});
    if (word.starts_with(refused))
        return DeskWord(DeskRefused{std::string(word.substr(refused.size()))});
    if (word.starts_with(tells))
        return DeskWord(DeskTells{std::string(word.substr(tells.size()))});
    bool is_quiet = word.starts_with(quiet);
    if (is_quiet || word.starts_with(took)) {
        std::string_view number = word.substr(is_quiet ? quiet.size() : took.size());
        std::uint64_t count = 0;
        auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), count);
        if (failed == std::errc() && end == number.data() + number.size())
            return is_quiet ? DeskWord(DeskQuiet{count}) : DeskWord(DeskTook{count});
    }
    auto other = parse_desk_word(word);
    return other ? error(ErrorKind::system, "the desk says '{}'", word) : other.failure();
}

} // namespace pmixhost
