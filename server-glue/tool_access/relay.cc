// See relay.h.
#include "server-glue/tool_access/relay.h"

#include <algorithm>
#include <cerrno>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace pmixhost {

namespace {

constexpr std::size_t relayed_at_once = 64u << 10;
constexpr auto last_bytes = std::chrono::seconds(5);

bool later(ssize_t result) {
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

} // namespace

bool Relay::has_unread() const {
    return std::any_of(connections_.begin(), connections_.end(), [](const auto &entry) {
        int bytes = 0;
        return ::ioctl(entry.second.local.get(), FIONREAD, &bytes) == 0 && bytes > 0;
    });
}

void Relay::add(std::uint64_t id, UniqueFd local, Bytes ahead) {
    Connection &connection = connections_[id];
    connection.local = std::move(local);
    connection.under_way = ahead.size();
    if (!ahead.empty())
        tell(wire::RelayBytes{id, std::move(ahead)});
    watch(id, connection);
}

// Reads as long as the other end has room, writes as long as there is something.
void Relay::watch(std::uint64_t id, Connection &connection) {
    unsigned interest = 0;
    if (!connection.ended && connection.under_way < wire::relay_window)
        interest |= EventLoop::readable;
    if (!connection.waiting.empty())
        interest |= EventLoop::writable;
    if (interest == connection.interest)
        return;
    connection.interest = interest;
    connection.watch.reset();
    if (interest)
        connection.watch =
            loop_.watch(connection.local.get(), interest, [this, id](unsigned ready) { on_ready(id, ready); });
}

void Relay::on_ready(std::uint64_t id, unsigned ready) {
    auto found = connections_.find(id);
    if (found == connections_.end())
        return;
    Connection &connection = found->second;
    if (((ready & EventLoop::writable) && !write_some(id, connection)) ||
        ((ready & EventLoop::readable) && !read_some(id, connection)))
        return drop(id);
    if (connection.ended && connection.waiting.empty())
        return forget(id);
    watch(id, connection);
}

// False: it is closed.
bool Relay::read_some(std::uint64_t id, Connection &connection) {
    if (connection.ended || connection.under_way >= wire::relay_window)
        return true;
    wire::RelayBytes message;
    message.id = id;
    message.bytes.resize(std::min(relayed_at_once, wire::relay_window - connection.under_way));
    ssize_t there = ::recv(connection.local.get(), message.bytes.data(), message.bytes.size(), MSG_DONTWAIT);
    if (there <= 0)
        return later(there);
    message.bytes.resize(static_cast<std::size_t>(there));
    connection.under_way += message.bytes.size();
    tell(message);
    return true;
}

bool Relay::write_some(std::uint64_t id, Connection &connection) {
    ssize_t written = ::send(connection.local.get(), connection.waiting.data(), connection.waiting.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0)
        return later(written);
    connection.waiting.erase(0, static_cast<std::size_t>(written));
    if (!connection.ended)
        tell(wire::RelayTaken{id, static_cast<std::uint32_t>(written)});
    return true;
}

void Relay::on_bytes(wire::RelayBytes message) {
    auto found = connections_.find(message.id);
    if (found == connections_.end() || found->second.ended)
        return;
    Connection &connection = found->second;
    if (connection.waiting.size() + message.bytes.size() > wire::relay_window)
        return drop(message.id); // it does not keep to the window
    connection.waiting += message.bytes;
    watch(message.id, connection);
}

void Relay::on_taken(const wire::RelayTaken &message) {
    auto found = connections_.find(message.id);
    if (found == connections_.end())
        return;
    found->second.under_way -= std::min<std::size_t>(found->second.under_way, message.count);
    watch(message.id, found->second);
}

void Relay::on_end(const wire::RelayEnd &message) {
    end(message.id);
}

void Relay::end(std::uint64_t id) {
    auto found = connections_.find(id);
    if (found == connections_.end())
        return;
    Connection &connection = found->second;
    connection.ended = true;
    if (connection.waiting.empty())
        return forget(id);
    connection.timer = loop_.after(last_bytes, [this, id] { forget(id); });
    watch(id, connection);
}

void Relay::drop(std::uint64_t id) {
    auto found = connections_.find(id);
    if (found == connections_.end())
        return;
    const bool tells = !found->second.ended;
    forget(id);
    if (tells)
        tell(wire::RelayEnd{id});
}

void Relay::forget(std::uint64_t id) {
    connections_.erase(id);
    look_whether_empty();
}

void Relay::look_whether_empty() {
    if (when_empty_ && connections_.empty())
        loop_.post(std::exchange(when_empty_, nullptr));
}

void Relay::when_empty(std::function<void()> then) {
    when_empty_ = std::move(then);
    look_whether_empty();
}

void Relay::finish(std::function<void()> then) {
    std::vector<std::uint64_t> ids;
    for (const auto &[id, connection] : connections_)
        ids.push_back(id);
    when_empty_ = nullptr;
    for (std::uint64_t id : ids)
        end(id);
    when_empty(std::move(then));
}

} // namespace pmixhost
