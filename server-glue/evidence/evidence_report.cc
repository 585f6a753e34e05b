// See evidence_report.h.
#include "server-glue/evidence/evidence_report.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/text/take_until.h"
#include "config.h"
#include "server-glue/evidence/backtrace.h"
#include "server-glue/evidence/socket_list.h"
#include "server-glue/evidence/thread_snapshot.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 200ms; // several ticks of the clock that counts a thread's CPU time
constexpr int looks_at_running = 3;   // backtraces of a thread that runs
constexpr std::size_t max_socket_text = 4u << 20;

// What another process says of itself may hold anything.
std::string clean(std::string_view text, std::size_t max = 200) {
    std::string out(text.substr(0, max));
    for (char &c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
            c = '?';
    }
    return out + (text.size() > max ? "..." : "");
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0'))
        text.remove_suffix(1);
    return text;
}

std::string text_of(const std::string &path) {
    auto text = read_small_file(path);
    return text ? std::string(trimmed(*text)) : "not readable: " + text.failure().text;
}

std::string link_of(const std::string &path) {
    char target[4096];
    ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    return n < 0 ? std::string() : std::string(target, static_cast<std::size_t>(n));
}

// The entries of a directory of numbers, in order, at most `max`.
std::vector<int> numbers_in(const std::string &path, std::size_t max, std::size_t &all) {
    std::vector<int> numbers;
    all = 0;
    std::unique_ptr<DIR, int (*)(DIR *)> directory(::opendir(path.c_str()), ::closedir);
    while (dirent *entry = directory ? ::readdir(directory.get()) : nullptr) {
        int number = 0;
        const char *end = entry->d_name + std::strlen(entry->d_name);
        if (auto [stop, failed] = std::from_chars(entry->d_name, end, number); failed != std::errc() || stop != end)
            continue;
        ++all;
        if (numbers.size() < max)
            numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

struct Thread {
    pid_t id;
    bool there = false; // both looks succeeded
    ThreadStat first, second;
    std::string activity, waits_in;
    std::vector<std::string> calls; // innermost first, for the log
};

class Report {
  public:
    Report(const Suspect &suspect, const ReportOutput &out)
        : suspect_(suspect), out_(out), proc_(fmt::format("/proc/{}", suspect.pid)) {}

    void write() {
        head();
        look_at_threads();
        for (auto &thread : threads_)
            describe_thread(thread);
        descriptors();
        backtraces();
        // Only a tool's reader gets this far down.
        for (const char *file : {"limits", "cgroup"})
            line("\n{}:\n{}", file, indented(text_of(fmt::format("{}/{}", proc_, file)), 4096));
    }

  private:
    template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
        out_.file(fmt::format(format, std::forward<Args>(args)...) + "\n");
    }

    static std::string indented(std::string_view text, std::size_t max) {
        std::string out;
        for (text = text.substr(0, max); !text.empty();)
            out += (out.empty() ? "    " : "\n    ") + clean(take_until(text, '\n'));
        return out;
    }

    void head() {
        char stamp[40] = "";
        std::time_t now = std::time(nullptr);
        tm calendar{};
        localtime_r(&now, &calendar);
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S%z", &calendar);
        utsname kernel{};
        ::uname(&kernel);
        line("Where a pmixhostd stood: pmixhost {}, report format 1", PACKAGE_VERSION);
        line("time:        {}", stamp);
        line("host:        {}", clean(suspect_.host.empty() ? kernel.nodename : suspect_.host));
        if (!suspect_.step.empty())
            line("step:        {}", clean(suspect_.step));
        line("process:     {}, running for {}", suspect_.pid, uptime());
        line("found:       {}", clean(suspect_.found, 500));
        if (!suspect_.finder.empty())
            line("found by:    {}", clean(suspect_.finder));
        if (suspect_.heartbeat)
            line("heartbeat:   counted to {}, then no more", *suspect_.heartbeat);
        line("program:     {}", clean(link_of(proc_ + "/exe"), 1024));
        line("kernel:      {} {} {}", kernel.sysname, kernel.release, kernel.machine);
        line("load:        {} (1, 5, 15 minutes; running/all; last pid)", clean(text_of("/proc/loadavg")));
        line("host memory: {}", fields("/proc/meminfo", {"MemTotal", "MemAvailable", "SwapFree"}));
        line("memory:      {}", fields(proc_ + "/status", {"VmPeak", "VmRSS", "VmSwap", "VmData"}));
        line("signals:     {}", fields(proc_ + "/status", {"SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"}));
        line("traced by:   {} (0: nobody)", fields(proc_ + "/status", {"TracerPid"}));
    }

    // "KEY value, KEY value" of a file of lines "KEY: value".
    static std::string fields(const std::string &path, std::vector<std::string_view> keys) {
        std::string text = text_of(path), out;
        std::string_view rest = text;
        while (!rest.empty()) {
            auto one = take_until(rest, '\n');
            auto colon = one.find(':');
            if (colon == one.npos || std::find(keys.begin(), keys.end(), one.substr(0, colon)) == keys.end())
                continue;
            auto value = one.substr(colon + 1);
            value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", one.substr(0, colon), clean(value));
        }
        return out.empty() ? clean(text) : out;
    }

    std::string uptime() const {
        auto stat = read_small_file(proc_ + "/stat");
        auto parsed = stat ? parse_thread_stat(*stat) : Result<ThreadStat>(stat.failure());
        timespec now{};
        if (!parsed || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0)
            return "an unknown time";
        double began = static_cast<double>(parsed->began) / static_cast<double>(ticks_per_second_);
        return fmt::format("{:.1f} s", static_cast<double>(now.tv_sec) - began);
    }

    std::string task(const Thread &thread, const char *file) const {
        return fmt::format("{}/task/{}/{}", proc_, thread.id, file);
    }

    bool look(const Thread &thread, ThreadStat &stat) const {
        auto text = read_small_file(task(thread, "stat"));
        auto parsed = text ? parse_thread_stat(*text) : Result<ThreadStat>(text.failure());
        if (parsed)
            stat = std::move(*parsed);
        return parsed.ok();
    }

    void look_at_threads() {
        std::size_t all = 0;
        for (int id : numbers_in(proc_ + "/task", max_reported_threads, all))
            threads_.push_back({id, false, {}, {}, {}, {}, {}});
        line("threads:     {}{}", all,
             all > threads_.size() ? fmt::format(", of which {} follow", threads_.size()) : "");
        for (auto &thread : threads_)
            thread.there = look(thread, thread.first);
        ::poll(nullptr, 0, static_cast<int>(between_looks.count()));
        for (auto &thread : threads_)
            thread.there = thread.there && look(thread, thread.second);
    }

    void describe_thread(Thread &thread) {
        if (!thread.there) {
            line("\nthread {} has ended meanwhile", thread.id);
            return;
        }
        thread.activity = describe_activity(thread.first, thread.second, between_looks, ticks_per_second_);
        line("\nthread {} \"{}\" {}", thread.id, clean(thread.second.name), thread.activity);
        line("  state:       {}, {} ticks in user space and {} in the kernel, {} a second", thread.second.state,
             thread.second.user_ticks, thread.second.system_ticks, ticks_per_second_);
        auto text = read_small_file(task(thread, "syscall"));
        auto call = text ? parse_thread_call(*text) : Result<ThreadCall>(text.failure());
        thread.waits_in = text_of(task(thread, "wchan"));
        if (thread.waits_in == "0")
            thread.waits_in.clear();
        line("  waits in:    {}", thread.waits_in.empty() ? "nothing that the kernel names" : clean(thread.waits_in));
        line("  system call: {}", call ? describe(*call) : call.failure().text);
        if (text)
            line("  as in /proc: {}", clean(trimmed(*text)));
        if (auto mutex = call ? awaited_mutex(*call) : 0)
            line("  waits for:   {}", owner_of(mutex));
        line("  its signals: {}", fields(task(thread, "status"), {"SigPnd", "SigBlk"}));
        auto stack = read_small_file(task(thread, "stack"));
        if (stack && !trimmed(*stack).empty())
            line("  in the kernel:\n{}", indented(*stack, 4096));
        else
            line("  in the kernel: {}", stack ? "nothing" : "only root may read that");
    }

    // glibc's pthread_mutex_t begins with the lock, a count and the owner's thread id. It is a guess that the thread
    // waits for one; a live owner confirms it.
    std::string owner_of(std::uint64_t mutex) const {
        std::int32_t words[3] = {};
        iovec to{words, sizeof words}, from{reinterpret_cast<void *>(mutex), sizeof words};
        if (::process_vm_readv(suspect_.pid, &to, 1, &from, 1, 0) != static_cast<ssize_t>(sizeof words))
            return fmt::format("what looks like a mutex, at {:#x}", mutex);
        for (const auto &thread : threads_) {
            if (thread.id == words[2])
                return fmt::format("a mutex at {:#x}, held by thread {} \"{}\"", mutex, thread.id,
                                   clean(thread.second.name));
        }
        return fmt::format("what looks like a mutex, at {:#x}; none of its threads holds it", mutex);
    }

    void descriptors() {
        SocketList sockets;
        for (bool version_6 : {false, true}) {
            std::string path = fmt::format("{}/net/tcp{}", proc_, version_6 ? "6" : "");
            UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!fd)
                continue;
            if (auto text = read_all(fd.get(), path, max_socket_text))
                sockets.add(*text, version_6);
        }
        std::size_t all = 0;
        auto numbers = numbers_in(proc_ + "/fd", max_reported_descriptors, all);
        line("\ndescriptors: {}{}", all,
             all > numbers.size() ? fmt::format(", of which {} follow", numbers.size()) : "");
        for (int number : numbers) {
            std::string what = link_of(fmt::format("{}/fd/{}", proc_, number));
            std::uint64_t inode = 0;
            constexpr std::string_view socket = "socket:[";
            if (what.starts_with(socket))
                std::from_chars(what.data() + socket.size(), what.data() + what.size(), inode);
            auto ends = inode ? sockets.describe(inode) : std::string();
            line("  {} {}{}{}", number, clean(what), ends.empty() ? "" : " ", ends);
        }
    }

    void backtraces() {
        auto tracer = Backtracer::of_process(suspect_.pid);
        std::string why;
        if (!tracer) {
            why = tracer.failure().text;
            tracer = Backtracer::scan_stacks(suspect_.pid);
        }
        if (!tracer) {
            line("\ncalls: not known: {}", clean(why));
            for (const auto &thread : threads_)
                log_thread(thread);
            return;
        }
        line("\ncalls ({}):{}", (*tracer)->method(), why.empty() ? "" : " " + clean(why));
        for (auto &thread : threads_) {
            if (!thread.there)
                continue;
            calls_of(thread, **tracer);
            log_thread(thread);
        }
        line("\nfiles that it has mapped:");
        for (const auto &file : (*tracer)->files())
            line("  {}", clean(file, 400));
    }

    void calls_of(Thread &thread, Backtracer &tracer) {
        line("\ncalls of thread {} \"{}\"", thread.id, clean(thread.second.name));
        if (std::strchr("tZX", thread.second.state)) {
            line("  not looked at: it {}", thread.activity);
            return;
        }
        int looks = runs(thread.first, thread.second) ? looks_at_running : 1;
        for (int look = 0; look < looks; ++look) {
            if (look > 0) {
                ::poll(nullptr, 0, static_cast<int>(between_looks.count()) / looks_at_running);
                line("  a moment later:");
            }
            auto frames = tracer.frames(thread.id);
            if (!frames) {
                line("  not known: {}", clean(frames.failure().text));
                return;
            }
            int depth = 0;
            for (const auto &frame : *frames) {
                line("  #{:<2} {}{}{}", depth++, frame.where, frame.function.empty() ? "" : " " + clean(frame.function),
                     frame.source.empty() ? "" : " (" + clean(frame.source) + ")");
                auto name = frame.function.empty() ? frame.where : brief_name(frame.function);
                if (look == 0 && !name.starts_with("std::")) // how the language gets somewhere
                    thread.calls.push_back(std::move(name));
            }
        }
    }

    void log_thread(const Thread &thread) {
        if (!thread.there)
            return;
        std::string calls;
        constexpr std::size_t shown = 10;
        for (std::size_t i = 0; i < std::min(thread.calls.size(), shown); ++i)
            calls += (i == 0 ? "" : " < ") + clean(thread.calls[i], 60);
        if (thread.calls.size() > shown)
            calls += " < ...";
        out_.log(fmt::format("thread {} \"{}\" {}{}{}{}", thread.id, clean(thread.second.name), thread.activity,
                             thread.waits_in.empty() ? "" : " in " + clean(thread.waits_in, 60),
                             calls.empty() ? "" : ": ", calls));
    }

    const Suspect &suspect_;
    const ReportOutput &out_;
    const std::string proc_;
    const long ticks_per_second_ = ::sysconf(_SC_CLK_TCK);
    std::vector<Thread> threads_;
};

} // namespace

void report(const Suspect &suspect, const ReportOutput &out) {
    Report(suspect, out).write();
}

} // namespace pmixhost
