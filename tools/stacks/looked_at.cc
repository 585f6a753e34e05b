// See looked_at.h.
#include "tools/stacks/looked_at.h"

#include "common/base/small_file.h"
#include "common/peer/peer_process.h"
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

// A value of /proc/PID/status; empty: there is none.
std::string status_value(const std::string &path, std::string_view name) {
    auto text = read_small_file(path);
    for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
        auto line = take_until(rest, '\n');
        if (!line.starts_with(name) || line.substr(name.size(), 1) != ":")
            continue;
        line.remove_prefix(name.size() + 1);
        return std::string(line.substr(std::min(line.find_first_not_of("\t "), line.size())));
    }
    return {};
}

pid_t tracer_of(pid_t pid) {
    std::string text = status_value(proc_file(pid, "status"), "TracerPid");
    pid_t tracer = 0;
    std::from_chars(text.data(), text.data() + text.size(), tracer);
    return tracer;
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

// Has it, or one of its threads, a SIGSTOP that has not come to it yet?
bool is_to_stop(pid_t pid) {
    auto has_stop = [](const std::string &mask) {
        std::uint64_t bits = 0;
        std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
        return (bits >> (SIGSTOP - 1) & 1) != 0;
    };
    if (has_stop(status_value(proc_file(pid, "status"), "ShdPnd")))
        return true;
    std::error_code failed;
    for (const auto &task : std::filesystem::directory_iterator(proc_file(pid, "task"), failed)) {
        if (has_stop(status_value(task.path().string() + "/status", "SigPnd")))
            return true;
    }
    return false;
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
    std::string uids = status_value(proc_file(pid, "status"), "Uid");
    std::from_chars(uids.data(), uids.data() + uids.size(), real);
    if (::geteuid() != 0 && real != ::getuid())
        return error(ErrorKind::denied, "process {} is another user's", pid);
    if (stat->began > expected.asked)
        return gone(); // its pid has been given away since
    auto word = own_word(pid);
    if (word && (word->nspace != expected.nspace || word->rank != std::to_string(expected.rank)))
        return gone();
    if (!word && !expected.on_this_host)
        return error(ErrorKind::not_found, "process {} does not say that it is of this job", pid);
    for (int depth = 0; depth < 8 && word && !uses_libpmix(pid); ++depth) {
        pid_t child = only_child(pid);
        UniqueFd of_child = child > 0 ? open_pidfd(child) : UniqueFd();
        auto its_stat = of_child ? read_process_stat(child) : Result<ProcessStat>(gone());
        auto its_word = of_child ? own_word(child) : std::nullopt;
        bool same = its_word ? its_word->nspace == word->nspace && its_word->rank == word->rank : is_hidden(child);
        if (!its_stat || its_stat->parent != pid || its_stat->state == 'Z' || !same)
            break;
        pid = child;
        pidfd = std::move(of_child);
        stat = std::move(its_stat);
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

void LookedAt::put_right() const {
    auto send = [this](int signal) { ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0u); };
    // What a script around the debugger has started ends a little later than the script.
    for (int look = 0; still_there() && tracer() != 0; ++look) {
        if (look == 1000)
            return;
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
            return;
        bool stopped = stat->state == 'T';
        if (!was_stopped_ && (stopped || is_to_stop(pid_)))
            send(SIGCONT);
        else if (was_stopped_ && !stopped && look > 0)
            send(SIGSTOP);
        ::poll(nullptr, 0, 5);
    }
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
