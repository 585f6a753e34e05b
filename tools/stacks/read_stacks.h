// Reads the stacks of processes of this host, and of core files, with gdb or, where there is none, eu-stack.
#pragma once

#include "tools/stacks/gdb_session.h"
#include "tools/stacks/hold_notice.h"
#include "tools/stacks/looked_at.h"
#include "tools/stacks/stack_frames.h"

#include <atomic>
#include <memory>

namespace pmixhost {

// More debuggers at once than this make a look at a host no faster, and need memory that is the job's.
inline constexpr unsigned most_debuggers = 8;

struct StackWish {
    bool all_threads = false;        // else the one that the process began with; of a core, the one that failed
    StackClock::time_point deadline; // for all
    // How long one process may be stopped at the most, and how long a gdb may take until it answers. The symbols that
    // it reads between these have all of the time: nothing is stopped then.
    std::chrono::milliseconds longest_stop{15000}, longest_start{20000};
    const std::atomic<bool> *over = nullptr; // true: end what is under way, leave all as it was
    std::shared_ptr<HoldNotice> notice; // who hears of whom a debugger takes hold, and that all are let go; or none
};

struct Debugger {
    std::string path;
    bool is_gdb = true;
};
// `name`: "gdb", "eu-stack", or empty for the first of these that there is in PATH. Fails (not_found) with what to do.
Result<Debugger> find_debugger(const std::string &name);

// Beyond the deadline: the longest that it takes to leave all as it was, which nobody may cut short: to_let_go,
// to_be_killed, put_right(), and a machine that has no time.
constexpr auto to_leave = std::chrono::seconds(20);

// `processes` have rank, host, pid and executable; what is read, or why it is not, is added. `asked`: see
// ExpectedProcess. Blocks until the deadline, or until wish.over, and to_leave at most. Threads of its own, as many as
// this process has processors, up to most_debuggers; one that hangs in the kernel (a /proc file of a process whose
// memory is on a file system that does not answer) is left behind, so *wish.over stays until this process ends.
std::vector<ProcessStacks> read_stacks(std::vector<ProcessStacks> processes, const std::string &nspace,
                                       std::uint64_t asked, const Debugger &debugger, const StackWish &wish);

// Of a core file; `executable` may be empty, if the core names it. `process` has its rank.
void read_core(ProcessStacks &process, const std::string &file, const std::string &executable, const Debugger &debugger,
               const StackWish &wish);

} // namespace pmixhost
