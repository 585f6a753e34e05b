// See host_stacks.h.
#include "tools/stacks/host_stacks.h"

#include "common/base/start_thread.h"
#include "tools/stacks/debug_rights.h"
#include "tools/stacks/read_stacks.h"
#include "tools/stacks/shown_text.h"
#include "tools/view/process_list.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <unistd.h>

namespace pmixhost {

namespace {

// Set by a signal; lock-free, so that a handler may.
std::atomic<bool> &end_is_asked_for() {
    static std::atomic<bool> asked = false;
    return asked;
}
static_assert(std::atomic<bool>::is_always_lock_free);

void hear_of_signals() {
    end_is_asked_for(); // made before a handler needs it
    struct sigaction action {};
    action.sa_handler = [](int) { end_is_asked_for() = true; };
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(signal, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN); // a gdb that has ended is an answer
}

// srun ends its steps by force when it is told to end, and a debugger that is killed leaves its process stopped; the
// end of the input comes before that, and also when whoever asked was killed.
void hear_of_the_end_of_the_input() {
    (void)start_thread([] { // without it, signals end the look
        char bytes[512];
        for (;;) {
            ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (got == 0 || (got < 0 && errno != EINTR))
                break;
        }
        end_is_asked_for() = true;
    });
}

// A job that has little memory left shall not lose a process to a look at it.
void be_the_first_to_go() {
    if (UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) [[maybe_unused]]
        ssize_t ignored = ::write(score.get(), "1000", 4);
}

} // namespace

std::vector<ProcessStacks> stacks_of_this_host(const HostStacksAsk &ask) {
    hear_of_signals();
    hear_of_the_end_of_the_input();
    be_the_first_to_go();
    auto deadline = StackClock::now() + ask.patience;
    std::uint64_t asked = ticks_now();
    std::vector<ProcessStacks> processes;
    auto is_meant = [&ask](Rank rank) {
        return !ask.ranks || std::binary_search(ask.ranks->begin(), ask.ranks->end(), rank);
    };
    std::set<Rank> known; // a job may have several servers here
    auto notice = std::make_shared<HoldNotice>();
    bool is_heard = false; // by one of them, which is enough; one of an earlier version has no door
    for (const auto &server : servers_of(servers_below(rendezvous_root()), ask.nspace)) {
        if (server.job != ask.nspace)
            continue;
        auto left = std::chrono::ceil<std::chrono::seconds>(deadline - StackClock::now());
        if (left.count() <= 0 || end_is_asked_for())
            break;
        auto list = processes_of(server, left, true);
        const auto before = processes.size();
        for (const auto &one : list ? *list : std::vector<ListedProcess>()) {
            if (one.pid <= 0 || !is_meant(one.rank) || !known.insert(one.rank).second)
                continue;
            ProcessStacks process;
            process.rank = one.rank;
            process.host = shown_text(one.host, 256);
            process.pid = one.pid;
            process.executable = shown_text(one.executable, max_frame_text);
            processes.push_back(std::move(process));
        }
        if (processes.size() > before && !is_heard)
            is_heard = notice->open(server.file);
    }
    if (processes.empty())
        return processes;
    auto debugger = find_debugger(ask.debugger);
    auto allowed = may_debug_here();
    if (!debugger || !allowed) {
        for (auto &process : processes)
            process.why = allowed ? debugger.failure().text : allowed.failure().text;
        return processes;
    }
    StackWish wish;
    wish.all_threads = ask.all_threads;
    wish.deadline = deadline;
    wish.over = &end_is_asked_for();
    wish.notice = std::move(notice);
    return read_stacks(std::move(processes), ask.nspace, asked, *debugger, wish);
}

} // namespace pmixhost
