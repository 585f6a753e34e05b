// See spawn_channel.h.
#include "common/start/spawn_channel.h"

#include "common/start/step_secret.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>

namespace pmixhost {

namespace {

// A descriptor that the environment names; it is inherited no further.
int descriptor(std::string_view name) {
    const char *text = getenv(std::string(name).c_str());
    int fd = -1;
    if (text) {
        auto [end, code] = std::from_chars(text, text + std::strlen(text), fd);
        if (code != std::errc() || *end != '\0' || fd <= STDERR_FILENO || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            fd = -1;
    }
    return fd;
}

// One that is short against the socket's buffer goes in one piece. Who has gone misses nothing.
Said say(int fd, std::string line, std::chrono::milliseconds patience = channel_patience) {
    for (char &c : line) {
        if (static_cast<unsigned char>(c) < 0x20)
            c = ' ';
    }
    line += '\n';
    const auto until = std::chrono::steady_clock::now() + patience;
    for (std::size_t done = 0; done < line.size();) {
        ssize_t n = ::send(fd, line.data() + done, line.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 || errno != EAGAIN)
            return Said::whole;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            return done > 0 ? Said::cut : Said::not_at_all;
        pollfd room{fd, POLLOUT, 0};
        (void)::poll(&room, 1, static_cast<int>(left.count()));
    }
    return Said::whole;
}

} // namespace

static constexpr std::string_view fate_word = " fate", stops_word = " stops ", debugs_word = " debugs ",
                                  tells_word = " tells ", forwards_word = " forwards ", holds_word = " holds ";
static constexpr std::uint8_t known_bits = 2 * ParentWord::first_start - 1;
static constexpr std::uint8_t all_channels = 7; // standard input, output and error

std::string ParentWord::text() const {
    std::string streams = forwards ? fmt::format("{}{} {}", forwards_word, forwards, host) : std::string();
    if (forwards && held_bytes)
        streams += fmt::format("{}{} {}", holds_word, held_bytes, held_seconds);
    std::string target = debugs.empty() ? "" : fmt::format("{}{} {}", debugs_word, debugs, debugged_rank);
    if (tells)
        target += fmt::format("{}{} {}", tells_word, tells, host);
    return fmt::format("{} {}{}{}{}{}{}", nspace, rank, target, streams, shares_fate ? fate_word : "",
                       stops.empty() ? "" : stops_word, stops);
}

template <typename Number> static bool parse_number(std::string_view text, Number &number) {
    auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && stop == text.data() + text.size();
}

static bool parse_process(std::string_view text, std::string &nspace, std::uint32_t &rank) {
    std::size_t space = text.find(' ');
    if (space == text.npos || space == 0 || space > 255)
        return false;
    nspace = text.substr(0, space);
    return parse_number(text.substr(space + 1), rank);
}

std::optional<ParentWord> ParentWord::parse(std::string_view text) {
    ParentWord word;
    if (std::size_t at = text.find(stops_word); at != text.npos) {
        word.stops = text.substr(at + stops_word.size());
        text = text.substr(0, at);
    }
    if (text.ends_with(fate_word)) {
        word.shares_fate = true;
        text.remove_suffix(fate_word.size());
    }
    if (auto at = text.find(holds_word); at != text.npos) {
        auto how = text.substr(at + holds_word.size());
        auto seconds = how.find(' ');
        if (seconds == how.npos || !parse_number(how.substr(0, seconds), word.held_bytes) ||
            !parse_number(how.substr(seconds + 1), word.held_seconds) || word.held_bytes == 0)
            return std::nullopt;
        text = text.substr(0, at);
    }
    for (auto [name, bits, most] :
         {std::tuple(forwards_word, &word.forwards, all_channels), std::tuple(tells_word, &word.tells, known_bits)}) {
        auto at = text.find(name);
        if (at == text.npos)
            continue;
        auto how = text.substr(at + name.size());
        auto host = how.find(' ');
        if (host == how.npos || !parse_number(how.substr(0, host), *bits) ||
            !parse_number(how.substr(host + 1), word.host) || *bits == 0 || *bits > most)
            return std::nullopt;
        text = text.substr(0, at);
    }
    if (auto at = text.find(debugs_word); at != text.npos) {
        if (!parse_process(text.substr(at + debugs_word.size()), word.debugs, word.debugged_rank))
            return std::nullopt;
        text = text.substr(0, at);
    }
    return parse_process(text, word.nspace, word.rank) ? std::optional(word) : std::nullopt;
}

UniqueFd take_spawn_channel() {
    int fd = descriptor(spawn_fd_variable);
    int type = 0;
    socklen_t length = sizeof type;
    // The user's environment may say anything.
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
        return {};
    return UniqueFd(fd);
}

static constexpr std::string_view secret_word = "secret ";

std::string take_spawn_secret(int fd) {
    char buffer[128];
    ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    std::string_view line(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    if (!line.starts_with(secret_word) || !line.ends_with('\n'))
        return {};
    line.remove_prefix(secret_word.size());
    line.remove_suffix(1);
    return is_step_secret(line) ? std::string(line) : std::string();
}

bool give_spawn_secret(int fd, std::string_view secret) {
    std::string line = fmt::format("{}{}\n", secret_word, secret);
    return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(line.size());
}

void say_created(int fd, std::string_view nspace, std::size_t processes) {
    if (int error_fd = descriptor(spawn_stderr_variable); error_fd >= 0) {
        ::dup2(error_fd, STDERR_FILENO);
        ::close(error_fd);
    }
    say(fd, fmt::format("processes {}", processes));
    say(fd, fmt::format("created {}", nspace));
}

Said say_started(int fd) {
    return say(fd, "started ");
}

Said say_launched(int fd, int status, std::string_view text) {
    return say(fd, fmt::format("launched {} {}", status, text));
}

Said say_over(int fd, std::string_view text) {
    return say(fd, fmt::format("over {}", text));
}

Said say_ends(int fd, std::string_view text, std::chrono::milliseconds patience) {
    return say(fd, fmt::format("{}{}", ends_word, text), patience);
}

std::optional<std::uint32_t> parse_process_count(std::string_view line) {
    constexpr std::string_view word = "processes ";
    std::uint32_t count = 0;
    if (!line.starts_with(word))
        return std::nullopt;
    const char *end = line.data() + line.size();
    auto [stop, code] = std::from_chars(line.data() + word.size(), end, count);
    return code == std::errc() && stop == end ? std::optional(count) : std::nullopt;
}

std::optional<SpawnEvent> parse_spawn_event(std::string_view line) {
    std::size_t space = line.find(' ');
    if (space == std::string_view::npos)
        return std::nullopt;
    std::string_view word = line.substr(0, space), rest = line.substr(space + 1);
    SpawnEvent event;
    if (word == "created") {
        event.kind = SpawnEvent::Kind::created;
    } else if (word == "launched") {
        event.kind = SpawnEvent::Kind::launched;
        auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), event.status);
        if (code != std::errc() || end == rest.data() + rest.size() || *end != ' ')
            return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    } else if (word == "started") {
        event.kind = SpawnEvent::Kind::started;
    } else if (word != "over") {
        return std::nullopt;
    }
    event.text = rest;
    return event;
}

} // namespace pmixhost
