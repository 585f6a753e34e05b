// See thread_snapshot.h.
#include "server-glue/evidence/thread_snapshot.h"

#include "server-glue/evidence/syscall_names.h"

#include <algorithm>
#include <charconv>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace pmixhost {

namespace {

// The next word; empty at the end.
std::string_view next_word(std::string_view &text) {
    auto begin = text.find_first_not_of(" \n");
    text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
    auto word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    return word;
}

template <typename Number> bool read_number(std::string_view word, Number &number, int base = 10) {
    if (base == 16) {
        if (!word.starts_with("0x"))
            return false;
        word.remove_prefix(2);
    }
    auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number, base);
    return failed == std::errc() && end == word.data() + word.size() && !word.empty();
}

} // namespace

Result<ThreadStat> parse_thread_stat(std::string_view text) {
    // The second field is the name in parentheses; it may hold parentheses and spaces itself.
    auto open = text.find('('), close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return error(ErrorKind::invalid, "stat: there is no name");
    ThreadStat stat;
    stat.name = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    auto state = next_word(text);
    if (state.size() != 1)
        return error(ErrorKind::invalid, "stat: there is no state");
    stat.state = state.front();
    for (int field = 4; field <= 22; ++field) {
        auto word = next_word(text);
        std::uint64_t *number = field == 14   ? &stat.user_ticks
                                : field == 15 ? &stat.system_ticks
                                : field == 22 ? &stat.began
                                              : nullptr;
        if (number && !read_number(word, *number))
            return error(ErrorKind::invalid, "stat: field {} is no number", field);
    }
    return stat;
}

Result<ThreadCall> parse_thread_call(std::string_view text) {
    ThreadCall call;
    auto first = next_word(text);
    if (first == "running")
        return call;
    if (!read_number(first, call.number))
        return error(ErrorKind::invalid, "syscall: there is no number");
    call.kind = call.number < 0 ? ThreadCall::Kind::outside : ThreadCall::Kind::in_call;
    for (auto &argument : call.arguments) {
        if (call.kind == ThreadCall::Kind::in_call && !read_number(next_word(text), argument, 16))
            return error(ErrorKind::invalid, "syscall: an argument is no number");
    }
    if (!read_number(next_word(text), call.stack_pointer, 16) ||
        !read_number(next_word(text), call.program_counter, 16))
        return error(ErrorKind::invalid, "syscall: there is no stack pointer or program counter");
    return call;
}

std::string describe(const ThreadCall &call) {
    if (call.kind == ThreadCall::Kind::running)
        return "none that could be seen: it runs, or is about to";
    if (call.kind == ThreadCall::Kind::outside)
        return "none";
    std::string text;
    for (auto argument : call.arguments)
        text += fmt::format("{}{:#x}", text.empty() ? "" : ", ", argument);
    auto name = syscall_name(call.number);
    return name.empty() ? fmt::format("call {}({})", call.number, text)
                        : fmt::format("{}({}), call {}", name, text, call.number);
}

static std::uint64_t ticks(const ThreadStat &stat) {
    return stat.user_ticks + stat.system_ticks;
}

bool runs(const ThreadStat &first, const ThreadStat &second) {
    return ticks(second) > ticks(first) || (first.state == 'R' && second.state == 'R');
}

std::string describe_activity(const ThreadStat &first, const ThreadStat &second, std::chrono::milliseconds between,
                              long ticks_per_second) {
    // Stopped while we looked: what it did before says nothing of what it does.
    switch (second.state) {
    case 'T':
        return "was stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU)";
    case 't':
        return "was stopped by a debugger";
    case 'Z':
    case 'X':
        return "has ended";
    }
    std::uint64_t used = ticks(second) >= ticks(first) ? ticks(second) - ticks(first) : 0;
    if (used > 0)
        return fmt::format("runs ({} ms of CPU time, {} of them in the kernel, in {} ms)",
                           used * 1000 / static_cast<std::uint64_t>(std::max(ticks_per_second, 1L)),
                           (second.system_ticks - std::min(first.system_ticks, second.system_ticks)) * 1000 /
                               static_cast<std::uint64_t>(std::max(ticks_per_second, 1L)),
                           between.count());
    if (first.state == 'R' && second.state == 'R')
        return fmt::format("wants to run, and had no CPU time in {} ms", between.count());
    if (second.state == 'D')
        return "waits in the kernel and cannot be interrupted (a file system or a device)";
    return "waits";
}

std::uint64_t awaited_mutex(const ThreadCall &call) {
    constexpr std::uint64_t locked_and_awaited = 2; // the value glibc's mutexes wait on
    if (call.kind != ThreadCall::Kind::in_call || call.number != SYS_futex ||
        (call.arguments[1] & FUTEX_CMD_MASK) != FUTEX_WAIT || call.arguments[2] != locked_and_awaited)
        return 0;
    return call.arguments[0];
}

} // namespace pmixhost
