// What /proc says of one thread, read into values: pure, so that every form the kernel has can be
// tried. The formats are proc(5)'s: /proc/PID/task/TID/{stat,syscall}.
#pragma once

#include "common/base/result.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pmixhost {

// What is read of /proc/PID/task/TID/stat.
struct ThreadStat {
    std::string name; // comm; whatever the thread said it was, so untrusted
    char state = '?'; // R S D T t Z X I
    std::uint64_t user_ticks = 0, system_ticks = 0;
    std::uint64_t began = 0; // ticks after the machine's start
};
// Fails (invalid) on a text of another form.
Result<ThreadStat> parse_thread_stat(std::string_view text);

// What is read of /proc/PID/task/TID/syscall: the system call that a thread is in.
struct ThreadCall {
    enum class Kind { running, outside, in_call }; // outside: stopped, or in a fault, but in no call
    Kind kind = Kind::running;
    long number = -1;
    std::array<std::uint64_t, 6> arguments{};
    std::uint64_t stack_pointer = 0, program_counter = 0; // 0 when running
};
// Fails (invalid) on a text of another form.
Result<ThreadCall> parse_thread_call(std::string_view text);

// "futex(0x7f0012345678, 0x80, 0x2, 0x0, 0x0, 0x0), call 202", "none: it runs".
std::string describe(const ThreadCall &call);

// What a thread does, judged by two looks that are `between` apart: "runs (190 ms of CPU time in 200 ms)", "waits",
// "was stopped by a signal", ... `ticks_per_second`: sysconf(_SC_CLK_TCK).
std::string describe_activity(const ThreadStat &first, const ThreadStat &second, std::chrono::milliseconds between,
                              long ticks_per_second);
// The same judgement alone: does it run?
bool runs(const ThreadStat &first, const ThreadStat &second);

// The lock that a thread waits for, if its call looks like glibc's wait for a mutex; else 0.
std::uint64_t awaited_mutex(const ThreadCall &call);

} // namespace pmixhost
