// See link.h.
#include "common/transport/link.h"

#include "common/peer/peer_address.h"
#include "common/transport/keep_alive.h"

#include <algorithm>
#include <cerrno>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace pmixhost {

// How much of a large message goes into its tag before the kernel is offered it.
static constexpr std::size_t tag_piece = 256u << 10;

// What is read at once of a message whose length is known, and in a row: one busy peer must not starve the rest.
static constexpr std::size_t read_size = 256u << 10;
static constexpr std::size_t read_in_a_row = 1u << 20;
// What is allocated for a message before any of it has come. More follows as it comes: a length is quickly said.
static constexpr std::size_t first_room = 1u << 20;

static Error no_tag(const FrameTags &tags, std::string_view part) {
    return error(ErrorKind::denied,
                 "the {} of frame {} does not have its tag: on the network between the hosts, frames are "
                 "changed, added, repeated or left out (transport.frame_tags)",
                 part, tags.frames());
}

// How often the kernel has sent again what is not acknowledged, or asked for room, without an answer: 0.6 s at least.
static constexpr unsigned unanswered_tries = 2;

static void tune(int fd, Duration dead_after) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    keep_alive(fd, std::chrono::duration_cast<std::chrono::milliseconds>(dead_after));
}

Link::Link(EventLoop &loop, UniqueFd fd, Duration dead_after, Callbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), dead_after_(dead_after), callbacks_(std::move(callbacks)) {
    tune(fd_.get(), dead_after);
    watch();
}

// While something is on its way there is no keep-alive. TCP_USER_TIMEOUT would also end a connection whose other end is
// there and takes nothing for so long: the kernel counts no answer that says that there is no room. A daemon that is
// stopped with its job is such a one.
void Link::look_for_life() {
    tcp_info info{};
    socklen_t length = sizeof info;
    int owed = 0;
    if (::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        ::ioctl(fd_.get(), SIOCOUTQ, &owed) != 0 || (owed == 0 && queue_.empty()))
        return look_.reset();
    auto silent = std::min<Duration>(std::chrono::milliseconds(info.tcpi_last_ack_recv), loop_.now() - owes_since_);
    if (silent >= dead_after_ && std::max(info.tcpi_retransmits, info.tcpi_probes) >= unanswered_tries)
        return fail(system_error("connection", ETIMEDOUT));
    look_ = loop_.after(dead_after_ / 10, [this] { look_for_life(); });
}

std::string Link::peer_address() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getpeername(fd_.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return {};
    return PeerAddress(address).numeric();
}

std::size_t Link::unsent_bytes() const {
    int kernels = 0;
    if (::ioctl(fd_.get(), SIOCOUTQNSD, &kernels) != 0 || kernels < 0)
        kernels = 0;
    return queued_bytes_ + static_cast<std::size_t>(kernels);
}

bool Link::has_unsent() {
    if (unsent_bytes() == 0)
        return false;
    is_waited_for_ = true;
    watch();
    return true;
}

Link::~Link() {
    *alive_ = false;
}

void Link::watch() {
    // With the option a socket counts as writable when the kernel has nothing left that it has not sent. It is taken
    // back for further frames, of which one would be let out at a time.
    bool drains = false;
    if (is_waited_for_ && !failed_ && queue_.empty())
        is_waited_for_ = drains = unsent_bytes() > 0;
    if (drains != tells_drained_) {
        int most = drains ? 1 : 0; // 0: what the system has
        bool is_set = ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most) == 0;
        drains = drains && is_set;
        tells_drained_ = drains;
    }
    unsigned wanted = (held_ ? 0u : EventLoop::readable) | (queue_.empty() && !drains ? 0u : EventLoop::writable);
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

void Link::set_keys(const FrameKey &sending, const FrameKey &receiving) {
    tags_out_ = std::make_unique<FrameTags>(sending);
    tags_in_ = std::make_unique<FrameTags>(receiving);
}

void Link::send(std::uint8_t type, SharedBytes payload) {
    if (failed_)
        return;
    Outgoing frame;
    auto header = wire::encode_header({.type = type, .length = static_cast<std::uint32_t>(payload->size())});
    std::copy(header.begin(), header.end(), frame.head.begin());
    frame.head_size = header.size();
    if (tags_out_) {
        frame.head_size += FrameTags::size;
        frame.tail_size = payload->empty() ? 0 : FrameTags::size;
    } else {
        frame.begun = true;
        frame.ready = payload->size();
    }
    frame.payload = std::move(payload);
    queued_bytes_ += frame.size();
    queue_.push_back(std::move(frame));
    if (!look_) {
        owes_since_ = loop_.now();
        look_ = loop_.after(dead_after_ / 10, [this] { look_for_life(); });
    }
    // Errors surface through the loop, never inside the caller's send().
    if (queue_.size() == 1)
        write_some();
}

// Makes tags, over at most so many more bytes of the payload. For the frames in their order.
void Link::prepare(Outgoing &frame, std::size_t bytes) {
    if (frame.complete())
        return;
    if (!frame.begun) {
        auto tag = tags_out_->of_header({frame.head.data(), wire::frame_header_size});
        std::copy(tag.begin(), tag.end(), frame.head.begin() + wire::frame_header_size);
        frame.begun = true;
    }
    auto piece = std::string_view(*frame.payload).substr(frame.ready, bytes);
    tags_out_->add(piece);
    frame.ready += piece.size();
    if (frame.complete() && frame.tail_size > 0)
        frame.tail = tags_out_->of_payload();
}

void Link::write_some() {
    while (!queue_.empty()) {
        iovec parts[24];
        int count = 0;
        std::size_t skip = sent_of_first_;
        for (auto &frame : queue_) {
            if (count + 3 > 24)
                break;
            // A large message goes into its tag as the kernel takes it, not all at once: others want
            // the loop too.
            if (frame.ready + frame.head_size <= skip || !frame.begun)
                prepare(frame, tag_piece);
            for (auto [data, size] :
                 {std::pair{const_cast<const char *>(frame.head.data()), frame.head_size},
                  std::pair{frame.payload->data(), frame.ready},
                  std::pair{const_cast<const char *>(frame.tail.data()), frame.complete() ? frame.tail_size : 0}}) {
                if (skip >= size) {
                    skip -= size;
                    continue;
                }
                parts[count++] = {const_cast<char *>(data) + skip, size - skip};
                skip = 0;
            }
            if (!frame.complete())
                break;
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
            std::size_t size = queue_.front().size();
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
    for (std::size_t read = 0; read < read_in_a_row;) {
        std::size_t wanted = 0;
        ssize_t n = receive(wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0)
            return fail(system_error("connection", errno));
        if (n == 0)
            return fail(error(ErrorKind::unreachable, "the peer closed the connection"));
        read += static_cast<std::size_t>(n);

        hand_over();
        if (!*alive || failed_ || held_)
            return;
        if (static_cast<std::size_t>(n) < wanted)
            return;
    }
}

// Puts what comes of a payload where it belongs, and what follows it into input_. `wanted` becomes what there was room
// for; the rest is as recvmsg() has it.
ssize_t Link::receive(std::size_t &wanted) {
    char buffer[65536];
    iovec parts[2];
    msghdr message{};
    message.msg_iov = parts;
    std::size_t missing = incoming_ ? incoming_->missing() : 0, room = 0;
    if (missing > 0) {
        incoming_->make_room();
        room = std::min(incoming_->room(), read_size);
        parts[message.msg_iovlen++] = {incoming_->payload.data() + incoming_->come, room};
    }
    wanted = room;
    if (room == missing) {
        parts[message.msg_iovlen++] = {buffer, sizeof buffer};
        wanted += sizeof buffer;
    }
    ssize_t n = ::recvmsg(fd_.get(), &message, 0);
    if (n <= 0)
        return n;
    auto come = static_cast<std::size_t>(n), of_payload = std::min(come, room);
    if (of_payload > 0)
        incoming_->come += of_payload;
    input_.append(buffer, come - of_payload);
    return n;
}

// A string of its own each time, since one that grows takes up to twice as much as it is asked for.
void Link::Incoming::make_room() {
    if (room() > 0 || missing() == 0)
        return;
    std::size_t size = std::min<std::size_t>(header.length, std::max(first_room, 2 * come));
    Bytes larger;
    larger.reserve(size);
    larger.append(payload);
    larger.resize(size);
    payload = std::move(larger);
}

void Link::Incoming::take(std::string_view bytes) {
    while (!bytes.empty()) {
        make_room();
        std::size_t some = std::min(room(), bytes.size());
        std::copy_n(bytes.data(), some, payload.data() + come);
        come += some;
        bytes.remove_prefix(some);
    }
}

// The header of the next frame is in input_, with its tag.
Result<void> Link::begin_incoming() {
    const char *head = input_.data() + consumed_;
    if (tags_in_ &&
        !FrameTags::same(tags_in_->of_header({head, wire::frame_header_size}), head + wire::frame_header_size))
        return no_tag(*tags_in_, "header");
    auto header = wire::decode_header(head, limit_);
    if (!header)
        return header.failure();
    incoming_ = Incoming{.header = *header, .payload = {}};
    return {};
}

// Every whole message in input_, in order.
void Link::hand_over() {
    auto alive = alive_;
    while (!held_) {
        if (!incoming_) {
            std::size_t head = wire::frame_header_size + (tags_in_ ? FrameTags::size : 0);
            if (input_.size() - consumed_ < head)
                break;
            if (auto begun = begin_incoming(); !begun)
                return fail(begun.failure());
            consumed_ += head;
        }
        std::size_t tail = tags_in_ && incoming_->header.length > 0 ? FrameTags::size : 0;
        auto some = std::string_view(input_).substr(consumed_, incoming_->missing());
        incoming_->take(some);
        consumed_ += some.size();
        if (tail > 0) {
            tags_in_->add(
                std::string_view(incoming_->payload).substr(incoming_->in_tag, incoming_->come - incoming_->in_tag));
            incoming_->in_tag = incoming_->come;
        }
        if (incoming_->missing() > 0 || input_.size() - consumed_ < tail)
            break;
        if (tail > 0 && !FrameTags::same(tags_in_->of_payload(), input_.data() + consumed_))
            return fail(no_tag(*tags_in_, "message"));
        consumed_ += tail;
        auto type = incoming_->header.type;
        Bytes payload = std::move(incoming_->payload);
        incoming_.reset();
        auto on_message = callbacks_.on_message; // a callback may replace the callbacks
        on_message(type, std::move(payload));
        if (!*alive || failed_)
            return;
    }
    input_.erase(0, consumed_);
    consumed_ = 0;
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
