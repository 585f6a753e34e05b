// See invitation_stream.h.
#include "server-glue/rm/invitation_stream.h"

#include "common/transport/invitation.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>

namespace pmixhost {

Result<std::unique_ptr<InvitationStream>> InvitationStream::open(EventLoop &loop, Log &log,
                                                                 const StartDocument &document,
                                                                 std::function<void(std::string)> on_invitation,
                                                                 std::function<void()> on_end) {
    auto number = document.number("invitations_fd", 1 << 20);
    if (!number)
        return number.failure();
    UniqueFd fd(static_cast<int>(*number));
    int flags = fcntl(fd.get(), F_GETFL);
    if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0)
        return system_error(fmt::format("start document: invitations_fd {}", *number), errno);
    return std::unique_ptr<InvitationStream>(
        new InvitationStream(loop, log, std::move(fd), std::move(on_invitation), std::move(on_end)));
}

InvitationStream::InvitationStream(EventLoop &loop, Log &log, UniqueFd fd,
                                   std::function<void(std::string)> on_invitation, std::function<void()> on_end)
    : loop_(loop), log_(log), fd_(std::move(fd)), on_invitation_(std::move(on_invitation)), on_end_(std::move(on_end)) {
    watch_ = loop_.watch(fd_.get(), EventLoop::readable, [this](unsigned) { on_readable(); });
}

void InvitationStream::on_readable() {
    char buffer[8192];
    ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        watch_.reset();
        return on_end_();
    }
    bytes_.append(buffer, static_cast<std::size_t>(n));
    while (bytes_.size() >= 4) {
        std::size_t size = 0;
        for (int i = 0; i < 4; ++i)
            size = size << 8 | static_cast<unsigned char>(bytes_[i]);
        if (size > Invitation::max_bytes) {
            log_.error("an invitation of {} bytes", size);
            watch_.reset();
            return on_end_();
        }
        if (bytes_.size() < 4 + size)
            return;
        std::string message = bytes_.substr(4, size);
        bytes_.erase(0, 4 + size);
        on_invitation_(std::move(message));
    }
}

} // namespace pmixhost
