// See local_control.h.
#include "common/local/local_control.h"

#include "common/wire/frame.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>

namespace pmixhost::local {

namespace {

constexpr std::size_t queue_limit = 4u << 20;
constexpr std::size_t text_limit = 4u << 10;
constexpr std::size_t ranks_limit = control_frame_limit / sizeof(Rank) - 16;

template <typename Message> Bytes frame(const Message &message) {
    Bytes body = wire::encode(message);
    auto header = wire::encode_header({Message::type, static_cast<std::uint32_t>(body.size())});
    return Bytes(header.begin(), header.end()) + body;
}

// What does not fit is cut before it is encoded; a signal for more ranks than fit goes to all.
void fit(TaskNotStarted &m) {
    m.text.resize(std::min(m.text.size(), text_limit));
}
void fit(EndStep &m) {
    m.text.resize(std::min(m.text.size(), text_limit));
}
void fit(DaemonFailed &m) {
    m.text.resize(std::min(m.text.size(), text_limit));
}
void fit(Launched &m) {
    m.text.resize(std::min(m.text.size(), text_limit));
}
void fit(Contact &m) {
    m.message.resize(std::min(m.message.size(), contact_limit));
}
void fit(SignalTasks &m) {
    if (m.ranks.size() > ranks_limit)
        m.ranks.clear();
}
template <typename Message> void fit(Message &) {}

template <std::size_t I = 0> Result<std::optional<ControlMessage>> decode_as(std::uint8_t type, std::string_view body) {
    if constexpr (I == std::variant_size_v<ControlMessage>) {
        return error(ErrorKind::invalid, "control channel: message type {}", type);
    } else {
        using Message = std::variant_alternative_t<I, ControlMessage>;
        if (type != Message::type)
            return decode_as<I + 1>(type, body);
        auto message = wire::decode<Message>(body);
        if (!message)
            return error(ErrorKind::invalid, "control channel: {}", message.failure().text);
        return std::optional<ControlMessage>(std::move(*message));
    }
}

} // namespace

Bytes encode_control(ControlMessage message) {
    return std::visit(
        [](auto &m) {
            fit(m);
            return frame(m);
        },
        message);
}

Result<std::optional<ControlMessage>> ControlDecoder::next() {
    if (pending_.size() < wire::frame_header_size)
        return std::optional<ControlMessage>();
    auto header = wire::decode_header(pending_.data(), control_frame_limit);
    if (!header)
        return error(header.failure().kind, "control channel: {}", header.failure().text);
    std::size_t total = wire::frame_header_size + header->length;
    if (pending_.size() < total)
        return std::optional<ControlMessage>();
    auto message = decode_as(header->type, std::string_view(pending_).substr(wire::frame_header_size, header->length));
    pending_.erase(0, total);
    return message;
}

ControlChannel::ControlChannel(EventLoop &loop, UniqueFd socket, Events events)
    : loop_(loop), socket_(std::move(socket)), events_(std::make_shared<const Events>(std::move(events))) {
    ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
    readable_ = loop_.watch(socket_.get(), EventLoop::readable, [this](unsigned r) { on_ready(r); });
}

bool ControlChannel::send(ControlMessage message) {
    if (!socket_)
        return false;
    Bytes bytes = encode_control(std::move(message));
    if (out_.size() + bytes.size() > queue_limit) {
        // It does not close from within the call, whose caller may not expect to lose the channel here.
        closing_ = loop_.after(Duration::zero(), [this] { close("the other side takes nothing"); });
        return false;
    }
    out_ += bytes;
    flush();
    return true;
}

void ControlChannel::flush() {
    while (!out_.empty()) {
        ssize_t n = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            out_.clear(); // the reading side will see the close, after what is still to be read
            break;
        }
        if (n < 0)
            break;
        out_.erase(0, static_cast<std::size_t>(n));
    }
    watch_for_writing(!out_.empty());
}

void ControlChannel::watch_for_writing(bool wanted) {
    if (!wanted)
        writable_.reset();
    else if (!writable_)
        writable_ = loop_.watch(socket_.get(), EventLoop::writable, [this](unsigned) { flush(); });
}

void ControlChannel::on_ready(unsigned) {
    char buffer[16384];
    ssize_t n = ::read(socket_.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        return close(n < 0 && errno != ECONNRESET ? system_error("control channel", errno).text : "");
    decoder_.add(std::string_view(buffer, static_cast<std::size_t>(n)));
    auto alive = alive_;
    auto events = events_;
    while (socket_) {
        auto message = decoder_.next();
        if (!message)
            return close(message.failure().text);
        if (!message->has_value())
            return;
        events->on_message(std::move(**message));
        if (!*alive)
            return;
    }
}

void ControlChannel::close(std::string why) {
    if (!socket_)
        return;
    readable_.reset();
    writable_.reset();
    closing_.reset();
    socket_.reset();
    auto events = events_;
    events->on_closed(std::move(why));
}

} // namespace pmixhost::local
