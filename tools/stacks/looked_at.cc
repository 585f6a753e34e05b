// See looked_at.h.
#include "tools/stacks/looked_at.h"

#include "common/base/small_file.h"
#include "common/peer/peer_process.h"
#include "common/process/process_status.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

namespace {

std::string proc_file(pid_t pid, const char *name) {
    return fmt::format("/proc/{}/{}", pid, name);
}

UniqueFd open_pidfd(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u)));
}

// What its environment says of its place in a job; nothing: it cannot be told.
struct OwnWord {
    std::string nspace, rank;
};
std::optional<OwnWord> own_word(pid_t pid) {
    auto text = read_small_file(proc_file(pid, "environ"));
    OwnWord word;
    for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
        auto variable = take_until(rest, '\0');
        if (variable.starts_with("PMIX_NAMESPACE="))
            word.nspace = variable.substr(15);
        else if (variable.starts_with("PMIX_RANK="))
            word.rank = variable.substr(10);
    }
    return word.nspace.empty() || word.rank.empty() ? std::nullopt : std::optional(word);
}

// It lets nobody look at it, as a setuid program does not.
bool is_hidden(pid_t pid) {
    auto text = read_small_file(proc_file(pid, "environ"));
    return !text && text.failure().kind == ErrorKind::denied;
}

bool uses_libpmix(pid_t pid) {
    auto files = code_files(pid);
    return std::any_of(files.begin(), files.end(), [](const auto &file) {
        return file.find("/libpmix") != file.npos || file.find("/libpmi") != file.npos ||
               file.find("/libmpi") != file.npos;
    });
}

// The only child of a process; 0: it has none or several.
pid_t only_child(pid_t pid) {
    pid_t child = 0;
    std::error_code failed;
    for (const auto &task : std::filesystem::directory_iterator(proc_file(pid, "task"), failed)) {
        auto text = read_small_file(task.path().string() + "/children");
        for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
            auto word = take_until(rest, ' ');
            if (word.empty() || word[0] < '0' || word[0] > '9')
                continue;
            if (child != 0)
                return 0;
            std::from_chars(word.data(), word.data() + word.size(), child);
        }
    }
    return child;
}

struct LivingProcess {
    pid_t pid;
    UniqueFd pidfd;
    ProcessStat stat;
};
std::optional<LivingProcess> only_living_child(pid_t pid) {
    pid_t child = only_child(pid);
    UniqueFd pidfd = child > 0 ? open_pidfd(child) : UniqueFd();
    auto stat = pidfd ? read_process_stat(child) : Result<ProcessStat>(error(ErrorKind::not_found, "it has ended"));
    if (!stat || stat->parent != pid || stat->state == 'Z')
        return std::nullopt;
    return LivingProcess{child, std::move(pidfd), *stat};
}

constexpr int longest_chain = 8; // of processes, each of which waits for the next one

bool is_of(const OwnWord &word, const ExpectedProcess &expected) {
    return word.nspace == expected.nspace && word.rank == std::to_string(expected.rank);
}

// The rank that an agent has started (PMIX_FORKEXEC_AGENT), which has nothing of the rank in its own environment:
// whoever comes first below it that says of whom it is, and is right.
std::optional<LivingProcess> rank_of_agent(pid_t agent, const ExpectedProcess &expected) {
    for (int depth = 0; depth < longest_chain && !is_hidden(agent); ++depth) {
        auto child = only_living_child(agent);
        auto word = child ? own_word(child->pid) : std::nullopt;
        if (!child || (word && !is_of(*word, expected)))
            break;
        if (word)
            return child;
        agent = child->pid;
    }
    return std::nullopt;
}

} // namespace

std::uint64_t ticks_now() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    auto per_second = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
    return static_cast<std::uint64_t>(now.tv_sec) * per_second +
           static_cast<std::uint64_t>(now.tv_nsec) * per_second / 1'000'000'000;
}

Result<LookedAt> LookedAt::find(const ExpectedProcess &expected) {
    auto gone = [&] { return error(ErrorKind::not_found, "it has ended meanwhile"); };
    pid_t pid = expected.pid;
    UniqueFd pidfd = open_pidfd(pid);
    auto stat = read_process_stat(pid);
    if (!pidfd || !stat || stat->state == 'Z' || stat->state == 'X')
        return gone();
    // A process whose program is not for everybody belongs to root in /proc, so what counts is in its status.
    unsigned real = 0;
    std::string uids = status_value(pid, "Uid");
    std::from_chars(uids.data(), uids.data() + uids.size(), real);
    if (::geteuid() != 0 && real != ::getuid())
        return error(ErrorKind::denied, "process {} is another user's", pid);
    if (stat->began > expected.asked)
        return gone(); // its pid has been given away since
    auto word = own_word(pid);
    if (auto rank = word ? std::nullopt : rank_of_agent(pid, expected)) {
        pid = rank->pid;
        pidfd = std::move(rank->pidfd);
        stat = rank->stat;
        word = OwnWord{expected.nspace, std::to_string(expected.rank)};
    }
    if (word && !is_of(*word, expected))
        return gone();
    if (!word && !expected.on_this_host)
        return error(ErrorKind::not_found, "process {} does not say that it is of this job", pid);
    for (int depth = 0; depth < longest_chain && word && !uses_libpmix(pid); ++depth) {
        auto child = only_living_child(pid);
        auto its_word = child ? own_word(child->pid) : std::nullopt;
        if (!child || !(its_word ? is_of(*its_word, expected) : is_hidden(child->pid)))
            break;
        pid = child->pid;
        pidfd = std::move(child->pidfd);
        stat = child->stat;
    }
    if (pid_t tracer = tracer_of(pid); tracer != 0)
        return error(ErrorKind::denied, "process {} is looked at by another debugger (process {})", pid, tracer);
    LookedAt out(pid, std::move(pidfd), stat->state == 'T');
    if (!out.still_there())
        return gone();
    return out;
}

Result<LookedAt> LookedAt::held(pid_t pid, const std::function<bool(pid_t)> &is_debugger) {
    LookedAt out(pid, open_pidfd(pid), false);
    if (!out.pidfd_ || !is_debugger(tracer_of(pid)) || !out.still_there())
        return error(ErrorKind::not_found, "process {} has ended, or is not the debugger's any more", pid);
    return out;
}

bool LookedAt::still_there() const {
    return !is_reaped(pidfd_.get());
}

bool LookedAt::see_whether_stopped() {
    if (auto stat = read_process_stat(pid_); stat && still_there())
        was_stopped_ = stat->state == 'T';
    return was_stopped_;
}

bool LookedAt::await_own_stop(std::chrono::milliseconds patience) {
    was_stopped_ = false;
    for (auto until = std::chrono::steady_clock::now() + patience; still_there();) {
        auto stat = read_process_stat(pid_);
        if (stat && stat->state == 'T')
            return true;
        if (std::chrono::steady_clock::now() >= until)
            break;
        ::poll(nullptr, 0, 5);
    }
    return false;
}

void LookedAt::take_stop_back() const {
    if (still_there())
        ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGCONT, nullptr, 0u); // it takes what stops out of the queue
}

pid_t LookedAt::tracer() const {
    return tracer_of(pid_);
}

void LookedAt::interrupt() const {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGSTOP, nullptr, 0u);
}

bool LookedAt::put_right() const {
    auto send = [this](int signal) { ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0u); };
    // What a script around the debugger has started ends a little later than the script.
    for (int look = 0; still_there() && tracer() != 0; ++look) {
        if (look == 1000)
            return false;
        ::poll(nullptr, 0, 5);
    }
    // A SIGSTOP that it had taken when its tracer ended is seen nowhere until a processor has time for it: SIGCONT
    // undoes that one, too.
    if (!was_stopped_)
        send(SIGCONT);
    // Its threads stop one after the other, so one look is not enough.
    for (int look = 0; look < 10 && still_there(); ++look) {
        auto stat = read_process_stat(pid_);
        if (!stat)
            return true;
        bool stopped = stat->state == 'T';
        if (!was_stopped_ && (stopped || is_to_stop(pid_)))
            send(SIGCONT);
        else if (was_stopped_ && !stopped && look > 0)
            send(SIGSTOP);
        ::poll(nullptr, 0, 5);
    }
    return true;
}

std::vector<std::string> code_files(pid_t pid) {
    std::vector<std::string> out;
    auto text = read_small_file(proc_file(pid, "maps"));
    for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
        auto line = take_until(rest, '\n');
        auto path = line.find('/');
        // "7f42-7f43 r-xp 0000 fe:01 12   /usr/lib/libc.so.6"
        if (path == line.npos || line.find(" r-xp ") > path || line.ends_with(" (deleted)"))
            continue;
        std::string file(line.substr(path));
        if (std::find(out.begin(), out.end(), file) == out.end())
            out.push_back(std::move(file));
    }
    return out;
}

} // namespace pmixhost
