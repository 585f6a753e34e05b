// See descriptor_message.h.
#include "common/process/descriptor_message.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace pmixhost {

static Result<void> send_with(int channel, const std::string &bytes, const int *fds, std::size_t count) {
    iovec part{const_cast<char *>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = "";
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    if (::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return system_error("sendmsg", errno);
    return {};
}

// `most`: the kernel puts no more into this process.
static Result<std::optional<WithDescriptors>> receive_with(int channel, int flags, std::size_t most) {
    char bytes[longest_with_descriptor];
    iovec part{bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(most * sizeof(int)); // CMSG_SPACE may have room for one more
    ssize_t there = ::recvmsg(channel, &message, flags | MSG_CMSG_CLOEXEC);
    if (there < 0 && (errno == EAGAIN || errno == EINTR))
        return {std::nullopt};
    if (there < 0)
        return system_error("recvmsg", errno);
    WithDescriptors got;
    got.bytes.assign(bytes, static_cast<std::size_t>(there));
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
            got.fds.emplace_back(fd);
        }
    }
    // Truncated with fewer: this process has no free descriptor.
    if ((message.msg_flags & MSG_TRUNC) || (got.fds.size() == most && (message.msg_flags & MSG_CTRUNC)))
        return error(ErrorKind::invalid, "a message that is too long, or has more than {} descriptor{}", most,
                     most == 1 ? "" : "s");
    return {std::move(got)};
}

Result<void> send_descriptor(int channel, const std::string &bytes, int with) {
    return send_with(channel, bytes, &with, 1);
}

Result<std::optional<WithDescriptor>> receive_descriptor(int channel, int flags) {
    auto got = receive_with(channel, flags, 1);
    if (!got)
        return got.failure();
    if (!*got)
        return {std::nullopt};
    WithDescriptor one{std::move((*got)->bytes), {}};
    if (!(*got)->fds.empty())
        one.fd = std::move((*got)->fds.front());
    return {std::move(one)};
}

Result<void> send_descriptors(int channel, const std::string &bytes, std::initializer_list<int> with) {
    if (with.size() == 0 || with.size() > most_descriptors)
        return error(ErrorKind::invalid, "{} descriptors; allowed: 1 to {}", with.size(), most_descriptors);
    return send_with(channel, bytes, with.begin(), with.size());
}

Result<std::optional<WithDescriptors>> receive_descriptors(int channel, int flags) {
    return receive_with(channel, flags, most_descriptors);
}

} // namespace pmixhost
