// See starter_sender.h.
#include "plugins/kit/starter_sender.h"

#include "common/base/begin_connect.h"
#include "common/base/poll_time.h"
#include "plugins/kit/unproved_note.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace pmixhost::kit {

namespace {

using Clock = std::chrono::steady_clock;

// Once one address has it, the others get only a moment more: they most likely lead nowhere.
constexpr auto moment = std::chrono::milliseconds(200);

// A frame is small against the buffer of a connection on which next to nothing was sent.
bool write_at_once(int fd, const std::string &frame) {
    return ::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(frame.size());
}

enum class Attempt { again, done, failed };

// Connects to all addresses at once, and calls `ready(index of the address, fd)` for each that can be written to, or
// has failed, until it is through with it. Returns those it has done, by `deadline`.
template <typename Ready>
std::vector<UniqueFd> try_all(const StarterAddress &to, Clock::time_point deadline, Ready ready) {
    std::vector<UniqueFd> open(std::min(to.addresses.size(), max_addresses)), done;
    for (std::size_t i = 0; i < open.size(); ++i)
        open[i] = begin_connect(to.addresses[i], to.port);
    for (;;) {
        std::vector<pollfd> polls;
        for (const auto &fd : open)
            polls.push_back({fd ? fd.get() : -1, POLLOUT, 0}); // poll passes over -1
        int wait = poll_time(deadline);
        if (wait == 0 || std::none_of(open.begin(), open.end(), [](const UniqueFd &fd) { return bool(fd); }))
            return done;
        int count = ::poll(polls.data(), polls.size(), wait);
        if (count < 0 && errno != EINTR)
            return done;
        for (std::size_t i = 0; count > 0 && i < polls.size(); ++i) {
            if (!polls[i].revents)
                continue;
            Attempt attempt = ready(i, open[i].get());
            if (attempt == Attempt::done) {
                done.push_back(std::move(open[i]));
                deadline = std::min(deadline, Clock::now() + moment);
            }
            if (attempt != Attempt::again)
                open[i].reset();
        }
    }
}

Error unreachable(const StarterAddress &to) {
    return error(ErrorKind::unreachable, "the command that started the step cannot be reached on port {}", to.port);
}

} // namespace

static Result<void> send_frame(const StarterAddress &to, const Result<std::string> &frame, Clock::time_point deadline) {
    if (!frame)
        return frame.failure();
    std::vector<std::size_t> written(max_addresses);
    auto delivered = try_all(to, deadline, [&](std::size_t i, int fd) {
        ssize_t n = ::send(fd, frame->data() + written[i], frame->size() - written[i], MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? Attempt::again : Attempt::failed;
        written[i] += static_cast<std::size_t>(n);
        return written[i] == frame->size() ? Attempt::done : Attempt::again;
    });
    if (delivered.empty())
        return unreachable(to);
    return {};
}

Result<void> send_to_starter(const StarterAddress &to, const StarterMessage &message, Sealer &sealer,
                             std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    return send_frame(to, seal_message(to.cookie, message, sealer), deadline);
}

Result<void> send_unproved_note(const StarterAddress &to, std::string_view text, std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    return send_frame(to, seal_unproved_note(to.cookie, text), deadline);
}

Result<ReadyMessage> ReadyMessage::prepare(const StarterAddress &to, const StarterMessage &message, Sealer &sealer,
                                           std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    auto kept = seal_message(to.cookie, {StarterMessage::Kind::kept, 0, ""}, sealer);
    auto frame = seal_message(to.cookie, message, sealer);
    if (!kept || !frame)
        return !kept ? kept.failure() : frame.failure();
    ReadyMessage ready;
    ready.frame_ = std::move(*frame);
    ready.connections_ = try_all(to, deadline, [&](std::size_t, int fd) {
        int failure = 0;
        socklen_t length = sizeof failure;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length);
        return failure == 0 && write_at_once(fd, *kept) ? Attempt::done : Attempt::failed;
    });
    if (ready.connections_.empty())
        return unreachable(to);
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

} // namespace pmixhost::kit
