// See run_by_owner.h.
#include "tools/view/run_by_owner.h"

#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "common/rendezvous/gate_door.h"
#include "common/text/printable.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/terminal.h"
#include "tools/view/output_lines.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int run_failed = 1;                               // what commands exit with
constexpr auto last_bytes_within = std::chrono::seconds(2); // after it has ended

int refuse_run(const std::string &why) {
    std::fprintf(stderr, "pmixhost: error: by the desk of the job's user: %s\n", printable(why, 400).c_str());
    return run_failed;
}

// False: nobody reads it any more.
bool pass_on_some(UniqueFd &from, int to) {
    char bytes[65536];
    ssize_t there = ::read(from.get(), bytes, sizeof bytes);
    if (there < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (there <= 0) {
        from.reset();
        return true;
    }
    std::string_view text(bytes, static_cast<std::size_t>(there));
    return ::isatty(to) == 1 ? write_whole(to, harmless(text), was_interrupted)
                             : write_whole(to, text, was_interrupted);
}

// Nothing: nothing yet.
std::optional<Result<int>> hear_of_end(int connection) {
    char bytes[4096];
    ssize_t there = ::recv(connection, bytes, sizeof bytes, MSG_DONTWAIT);
    if (there < 0 && (errno == EINTR || errno == EAGAIN))
        return std::nullopt;
    if (there <= 0)
        return Result<int>(error(ErrorKind::unreachable, "it is gone, and the command with it"));
    return parse_run_ended({bytes, static_cast<std::size_t>(there)});
}

} // namespace

int show_run(Desk desk, int interrupted) {
    UniqueFd connection = desk.take_connection();
    auto out = make_pipe(), err = make_pipe();
    if (!out || !err)
        return refuse_run((!out ? out.failure() : err.failure()).text);
    if (auto sent = send_descriptors(connection.get(), std::string(run_pipes), {out->second.get(), err->second.get()});
        !sent)
        return refuse_run(sent.failure().text);
    out->second.reset();
    err->second.reset();
    std::optional<Result<int>> ended;
    auto until = Clock::time_point::max();
    while (!ended || ((out->first || err->first) && Clock::now() < until)) {
        if (was_interrupted())
            return interrupted;
        pollfd polls[] = {{out->first ? out->first.get() : -1, POLLIN, 0},
                          {err->first ? err->first.get() : -1, POLLIN, 0},
                          {ended ? -1 : connection.get(), POLLIN, 0},
                          {interrupt_fd(), POLLIN, 0}};
        if (::poll(polls, std::size(polls), ended ? 100 : -1) < 0)
            continue; // their contents are not defined
        if ((polls[0].revents != 0 && !pass_on_some(out->first, STDOUT_FILENO)) ||
            (polls[1].revents != 0 && !pass_on_some(err->first, STDERR_FILENO)))
            return was_interrupted() ? interrupted : run_failed;
        if (polls[2].revents != 0 && (ended = hear_of_end(connection.get())))
            until = Clock::now() + last_bytes_within;
    }
    return *ended ? **ended : refuse_run(ended->failure().text);
}

} // namespace pmixhost
