// The report on a process that stands still: what it was found doing; for each thread, what it waits for and in which
// calls it is; its descriptors and its memory. Reads /proc and stops each thread for a moment (backtrace.h, whose
// conditions hold here). Any read may block for as long as a sick kernel likes, so this runs in a process of its own
// that somebody kills (evidence.h), and what is most likely to be had comes first and is written as soon as it is
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace pmixhost {

struct Suspect {
    pid_t pid = 0;
    std::string found;  // "its event loop stood still for 30 s (daemon.hang_timeout)"
    std::string finder; // who says so: "the supervisor"
    std::string host, step;
    std::optional<std::uint32_t> heartbeat; // StatusPage::heartbeat
};

struct ReportOutput {
    std::function<void(std::string_view)> file; // whole lines
    // A line for the log: a few in all, one for each thread.
    std::function<void(const std::string &)> log;
};

inline constexpr std::size_t max_reported_threads = 64, max_reported_descriptors = 512;

void report(const Suspect &suspect, const ReportOutput &out);

} // namespace pmixhost
