// See descriptor_message.h.
#include "common/process/descriptor_message.h"

#include <cerrno>
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
    char bytes[longest_with_descriptor];
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

} // namespace pmixhost
