// See link.h.
#include "common/transport/link.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace pmixhost {

static void tune(int fd, Duration dead_after) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    auto ms = static_cast<unsigned>(
        std::chrono::duration_cast<std::chrono::milliseconds>(dead_after).count());
    // Three probes that go unanswered, or data that stays unacknowledged: gone.
    int interval = static_cast<int>(ms / 4000) > 0 ? static_cast<int>(ms / 4000) : 1;
    int probes = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

Link::Link(EventLoop &loop, UniqueFd fd, Duration dead_after, Callbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), callbacks_(std::move(callbacks)) {
    tune(fd_.get(), dead_after);
    watch();
}

Link::~Link() { *alive_ = false; }

void Link::watch() {
    unsigned wanted =
        (held_ ? 0u : EventLoop::readable) | (queue_.empty() ? 0u : EventLoop::writable);
    if (wanted == interest_ || failed_)
        return;
    interest_ = wanted;
    if (wanted == 0)
        return watch_.reset();
    watch_ = loop_.watch(fd_.get(), wanted, [this](unsigned ready) { on_ready(ready); });
}

void Link::on_ready(unsigned ready) {
    auto alive = alive_;
    if (ready & EventLoop::writable)
        write_some();
    if (*alive && !failed_ && !held_ && (ready & EventLoop::readable))
        read_some();
}

void Link::send(std::uint8_t type, SharedBytes payload) {
    if (failed_)
        return;
    queued_bytes_ += payload->size() + wire::frame_header_size;
    auto header =
        wire::encode_header({.type = type, .length = static_cast<std::uint32_t>(payload->size())});
    queue_.push_back({header, std::move(payload)});
    // Errors surface through the loop, never inside the caller's send().
    if (queue_.size() == 1)
        write_some();
}

void Link::write_some() {
    while (!queue_.empty()) {
        iovec parts[16];
        int count = 0;
        std::size_t skip = sent_of_first_;
        for (const auto &frame : queue_) {
            if (count + 2 > 16)
                break;
            for (auto [data, size] :
                 {std::pair{frame.header.data(), frame.header.size()},
                  std::pair{const_cast<const char *>(frame.payload->data()), frame.payload->size()}}) {
                if (skip >= size) {
                    skip -= size;
                    continue;
                }
                parts[count++] = {const_cast<char *>(data) + skip, size - skip};
                skip = 0;
            }
        }
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = static_cast<std::size_t>(count);
        ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0) {
            // The read side reports it from the loop; sending goes no further.
            break;
        }
        queued_bytes_ -= static_cast<std::size_t>(n);
        std::size_t done = sent_of_first_ + static_cast<std::size_t>(n);
        while (!queue_.empty()) {
            std::size_t size = wire::frame_header_size + queue_.front().payload->size();
            if (done < size)
                break;
            done -= size;
            queue_.pop_front();
        }
        sent_of_first_ = done;
    }
    watch();
}

void Link::read_some() {
    auto alive = alive_;
    // Bounded work per turn, so that one busy peer does not starve the rest.
    for (int turn = 0; turn < 16; ++turn) {
        char buffer[65536];
        ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0)
            return fail(system_error("connection", errno));
        if (n == 0)
            return fail(error(ErrorKind::unreachable, "the peer closed the connection"));
        input_.append(buffer, static_cast<std::size_t>(n));

        hand_over();
        if (!*alive || failed_ || held_)
            return;
        if (static_cast<std::size_t>(n) < sizeof buffer)
            return;
    }
}

// Every whole message in input_, in order.
void Link::hand_over() {
    auto alive = alive_;
    while (!held_ && input_.size() - consumed_ >= wire::frame_header_size) {
        auto header = wire::decode_header(input_.data() + consumed_, limit_);
        if (!header)
            return fail(header.failure());
        std::size_t whole = wire::frame_header_size + header->length;
        if (input_.size() - consumed_ < whole)
            break;
        Bytes payload = input_.substr(consumed_ + wire::frame_header_size, header->length);
        consumed_ += whole;
        auto on_message = callbacks_.on_message; // a callback may replace the callbacks
        on_message(header->type, std::move(payload));
        if (!*alive || failed_)
            return;
    }
    input_.erase(0, consumed_);
    consumed_ = 0;
    if (input_.empty() && input_.capacity() > (1u << 20))
        input_.shrink_to_fit();
}

void Link::release() {
    auto alive = alive_;
    held_ = false;
    hand_over();
    if (*alive)
        watch();
}

void Link::fail(Error why) {
    if (failed_)
        return;
    failed_ = true;
    watch_.reset();
    auto on_closed = callbacks_.on_closed;
    on_closed(std::move(why));
}

} // namespace pmixhost
