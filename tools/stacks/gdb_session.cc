// See gdb_session.h.
#include "tools/stacks/gdb_session.h"

#include "common/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t longest_gdb_line = 16u << 20;
constexpr std::size_t most_gdb_text = 1u << 20;

} // namespace

Result<GdbSession> GdbSession::start(const std::string &gdb, const std::atomic<bool> &over) {
    auto process = GdbProcess::start(gdb);
    if (!process)
        return process.failure();
    return GdbSession(std::move(*process), over);
}

Error GdbSession::broken(Error why) {
    usable_ = false;
    return why;
}

Result<std::string> GdbSession::line(StackClock::time_point deadline) {
    for (;;) {
        if (auto end = begun_.find('\n'); end != begun_.npos) {
            std::string out = begun_.substr(0, end);
            begun_.erase(0, end + 1);
            return out;
        }
        if (begun_.size() > longest_gdb_line)
            return broken(error(ErrorKind::limit, "gdb says too much"));
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - StackClock::now()).count();
        if (left <= 0 || *over_)
            return broken(error(ErrorKind::timeout, "gdb does not answer in time"));
        pollfd poll{process_.output(), POLLIN, 0};
        if (::poll(&poll, 1, static_cast<int>(std::min<long long>(left, 100))) <= 0)
            continue;
        char bytes[65536];
        ssize_t got = ::read(process_.output(), bytes, sizeof bytes);
        if (got > 0)
            begun_.append(bytes, static_cast<std::size_t>(got));
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            return broken(error(ErrorKind::unreachable, "gdb has ended"));
    }
}

Result<GdbAnswer> GdbSession::ask(const std::string &command, StackClock::time_point deadline) {
    if (!usable_)
        return error(ErrorKind::unreachable, "gdb has ended");
    std::string token = fmt::format("{}", next_token_++), text = token + command + "\n";
    // Shorter than a pipe holds, and the one before has been answered: it fits.
    if (::write(process_.input(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return broken(error(ErrorKind::unreachable, "gdb has ended"));
    GdbAnswer answer;
    for (;;) {
        auto said = line(deadline);
        if (!said)
            return said.failure();
        auto record = parse_gdb_line(*said);
        if (!record)
            continue; // a warning, or what a program could make it say
        if (record->kind == '~' && answer.text.size() < most_gdb_text)
            answer.text += record->word;
        if (record->kind != '^' || record->token != token)
            continue;
        answer.values = std::move(record->values);
        if (record->word != "error")
            return answer;
        auto why = answer.values.find("msg");
        return error(ErrorKind::invalid, "{}",
                     why != answer.values.end() && why->is_string() ? one_line(why->get<std::string>(), 300)
                                                                    : std::string("gdb says no more than: error"));
    }
}

Result<GdbAnswer> GdbSession::console(const std::string &command, StackClock::time_point deadline) {
    return ask("-interpreter-exec console " + gdb_quoted(command), deadline);
}

} // namespace pmixhost
