// See exit_report.h.
#include "plugins/kit/report.h"

#include "common/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <munge.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

namespace pmixhost::kit {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t header_size = 12;
constexpr std::size_t max_connections = 64;
constexpr int backlog = 4096;

void put_u32(std::string &out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift);
}

std::uint32_t get_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// In time that does not depend on where they differ.
bool same_cookie(std::string_view bytes, const Cookie &cookie) {
    unsigned char difference = 0;
    for (std::size_t i = 0; i < cookie.size(); ++i)
        difference |= static_cast<unsigned char>(bytes[i]) ^ cookie[i];
    return difference == 0;
}

int milliseconds_until(Clock::time_point deadline) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

Error munge_error(std::string_view what, munge_ctx_t context, munge_err_t code) {
    const char *text = context ? munge_ctx_strerror(context) : nullptr;
    return error(ErrorKind::unreachable, "munge {}: {}", what, text ? text : munge_strerror(code));
}

struct MungeContext {
    munge_ctx_t context = munge_ctx_create();
    MungeContext() = default;
    MungeContext(const MungeContext &) = delete;
    ~MungeContext() { munge_ctx_destroy(context); }
};

Result<UniqueFd> bind_dual(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd) {
        int off = 0;
        setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_addr = in6addr_any;
        address.sin6_port = htons(port);
        if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
            return fd;
        if (errno == EADDRINUSE)
            return system_error("bind", errno);
    }
    // No IPv6 on this host.
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return system_error("socket", errno);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        return system_error("bind", errno);
    return fd;
}

// Numeric addresses of this host that another host may reach; the loopback only if it is alone.
std::vector<std::string> own_addresses() {
    std::vector<std::string> v4, v6, loopback;
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        return {"127.0.0.1"};
    for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
            continue;
        char text[INET6_ADDRSTRLEN];
        bool is_loopback = entry->ifa_flags & IFF_LOOPBACK;
        if (entry->ifa_addr->sa_family == AF_INET) {
            auto *address = reinterpret_cast<sockaddr_in *>(entry->ifa_addr);
            if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text))
                (is_loopback ? loopback : v4).emplace_back(text);
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            auto *address = reinterpret_cast<sockaddr_in6 *>(entry->ifa_addr);
            if (!is_loopback && !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) &&
                inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text))
                v6.emplace_back(text);
        }
    }
    freeifaddrs(list);
    v4.insert(v4.end(), v6.begin(), v6.end());
    if (v4.empty())
        v4 = std::move(loopback);
    if (v4.size() > max_addresses)
        v4.resize(max_addresses);
    return v4;
}

// A connection being made or written to.
struct Sending {
    UniqueFd fd;
    std::size_t written = 0;
    bool done = false;
};

Sending begin_connect(const std::string &address, std::uint16_t port) {
    sockaddr_storage storage{};
    socklen_t length = 0;
    auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
    auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);
    if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        length = sizeof *v4;
    } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        length = sizeof *v6;
    } else {
        return {};
    }
    UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return {};
    if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&storage), length) != 0 && errno != EINPROGRESS)
        return {};
    return {std::move(fd)};
}

// A frame is small against the buffer of a connection on which next to nothing was sent.
bool write_at_once(int fd, const std::string &frame) {
    return ::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(frame.size());
}

// The whole frame is there, or can no longer become one.
using Progress = StarterConnection::Progress;

Progress progress_of(std::string_view bytes) {
    if (bytes.size() < header_size)
        return Progress::more;
    std::uint32_t length = get_u32(bytes.substr(8));
    if (get_u32(bytes) != exit_report_magic || get_u32(bytes.substr(4)) != exit_report_version ||
        length > max_credential)
        return Progress::bad;
    return bytes.size() >= header_size + length ? Progress::whole : Progress::more;
}

} // namespace

Progress StarterConnection::receive() {
    char buffer[4096];
    if (Progress progress = progress_of(bytes_); progress != Progress::more)
        return progress;
    for (;;) {
        ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? Progress::more : Progress::bad;
        if (n == 0)
            return Progress::bad;
        bytes_.append(buffer, static_cast<std::size_t>(n));
        if (Progress progress = progress_of(bytes_); progress != Progress::more)
            return progress;
    }
}

std::string StarterConnection::take_frame() {
    std::string frame = bytes_.substr(0, header_size + get_u32(std::string_view(bytes_).substr(8)));
    bytes_.erase(0, frame.size());
    return frame;
}

Result<std::string> MungeSealer::seal(std::string_view payload) {
    MungeContext munge;
    munge_err_t code = munge.context ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
    if (code == EMUNGE_SUCCESS)
        code = munge_ctx_set(munge.context, MUNGE_OPT_UID_RESTRICTION, geteuid());
    char *credential = nullptr;
    if (code == EMUNGE_SUCCESS)
        code = munge_encode(&credential, munge.context, payload.data(), static_cast<int>(payload.size()));
    std::string text = credential ? credential : "";
    std::free(credential);
    if (code != EMUNGE_SUCCESS)
        return munge_error("encode", munge.context, code);
    return text;
}

Result<Sealer::Opened> MungeSealer::open(const std::string &sealed) {
    MungeContext munge;
    void *payload = nullptr;
    int length = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    munge_err_t code =
        munge.context ? munge_decode(sealed.c_str(), munge.context, &payload, &length, &uid, &gid) : EMUNGE_NO_MEMORY;
    std::string bytes;
    if (payload && length > 0)
        bytes.assign(static_cast<char *>(payload), static_cast<std::size_t>(length));
    std::free(payload);
    if (code != EMUNGE_SUCCESS)
        return munge_error("decode", munge.context, code);
    return Opened{std::move(bytes), uid};
}

std::string ReportTarget::text() const {
    std::string line = fmt::format("{} ", port);
    for (unsigned char byte : cookie)
        line += fmt::format("{:02x}", byte);
    for (const auto &address : addresses)
        line += " " + address;
    return line;
}

Result<ReportTarget> ReportTarget::parse(std::string_view text) {
    auto garbled = [] { return error(ErrorKind::invalid, "the address for exit reports is garbled"); };
    auto next_word = [&text] {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        return word;
    };
    ReportTarget target;
    std::string_view port = next_word(), cookie = next_word();
    auto [stop, code] = std::from_chars(port.data(), port.data() + port.size(), target.port);
    if (code != std::errc() || stop != port.data() + port.size() || target.port == 0 ||
        cookie.size() != 2 * target.cookie.size())
        return garbled();
    for (std::size_t i = 0; i < target.cookie.size(); ++i) {
        const char *digits = cookie.data() + 2 * i;
        auto [end, bad] = std::from_chars(digits, digits + 2, target.cookie[i], 16);
        if (bad != std::errc() || end != digits + 2)
            return garbled();
    }
    while (!text.empty() && target.addresses.size() < max_addresses) {
        std::string_view address = next_word();
        if (address.empty())
            return garbled();
        target.addresses.emplace_back(address);
    }
    if (!text.empty() || target.addresses.empty())
        return garbled();
    return target;
}

Result<std::string> make_frame(const Cookie &cookie, const ExitReport &report, Sealer &sealer) {
    return make_message(
        cookie, StarterMessage{StarterMessage::Kind::exit_report, report.exit_status & 0xff, report.text}, sealer);
}

Result<std::string> make_message(const Cookie &cookie, const StarterMessage &message, Sealer &sealer) {
    bool bytes = message.kind == StarterMessage::Kind::invitation;
    if (bytes && message.body.size() > max_invitation)
        return error(ErrorKind::limit, "an invitation of {} bytes", message.body.size());
    std::string body = bytes ? message.body : one_line(message.body, max_report_text);
    std::string payload(reinterpret_cast<const char *>(cookie.data()), cookie.size());
    put_u32(payload, static_cast<std::uint32_t>(message.kind));
    put_u32(payload, static_cast<std::uint32_t>(message.status));
    put_u32(payload, static_cast<std::uint32_t>(body.size()));
    payload += body;
    auto sealed = sealer.seal(payload);
    if (!sealed)
        return sealed.failure();
    if (sealed->size() > max_credential)
        return error(ErrorKind::limit, "exit report: the credential has {} bytes", sealed->size());
    std::string frame;
    put_u32(frame, exit_report_magic);
    put_u32(frame, exit_report_version);
    put_u32(frame, static_cast<std::uint32_t>(sealed->size()));
    return frame + *sealed;
}

Result<ExitReport> open_frame(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer) {
    auto message = open_message(frame, cookie, own_uid, sealer);
    if (!message)
        return message.failure();
    if (message->kind != StarterMessage::Kind::exit_report)
        return error(ErrorKind::invalid, "exit report: another message");
    return ExitReport{message->status, std::move(message->body)};
}

Result<StarterMessage> open_message(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer) {
    if (progress_of(frame) != Progress::whole)
        return error(ErrorKind::invalid, "exit report: garbled");
    auto opened = sealer.open(std::string(frame.substr(header_size, get_u32(frame.substr(8)))));
    if (!opened)
        return opened.failure();
    std::string_view payload = opened->payload;
    constexpr std::size_t fixed = std::tuple_size_v<Cookie> + 12;
    if (opened->uid != own_uid && opened->uid != 0)
        return error(ErrorKind::denied, "exit report: from uid {}", opened->uid);
    if (payload.size() < fixed || !same_cookie(payload, cookie))
        return error(ErrorKind::denied, "exit report: of another step");
    StarterMessage message;
    message.kind = static_cast<StarterMessage::Kind>(get_u32(payload.substr(16)));
    message.status = static_cast<int>(get_u32(payload.substr(20)));
    std::uint32_t length = get_u32(payload.substr(24));
    std::size_t most = max_report_text;
    bool known = true;
    switch (message.kind) {
    case StarterMessage::Kind::exit_report:
        known = message.status >= 0 && message.status <= 255;
        break;
    case StarterMessage::Kind::launched:
        break;
    case StarterMessage::Kind::note:
    case StarterMessage::Kind::kept:
        known = message.status == 0;
        break;
    case StarterMessage::Kind::invitation:
        most = max_invitation;
        break;
    default:
        known = false;
    }
    if (!known || length > most || payload.size() != fixed + length)
        return error(ErrorKind::invalid, "exit report: garbled");
    message.body = payload.substr(fixed);
    if (message.kind != StarterMessage::Kind::invitation)
        message.body = one_line(message.body, max_report_text);
    return message;
}

Result<void> send_exit_report(const ReportTarget &target, const ExitReport &report, Sealer &sealer,
                              std::chrono::milliseconds limit) {
    return send_to_starter(target, {StarterMessage::Kind::exit_report, report.exit_status & 0xff, report.text}, sealer,
                           limit);
}

Result<void> send_to_starter(const ReportTarget &target, const StarterMessage &message, Sealer &sealer,
                             std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    auto frame = make_message(target.cookie, message, sealer);
    if (!frame)
        return frame.failure();
    std::vector<Sending> connections;
    for (const auto &address : target.addresses) {
        if (connections.size() < max_addresses)
            connections.push_back(begin_connect(address, target.port));
    }
    std::size_t delivered = 0;
    // Once one has it, the others get only a moment more: they most likely lead nowhere.
    for (;;) {
        std::vector<pollfd> polls;
        std::vector<Sending *> polled;
        for (auto &connection : connections) {
            if (connection.fd && !connection.done) {
                polls.push_back({connection.fd.get(), POLLOUT, 0});
                polled.push_back(&connection);
            }
        }
        int wait = milliseconds_until(deadline);
        if (polls.empty() || wait == 0)
            break;
        int ready = ::poll(polls.data(), polls.size(), wait);
        if (ready < 0 && errno != EINTR)
            break;
        for (std::size_t i = 0; ready > 0 && i < polls.size(); ++i) {
            if (!polls[i].revents)
                continue;
            Sending &to = *polled[i];
            ssize_t n = ::send(to.fd.get(), frame->data() + to.written, frame->size() - to.written,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                continue;
            if (n < 0) {
                to.fd.reset();
                continue;
            }
            to.written += static_cast<std::size_t>(n);
            if (to.written == frame->size()) {
                to.done = true;
                ++delivered;
                deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(200));
            }
        }
    }
    if (delivered == 0)
        return error(ErrorKind::unreachable, "the command that started the step cannot be reached on port {}",
                     target.port);
    return {};
}

Result<ReadyMessage> ReadyMessage::prepare(const ReportTarget &target, const StarterMessage &message, Sealer &sealer,
                                           std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    auto kept = make_message(target.cookie, {StarterMessage::Kind::kept, 0, ""}, sealer);
    auto frame = make_message(target.cookie, message, sealer);
    if (!kept || !frame)
        return !kept ? kept.failure() : frame.failure();
    std::vector<Sending> connecting;
    for (const auto &address : target.addresses) {
        if (connecting.size() < max_addresses)
            connecting.push_back(begin_connect(address, target.port));
    }
    ReadyMessage ready;
    ready.frame_ = std::move(*frame);
    for (;;) {
        std::vector<pollfd> polls;
        int wait = milliseconds_until(deadline);
        std::erase_if(connecting, [](const Sending &connection) { return !connection.fd; });
        if (connecting.empty() || wait == 0)
            break;
        for (auto &connection : connecting)
            polls.push_back({connection.fd.get(), POLLOUT, 0});
        int count = ::poll(polls.data(), polls.size(), wait);
        if (count < 0 && errno != EINTR)
            break;
        for (std::size_t i = 0; count > 0 && i < polls.size(); ++i) {
            if (!polls[i].revents)
                continue;
            int failure = 0;
            socklen_t length = sizeof failure;
            getsockopt(connecting[i].fd.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
            if (failure == 0 && write_at_once(connecting[i].fd.get(), *kept)) {
                ready.connections_.push_back(std::move(connecting[i].fd));
                deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(200));
            } else {
                connecting[i].fd.reset();
            }
        }
    }
    if (ready.connections_.empty())
        return error(ErrorKind::unreachable, "the command that started the step cannot be reached on port {}",
                     target.port);
    return ready;
}

Result<void> ReadyMessage::send() {
    bool sent = false;
    for (auto &connection : std::exchange(connections_, {})) {
        char byte; // the other side says nothing: what there is to read is its end
        bool open = ::recv(connection.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
        sent = (open && write_at_once(connection.get(), frame_)) || sent;
    }
    if (!sent)
        return error(ErrorKind::unreachable, "the command that started the step has closed its connection");
    return {};
}

Result<ExitReportListener> ExitReportListener::open(PortRange range) {
    ExitReportListener listener;
    if (getrandom(listener.cookie_.data(), listener.cookie_.size(), 0) != static_cast<ssize_t>(listener.cookie_.size()))
        return system_error("getrandom", errno);
    if (range.first == 0) {
        auto socket = bind_dual(0);
        if (!socket)
            return socket.failure();
        listener.socket_ = std::move(*socket);
    } else {
        // From a place of its own in the range, so that many starters do not all try the same ports.
        std::uint32_t width = range.last < range.first ? 1u : range.last - range.first + 1u;
        std::uint32_t start = listener.cookie_[0] << 8 | listener.cookie_[1];
        for (std::uint32_t i = 0; i < width && !listener.socket_; ++i) {
            auto socket = bind_dual(static_cast<std::uint16_t>(range.first + (start + i) % width));
            if (socket)
                listener.socket_ = std::move(*socket);
        }
        if (!listener.socket_)
            return error(ErrorKind::limit, "no free port from {} to {}", range.first, range.last);
        // The cookie's start is visible in the port number: that part is drawn again.
        if (getrandom(listener.cookie_.data(), listener.cookie_.size(), 0) !=
            static_cast<ssize_t>(listener.cookie_.size()))
            return system_error("getrandom", errno);
    }
    if (::listen(listener.socket_.get(), backlog) != 0)
        return system_error("listen", errno);
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getsockname(listener.socket_.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("getsockname", errno);
    listener.port_ = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port
                                                         : reinterpret_cast<sockaddr_in *>(&address)->sin_port);
    return listener;
}

ReportTarget ExitReportListener::target() const {
    return {port_, cookie_, own_addresses()};
}

std::optional<StarterConnection> ExitReportListener::accept() {
    PeerAddress from;
    UniqueFd fd = accept_from(socket_.get(), from);
    if (!fd)
        return std::nullopt;
    return StarterConnection(std::move(fd), from);
}

std::optional<ExitReport> ExitReportListener::collect(Sealer &sealer, std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    std::vector<StarterConnection> connections;
    std::size_t taken = 0;
    for (;;) {
        while (taken < max_connections) {
            auto connection = accept();
            if (!connection)
                break;
            ++taken;
            connections.push_back(std::move(*connection));
        }
        for (std::size_t i = 0; i < connections.size();) {
            Progress progress = connections[i].receive();
            if (progress == Progress::more) {
                ++i;
                continue;
            }
            std::string bytes = progress == Progress::whole ? connections[i].take_frame() : "";
            connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
            if (progress != Progress::whole)
                continue;
            if (auto report = open_frame(bytes, cookie_, geteuid(), sealer))
                return std::move(*report);
        }
        int wait = milliseconds_until(deadline);
        if (connections.empty() || wait == 0)
            return std::nullopt;
        std::vector<pollfd> polls;
        for (const auto &connection : connections)
            polls.push_back({connection.fd(), POLLIN, 0});
        ::poll(polls.data(), polls.size(), wait);
    }
}

} // namespace pmixhost::kit
