// See door_client.h.
#include "plugins/kit/door_client.h"

#include "common/process/descriptor_message.h"
#include "common/process/exec_stop.h"
#include "common/text/printable.h"
#include "plugins/kit/hand_over_streams.h"
#include "plugins/kit/unread_streams.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t door_magic = 0x504d4832;
constexpr std::size_t max_door_text = 1024; // of a refusal
constexpr std::uint32_t refused = 1, with_streams = 2, with_stop = 4,
                        until_exec = 8; // a reply's status; 0: welcome, and no more

// A socket with a deadline. Each call fails (timeout, unreachable) or did the whole.
class TimedSocket {
  public:
    TimedSocket(UniqueFd fd, Clock::time_point deadline) : fd_(std::move(fd)), deadline_(deadline) {}
    int fd() const { return fd_.get(); }
    UniqueFd take() { return std::move(fd_); }

    Result<void> wait(short events) {
        for (;;) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
            if (left <= 0)
                return error(ErrorKind::timeout, "pmixhostd did not answer in time");
            pollfd poll_fd{fd_.get(), events, 0};
            int ready = ::poll(&poll_fd, 1, static_cast<int>(std::min<long long>(left, 60'000)));
            if (ready > 0)
                return {};
            if (ready < 0 && errno != EINTR)
                return system_error("task door", errno);
        }
    }
    Result<void> send(std::string_view bytes) {
        while (!bytes.empty()) {
            ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0 && errno != EAGAIN)
                return gone();
            if (n < 0) {
                if (auto ready = wait(POLLOUT); !ready)
                    return ready;
                continue;
            }
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return {};
    }
    Result<std::string> receive(std::size_t length) {
        std::string bytes(length, '\0');
        for (std::size_t got = 0; got < length;) {
            ssize_t n = ::recv(fd_.get(), bytes.data() + got, length - got, 0);
            if (n < 0 && errno == EINTR)
                continue;
            if (n == 0 || (n < 0 && errno != EAGAIN))
                return gone();
            if (n < 0) {
                if (auto ready = wait(POLLIN); !ready)
                    return ready.failure();
                continue;
            }
            got += static_cast<std::size_t>(n);
        }
        return bytes;
    }

  private:
    static Error gone() { return error(ErrorKind::unreachable, "pmixhostd is gone"); }
    UniqueFd fd_;
    Clock::time_point deadline_;
};

Result<TimedSocket> connect_to(const std::string &name, Clock::time_point deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.empty() || name.size() > sizeof address.sun_path)
        return error(ErrorKind::invalid, "the task door has no name");
    std::memcpy(address.sun_path, name.data(), name.size());
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    TimedSocket socket(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), deadline);
    if (socket.fd() < 0)
        return system_error("task door", errno);
    // When the door's queue is full, a blocking connect waits in the kernel without polling; the
    // send timeout is its deadline.
    auto left = std::chrono::ceil<std::chrono::microseconds>(deadline - Clock::now()).count();
    timeval limit{std::max<long>(left, 1000) / 1'000'000, std::max<long>(left, 1000) % 1'000'000};
    setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int code;
    do {
        code = ::connect(socket.fd(), reinterpret_cast<sockaddr *>(&address), length);
    } while (code != 0 && errno == EINTR && Clock::now() < deadline);
    if (code != 0 && (errno == EAGAIN || errno == EINTR))
        return error(ErrorKind::timeout, "pmixhostd did not answer in time");
    if (code != 0)
        return error(ErrorKind::unreachable, "pmixhostd is gone");
    int flags = ::fcntl(socket.fd(), F_GETFL);
    if (flags < 0 || ::fcntl(socket.fd(), F_SETFL, flags | O_NONBLOCK) != 0)
        return system_error("task door", errno);
    return socket;
}

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift);
    return bytes;
}

std::uint32_t from_big_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

Result<std::vector<std::string>> split_variables(std::string_view bytes) {
    std::vector<std::string> variables;
    while (!bytes.empty()) {
        std::size_t end = bytes.find('\0');
        std::string_view entry = bytes.substr(0, end);
        std::size_t equals = entry.find('=');
        bool good_name = equals != std::string_view::npos && equals > 0 &&
                         std::all_of(entry.begin(), entry.begin() + equals,
                                     [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
        if (end == std::string_view::npos || !good_name || variables.size() == max_task_variables)
            return error(ErrorKind::invalid, "pmixhostd gave an environment that is none");
        variables.emplace_back(entry);
        bytes.remove_prefix(end + 1);
    }
    return variables;
}

// The daemon has to hold it before the program is executed, or it does not stop.
Result<void> hand_over_stop(int socket, const std::function<Result<char>()> &await_answer) {
    auto armed = arm_exec_stop();
    auto sent = armed ? send_descriptor(socket, "s", armed->get()) : Result<void>(armed.failure());
    auto answer = sent ? await_answer() : Result<char>(sent.failure());
    if (!answer)
        return error(answer.failure().kind, "the program cannot be stopped at its first instruction: {}",
                     answer.failure().text);
    if (*answer != '1')
        return error(ErrorKind::unsupported, "the program cannot be stopped at its first instruction");
    return {};
}

} // namespace

Result<std::vector<std::string>> ask_at_door(const std::string &name, uid_t uid, Rank rank,
                                             std::chrono::milliseconds limit, UniqueFd *door) {
    auto socket = connect_to(name, Clock::now() + limit);
    if (!socket)
        return socket.failure();
    // An abstract name is free for anybody once its owner is gone.
    ucred owner{};
    socklen_t length = sizeof owner;
    if (getsockopt(socket->fd(), SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0)
        return system_error("task door", errno);
    if (owner.uid != uid && owner.uid != 0)
        return error(ErrorKind::denied, "the task door belongs to uid {}", owner.uid);
    if (auto sent = socket->send(big_endian(door_magic) + big_endian(rank) + big_endian(unread_streams())); !sent)
        return sent.failure();
    auto header = socket->receive(12);
    if (!header)
        return header.failure();
    std::string_view head = *header;
    std::uint32_t size = from_big_endian(head.substr(8));
    if (from_big_endian(head) != door_magic || size > max_task_environment)
        return error(ErrorKind::invalid, "pmixhostd of another version answered");
    auto body = socket->receive(size);
    if (!body)
        return body.failure();
    std::uint32_t status = from_big_endian(head.substr(4));
    if ((status & refused) || status > (with_streams | with_stop | until_exec))
        return error(ErrorKind::denied, "{}", one_line(*body, max_door_text));
    auto variables = split_variables(*body);
    auto answer = [&socket]() -> Result<char> {
        auto byte = socket->receive(1);
        return byte ? Result<char>(byte->front()) : Result<char>(byte.failure());
    };
    if (variables && (status & with_streams)) {
        if (auto handed = hand_over_streams(socket->fd(), answer); !handed)
            return handed.failure();
    }
    if (variables && (status & with_stop)) {
        if (auto armed = hand_over_stop(socket->fd(), answer); !armed)
            return armed.failure();
    }
    if (variables && door)
        *door = socket->take();
    else if (variables && (status & until_exec))
        socket->take().release(); // execve(2) closes it
    return variables;
}

} // namespace pmixhost::kit
