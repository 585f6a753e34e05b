// See command_pipe.h.
#include "tools/debug/command_pipe.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t most_commands = 16u << 20; // bytes that nobody has asked for
constexpr std::chrono::milliseconds to_look_again{200};
constexpr auto last_words = std::chrono::seconds(1); // for what is said when it is over

} // namespace

CommandPipe::CommandPipe(int in, int out) : in_(in), out_(out) {
    ::fcntl(out_, F_SETFL, ::fcntl(out_, F_GETFL) | O_NONBLOCK);
}

void CommandPipe::take() {
    char bytes[16384];
    ssize_t got = ::read(in_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    heard_ = Clock::now();
    if (got <= 0 || commands_.size() > most_commands) {
        over_ = true;
        return;
    }
    commands_.append(bytes, static_cast<std::size_t>(got));
}

std::optional<ToHost> CommandPipe::next() {
    for (auto end = commands_.find('\n'); end != commands_.npos && !over_; end = commands_.find('\n')) {
        auto message = parse_to_host(std::string_view(commands_).substr(0, end));
        commands_.erase(0, end + 1);
        if (message)
            return std::move(*message);
    }
    return std::nullopt;
}

void CommandPipe::say(const std::string &text) {
    for (std::string_view rest = text; !rest.empty() && !unheard_;) {
        ssize_t done = ::write(out_, rest.data(), rest.size());
        if (done > 0)
            rest.remove_prefix(static_cast<std::size_t>(done));
        else if (done < 0 && errno == EAGAIN)
            unheard_ = !await_room();
        else
            unheard_ = done == 0 || errno != EINTR; // nobody listens
    }
    over_ = over_ || unheard_;
}

// Messages are taken but not handed out, since whoever obeys them may have more to say. False: it is not waited for any
// longer.
bool CommandPipe::await_room() {
    std::optional<Clock::time_point> over_since;
    for (;;) {
        pollfd waits[2] = {{out_, POLLOUT, 0}, {over_ ? -1 : in_, POLLIN, 0}};
        int ready = ::poll(waits, 2, static_cast<int>(to_look_again.count()));
        if (ready > 0 && waits[0].revents != 0)
            return true;
        if (ready > 0 && waits[1].revents != 0)
            take();
        auto now = Clock::now();
        if (over_ && !over_since)
            over_since = now;
        if (over_ ? now - *over_since > last_words : now - heard_ > longest_silence)
            return false;
    }
}

void CommandPipe::look_at_silence() {
    if (Clock::now() - heard_ > longest_silence)
        over_ = true; // whoever asked is gone, and nobody has said so
}

} // namespace pmixhost
