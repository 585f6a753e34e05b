// See desk_channel.h.
#include "server-glue/gate/desk_channel.h"

#include "common/rendezvous/desk_word.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sys/socket.h>

namespace pmixhost {

Result<void> send_descriptor(int channel, const std::string &bytes, int with) {
    iovec part{const_cast<char *>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &with, sizeof with);
    if (::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return system_error("sendmsg", errno);
    return {};
}

Result<std::optional<WithDescriptor>> receive_descriptor(int channel, int flags) {
    char bytes[longest_desk_word];
    iovec part{bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(sizeof(int)); // CMSG_SPACE has room for two
    ssize_t there = ::recvmsg(channel, &message, flags | MSG_CMSG_CLOEXEC);
    if (there < 0 && (errno == EAGAIN || errno == EINTR))
        return {std::nullopt};
    if (there < 0)
        return system_error("recvmsg", errno);
    WithDescriptor got;
    got.bytes.assign(bytes, static_cast<std::size_t>(there));
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
            header->cmsg_len != CMSG_LEN(sizeof(int)))
            continue;
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
        got.fd.reset(fd);
    }
    // Truncated and without any: this process has no free descriptor.
    if ((message.msg_flags & MSG_TRUNC) || (got.fd && (message.msg_flags & MSG_CTRUNC)))
        return error(ErrorKind::invalid, "a message that is too long, or has more than one descriptor");
    return {std::move(got)};
}

Result<std::optional<std::string>> receive_word(int channel) {
    char bytes[longest_desk_word];
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

Result<DeskWord> parse_gate_word(std::string_view word) {
    constexpr std::string_view took = "took ", quiet = "quiet ", refused = "refused ";
    if (word == "ready")
        return DeskWord(DeskReady{});
    if (word.starts_with(refused))
        return DeskWord(DeskRefused{std::string(word.substr(refused.size()))});
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
