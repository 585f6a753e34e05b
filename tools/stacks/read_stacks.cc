// See read_stacks.h.
#include "tools/stacks/read_stacks.h"

#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/stacks/attach_refusal.h"
#include "tools/stacks/eu_stack_text.h"
#include "tools/stacks/gdb_text.h"
#include "tools/stacks/linker_names.h"
#include "tools/stacks/mapped_code.h"
#include "tools/stacks/shown_text.h"
#include "tools/stacks/this_host.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace pmixhost {

namespace {

unsigned processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
    return std::max(1u, std::thread::hardware_concurrency());
}

// `code`: says what is mapped, where a call has no name.
void name_calls(ProcessStacks &process, const std::function<MappedCode()> &code) {
    bool some = std::any_of(process.threads.begin(), process.threads.end(), [](const ThreadStack &thread) {
        return std::any_of(thread.frames.begin(), thread.frames.end(),
                           [](const StackFrame &frame) { return frame.function.empty(); });
    });
    MappedCode mapped = some ? code() : MappedCode();
    for (auto &thread : process.threads)
        mapped.name_nameless(thread.frames);
}

// Right before a debugger stops it: is it stopped? Who runs shall run when the debugger has gone, however that ends.
bool see_and_tell(LookedAt &target, const StackWish &wish) {
    bool stopped = target.see_whether_stopped();
    if (!stopped && wish.notice)
        wish.notice->holds(target.pid());
    return stopped;
}

// One gdb that looks at one process after the other.
class GdbReader {
  public:
    GdbReader(const Debugger &debugger, const StackWish &wish) : debugger_(debugger), wish_(wish) {}

    void read(ProcessStacks &process, LookedAt &target) {
        if (auto ready = prepare(target.pid()); !ready) {
            process.why = ready.failure().text;
            return;
        }
        process.stopped = see_and_tell(target, wish_);
        auto began = StackClock::now();
        auto until = std::min(wish_.deadline, began + wish_.longest_stop);
        auto attached = gdb_->ask(fmt::format("-target-attach {}", target.pid()), until);
        Result<void> read = attached ? read_threads(process, target.pid(), until) : Result<void>(attached.failure());
        bool detached = false;
        if (gdb_->usable() && attached) {
            // What is said by its deadline is of no use when it stays stopped.
            auto left = gdb_->ask("-target-detach", std::max(until, StackClock::now() + std::chrono::seconds(2)));
            detached = left.ok();
        }
        // A gdb that says no may have taken hold of it all the same, and would kill it at the next attach.
        pid_t tracer = attached ? 0 : target.tracer();
        bool holds = gdb_->is_it(tracer);
        if (!gdb_->usable() || (attached && !detached) || tracer != 0) {
            bool ours = tracer == 0 || holds || !gdb_->usable();
            gdb_.reset(); // waits for its end
            if (ours && !target.put_right() && wish_.notice)
                wish_.notice->keeps();
        }
        // It runs again: the files may be on a file system that does not answer.
        name_calls(process, [&target] { return MappedCode::of_process(target.pid()); });
        if (!target.still_there()) {
            process.threads.clear(); // of whom it was nobody knows
            process.why = "it has ended meanwhile";
        } else if (!read) {
            process.why = read.failure().kind == ErrorKind::invalid
                              ? why_not_attached(read.failure().text, target.pid())
                              : why_broken(read.failure(), target.pid());
        }
    }

    void read_core(ProcessStacks &process, const std::string &file, std::string executable) {
        if (auto ready = started(); !ready) {
            process.why = ready.failure().text;
            return;
        }
        auto load = [&] { return gdb_->console("core-file " + file, wish_.deadline); };
        auto loaded = load();
        if (loaded && executable.empty()) {
            if (auto said = gdb_->console("info auxv", wish_.deadline))
                executable = executable_in(said->text);
        }
        if (loaded && !executable.empty()) {
            // Without its program there are addresses only.
            if (gdb_->ask("-file-exec-and-symbols " + gdb_quoted(executable), wish_.deadline))
                loaded = load();
        }
        process.executable = shown_text(executable, max_frame_text);
        auto read = loaded ? read_threads(process, 0, wish_.deadline) : Result<void>(loaded.failure());
        name_calls(process, [this] {
            auto said = gdb_->console("info proc mappings", wish_.deadline);
            return said ? MappedCode::of_gdb(said->text) : MappedCode();
        });
        if (!read)
            process.why = fmt::format("{}: {}", printable(file, 200), shown_text(read.failure().text, 300));
    }

  private:
    Result<void> started() {
        if (gdb_ && gdb_->usable())
            return {};
        gdb_.reset();
        loaded_.clear();
        inferiors_ = 1;
        auto gdb = GdbSession::start(debugger_.path, *wish_.over);
        if (!gdb)
            return gdb.failure();
        gdb_.emplace(std::move(*gdb));
        auto ready =
            gdb_->ask("-gdb-set mi-async off", std::min(wish_.deadline, StackClock::now() + wish_.longest_start));
        if (!ready && !gdb_->usable())
            return error(ready.failure().kind, "{} does not start: {}; next: run it by hand", debugger_.path,
                         ready.failure().text);
        return {};
    }

    // Reads symbols while the process still runs, so all of the time that there is may be theirs: gdb shares what it
    // knows of a file between what it looks at, so they are loaded as if they were of another program.
    Result<void> prepare(pid_t pid) {
        const auto files = code_files(pid);
        const auto names = linker_names(pid);
        auto opened = [&](const std::string &file) {
            auto name = names.find(file);
            return name != names.end() && is_gdb_word(name->second) ? name->second : file;
        };
        for (const auto &file : files) {
            if (auto before = unreadable_.find(opened(file)); before != unreadable_.end())
                return before->second; // the next gdb would come to grief as well
        }
        if (auto ready = started(); !ready)
            return ready;
        // Not so the program itself: gdb has marks at the symbols of what is not the main program, stumbles over them
        // where it is the main one, and ends (gdb 13: "get_msymbol_address: Assertion"). It is loaded as the main one.
        std::error_code failed;
        std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), failed).string();
        bool chosen = false;
        for (const auto &file : files) {
            if (!is_gdb_word(file) || !loaded_.insert(file).second)
                continue;
            if (!std::exchange(chosen, true))
                choose(1);
            const std::string name = opened(file);
            auto loaded = file == program ? gdb_->ask("-file-exec-and-symbols " + gdb_quoted(file), wish_.deadline)
                                          : load_library(name);
            if (!loaded && !gdb_->usable())
                return unreadable_.emplace(name, why_unreadable(name, loaded.failure())).first->second;
        }
        if (inferiors_ == 1 && gdb_->ask("-add-inferior", wish_.deadline))
            inferiors_ = 2;
        choose(2);
        // Else the program of the one before, and its symbols, would stand for this one's.
        if (auto empty = gdb_->ask("-file-exec-and-symbols", wish_.deadline); !empty && !gdb_->usable())
            return error(empty.failure().kind, "{}", why_broken(empty.failure(), pid));
        return {};
    }
    // gdb shares only what it knows of files of one name, and opens those of a process by the names that its linker
    // has. Here it would take the name behind all symbolic links, but for the word before it.
    Result<GdbAnswer> load_library(const std::string &name) {
        return gdb_->console(fmt::format("add-symbol-file target:{} -o 0", name), wish_.deadline);
    }
    void choose(int inferior) {
        if (inferiors_ >= inferior)
            (void)gdb_->console(fmt::format("inferior {}", inferior), wish_.deadline);
    }
    Error why_unreadable(const std::string &file, const Error &failure) const {
        if (*wish_.over)
            return error(failure.kind, "the look at it was ended");
        std::string name = printable(file, 200);
        if (failure.kind == ErrorKind::timeout)
            return error(failure.kind,
                         "gdb has not read the symbols of {} in time; next: a longer --timeout, or --with eu-stack",
                         name);
        return error(failure.kind, "{} at the symbols of {}; next: --with eu-stack", failure.text, name);
    }

    Result<void> read_threads(ProcessStacks &process, pid_t pid, StackClock::time_point until) {
        auto said = gdb_->ask("-thread-info", until);
        if (!said)
            return said.failure();
        auto threads = threads_of_gdb(said->values);
        // The one that the process began with has its number; of a core, gdb's first is the one that failed.
        auto first = std::find_if(threads.begin(), threads.end(), [&](const auto &one) { return one.id == pid; });
        if (first == threads.end())
            first = std::min_element(threads.begin(), threads.end(), [](const auto &one, const auto &other) {
                return std::atol(one.gdb_id.c_str()) < std::atol(other.gdb_id.c_str());
            });
        if (first == threads.end())
            return error(ErrorKind::invalid, "gdb finds no thread");
        std::iter_swap(threads.begin(), first);
        threads.resize(wish_.all_threads ? std::min(threads.size(), max_threads) : 1);
        for (const auto &thread : threads) {
            auto frames =
                gdb_->ask(fmt::format("-stack-list-frames --thread {} 0 {}", thread.gdb_id, max_frames), until);
            if (!frames)
                return frames.failure();
            ThreadStack stack{thread.id, thread.name, frames_of_gdb(frames->values), false};
            stack.cut = stack.frames.size() > max_frames;
            stack.frames.resize(std::min(stack.frames.size(), max_frames));
            process.threads.push_back(std::move(stack));
        }
        return {};
    }

    // "31   AT_EXECFN   File name of executable   0x7ffd2f \"/home/me/hang\""
    static std::string executable_in(const std::string &auxv) {
        auto at = auxv.find("AT_EXECFN");
        auto begin = at == auxv.npos ? auxv.npos : auxv.find('"', at);
        auto end = begin == auxv.npos ? auxv.npos : auxv.find('"', begin + 1);
        std::string file = end == auxv.npos ? std::string() : auxv.substr(begin + 1, end - begin - 1);
        return ::access(file.c_str(), R_OK) == 0 ? file : std::string();
    }

    std::string why_broken(const Error &failure, pid_t pid) const {
        if (*wish_.over)
            return "the look at it was ended";
        if (failure.kind != ErrorKind::timeout)
            return fmt::format("process {}: {}", pid, failure.text);
        if (auto stat = read_process_stat(pid); stat && stat->state == 'D')
            return fmt::format("process {} is in a call of the kernel that cannot be interrupted (state D), such as "
                               "for a file system that does not answer",
                               pid);
        if (StackClock::now() >= wish_.deadline)
            return fmt::format("process {}: gdb took too long; next: a longer --timeout", pid);
        auto bound = std::chrono::ceil<std::chrono::seconds>(wish_.longest_stop).count();
        return fmt::format("process {}: gdb took longer than a process is stopped ({} s); next: --with eu-stack", pid,
                           bound);
    }

    const Debugger &debugger_;
    const StackWish &wish_;
    std::optional<GdbSession> gdb_;
    std::set<std::string> loaded_;
    std::map<std::string, Error> unreadable_; // files at which a gdb has ended, or was given up
    int inferiors_ = 1;
};

// What eu-stack complains of, without what `cut` says.
std::string complaints_of(std::string_view said) {
    std::string out;
    while (!said.empty()) {
        auto line = take_until(said, '\n');
        if (!line.empty() && line.find("shown max number of frames") == line.npos)
            out += (out.empty() ? "" : "; ") + std::string(line);
    }
    return shown_text(out, 300);
}

void read_by_eu_stack(ProcessStacks &process, const Debugger &debugger, std::vector<std::string> words,
                      const StackWish &wish, LookedAt *target) {
    std::vector<std::string> command{debugger.path, "-m", "-s", "-n", std::to_string(max_frames + 1)};
    if (!wish.all_threads && words[0] == "-p")
        command.emplace_back("-1"); // of a core it cannot; the first is the one that failed
    command.insert(command.end(), words.begin(), words.end());
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(wish.deadline - StackClock::now());
    CaptureBounds bounds;
    bounds.patience = std::clamp(left, std::chrono::milliseconds(1), wish.longest_stop);
    bounds.environment = debugger_environment();
    bounds.stop = [over = wish.over] { return over->load(); };
    if (target)
        process.stopped = see_and_tell(*target, wish);
    auto said = capture_what_comes(command, bounds);
    bool was_killed = said && (said->cut || said->code >= 128);
    if (target && (!said || was_killed) && !target->put_right() && wish.notice)
        wish.notice->keeps();
    if (said) {
        process.threads = threads_of_eu_stack(said->out);
        name_calls(process, [target] { return target ? MappedCode::of_process(target->pid()) : MappedCode(); });
    }
    if (!wish.all_threads && process.threads.size() > 1)
        process.threads.resize(1);
    if (target && !target->still_there()) {
        process.threads.clear(); // of whom it was nobody knows
        process.why = "it has ended meanwhile";
    } else if (!said) {
        process.why = said.failure().text;
    } else if (said->cut) {
        process.why = *wish.over ? "the look at it was ended" : said->cut->text;
    } else if (process.threads.empty() || said->code != 0) {
        process.why = complaints_of(said->err);
        if (process.why.empty() && was_killed)
            process.why = fmt::format("eu-stack has ended by signal {}", said->code - 128);
        else if (process.why.empty() && process.threads.empty())
            process.why = "eu-stack finds no thread";
    }
}

// All that is read, and what reads it: a thread that hangs may live longer than whoever waits for it.
struct HostLook {
    std::string nspace;
    std::uint64_t asked = 0;
    Debugger debugger;
    StackWish wish;
    std::mutex lock; // of all below
    std::condition_variable changed;
    std::vector<ProcessStacks> processes;
    std::vector<bool> done;
    std::size_t next = 0, running = 0; // threads, until their gdbs have ended
};

void read_one(const HostLook &look, GdbReader &gdb, ProcessStacks &process) {
    auto target =
        LookedAt::find({look.nspace, process.rank, process.pid, look.asked, is_name_of_this_host(process.host)});
    if (!target) {
        process.why = target.failure().text;
        return;
    }
    process.pid = target->pid();
    if (look.debugger.is_gdb) {
        gdb.read(process, *target);
        return;
    }
    read_by_eu_stack(process, look.debugger, {"-p", std::to_string(target->pid())}, look.wish, &*target);
    if (process.threads.empty() && process.why.find("not permitted") != std::string::npos)
        process.why = why_not_attached(process.why, target->pid());
}

constexpr char no_time_left[] = "there was no time left for it; next: a longer --timeout, or fewer --ranks";

void look_at_each(HostLook &look) {
    GdbReader gdb(look.debugger, look.wish);
    std::unique_lock guard(look.lock);
    while (look.next < look.processes.size()) {
        std::size_t i = look.next++;
        ProcessStacks process = look.processes[i];
        guard.unlock();
        if (*look.wish.over || StackClock::now() >= look.wish.deadline)
            process.why = no_time_left;
        else if (process.pid != 0 && process.why.empty())
            read_one(look, gdb, process);
        guard.lock();
        look.processes[i] = std::move(process);
        look.done[i] = true;
    }
    guard.unlock(); // before gdb is ended
}

} // namespace

Result<Debugger> find_debugger(const std::string &name) {
    for (const char *one : {"gdb", "eu-stack"}) {
        if (!name.empty() && name != one)
            continue;
        if (std::string path = path_of_program(one); !path.empty())
            return Debugger{path, std::string_view(one) == "gdb"};
    }
    return error(ErrorKind::not_found, "there is no {} on host {}; next: install {} there, or name its folder in PATH",
                 name.empty() ? "gdb" : name, name_of_this_host(),
                 name == "eu-stack" ? "elfutils"
                 : name.empty()     ? "gdb or elfutils"
                                    : name);
}

std::vector<ProcessStacks> read_stacks(std::vector<ProcessStacks> processes, const std::string &nspace,
                                       std::uint64_t asked, const Debugger &debugger, const StackWish &wish) {
    auto look = std::make_shared<HostLook>();
    look->nspace = nspace;
    look->asked = asked;
    look->debugger = debugger;
    look->wish = wish;
    look->done.resize(processes.size());
    look->processes = std::move(processes);
    std::unique_lock guard(look->lock);
    std::size_t at_once = std::min<std::size_t>({look->processes.size(), processors(), most_debuggers});
    while (look->running < at_once) {
        try {
            std::thread([look] {
                look_at_each(*look);
                std::lock_guard again(look->lock);
                --look->running;
                look->changed.notify_all();
            }).detach();
            ++look->running;                  // it waits for the lock
        } catch (const std::system_error &) { // those that there are do all of it
            break;
        }
    }
    auto last = wish.deadline + to_leave;
    while (look->running > 0 && StackClock::now() < last) {
        look->changed.wait_until(guard, std::min(last, StackClock::now() + std::chrono::milliseconds(100)));
        if (*wish.over)
            last = std::min(last, StackClock::now() + to_leave);
    }
    std::vector<ProcessStacks> out;
    for (std::size_t i = 0; i < look->processes.size(); ++i) {
        auto &process = out.emplace_back(look->processes[i]); // theirs stays as it is: they may go on
        if (!look->done[i])
            process.why = no_time_left;
    }
    look->next = look->processes.size();
    if (look->running == 0 && wish.notice)
        wish.notice->over(); // else one that hangs may hold its process still
    return out;
}

void read_core(ProcessStacks &process, const std::string &file, const std::string &executable, const Debugger &debugger,
               const StackWish &wish) {
    std::error_code failed;
    std::string path = std::filesystem::absolute(file, failed).string();
    if (failed || ::access(path.c_str(), R_OK) != 0) {
        process.why = fmt::format("{} cannot be read; next: see its name and its mode", printable(file, 200));
        return;
    }
    if (!debugger.is_gdb) {
        std::vector<std::string> words{"--core=" + path};
        if (!executable.empty())
            words.push_back("--executable=" + executable);
        read_by_eu_stack(process, debugger, words, wish, nullptr);
        return;
    }
    GdbReader gdb(debugger, wish);
    gdb.read_core(process, path, executable);
}

} // namespace pmixhost
