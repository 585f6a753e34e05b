// See supervisor.h.
#include "server-glue/daemon/supervisor.h"

#include "common/base/unique_fd.h"
#include "common/process/process_stat.h"
#include "server-glue/daemon/repeated_end.h"
#include "server-glue/rm/backend_loader.h"
#include "server-glue/rm/user_notes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

// Were tasks running when the server was last heard of? It strikes out those that end.
static bool tasks_were_running(const TaskTable &table) {
    return std::any_of(std::begin(table.pid), std::end(table.pid),
                       [](const auto &pid) { return pid.load(std::memory_order_acquire) > 0; });
}

static std::string how_it_ended(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
}

// Returns when the server has ended (false), or hangs or does not get away (true). Counts looks, not
// time: when the RM stops the step, this process may be stopped a moment later than the server, and
// continued earlier; the time between costs one look at most.
static bool hangs(int server_fd, const StatusPage &page, std::chrono::milliseconds timeout,
                  std::chrono::milliseconds patience) {
    auto interval = static_cast<int>(timeout.count() / beats_in_hang_timeout);
    std::uint32_t last = page.heartbeat.load(std::memory_order_relaxed);
    bool leaving = false;
    for (int missed = 0; missed < beats_in_hang_timeout; ++missed) {
        if (!leaving && page.leaving.load(std::memory_order_acquire) != 0) {
            leaving = true;
            missed = 0;
            interval = static_cast<int>(patience.count() / beats_in_hang_timeout);
        }
        pollfd server{server_fd, POLLIN, 0};
        if (::poll(&server, 1, interval) > 0)
            return false;
        if (std::uint32_t now = page.heartbeat.load(std::memory_order_relaxed); now != last) {
            last = now;
            missed = -1;
        }
    }
    return true;
}

static double in_seconds(std::chrono::milliseconds time) {
    return static_cast<double>(time.count()) / 1000.0;
}

// Ends a server that hangs; true when it was so. `evidence` becomes the file that says where it stood.
static bool ended_a_hang(pid_t server, const StatusPage &page, std::chrono::milliseconds timeout,
                         std::chrono::milliseconds patience, const EvidencePlace &place, const Log &log,
                         std::string &evidence) {
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, server, 0)));
    if (!fd || !hangs(fd.get(), page, timeout, patience))
        return false;
    Suspect suspect;
    suspect.pid = server;
    suspect.found = page.leaving.load(std::memory_order_acquire) != 0
                        ? fmt::format("it took longer than {} s to leave", in_seconds(patience))
                        : fmt::format("its event loop stood still for {} s (daemon.hang_timeout)", in_seconds(timeout));
    suspect.finder = "the supervisor";
    suspect.heartbeat = page.heartbeat.load(std::memory_order_relaxed);
    evidence = capture_evidence(place, std::move(suspect), log);
    end_with_core(server, fd.get());
    return true;
}

std::uint64_t TaskTable::began_at(pid_t pid) {
    auto stat = read_process_stat(pid);
    return stat ? stat->began : 0;
}

// Ends the tasks, which would wait for ever without a server.
static void end_tasks(const TaskTable &table) {
    for (std::uint32_t i = 0; i < TaskTable::capacity; ++i) {
        pid_t pid = table.pid[i].load(std::memory_order_acquire);
        if (pid <= 0)
            continue;
        UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (fd && TaskTable::began_at(pid) == table.began[i].load(std::memory_order_relaxed))
            syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
    }
}

// Asks a backend of its own, since the server's died with the server. What `ask` gives lives as long as that is asked.
template <typename Ask>
static Result<void> with_backend(const StartDocument &document, const Settings &settings, Log &log, Ask ask) {
    auto loop = EventLoop::create([&log](const std::string &what) { log.error("{}", what); });
    if (!loop)
        return loop.failure();
    auto backend = create_backend({**loop, log, document, settings});
    if (!backend)
        return backend.failure();
    Result<void> result = error(ErrorKind::timeout, "the RM has not done it within 60 s");
    auto deadline = (*loop)->after(60s, [&loop] { (*loop)->stop(); });
    [[maybe_unused]] auto asks = ask(**loop, **backend, [&](Result<void> answer) {
        result = std::move(answer);
        (*loop)->stop();
    });
    auto ran = (*loop)->run();
    (*backend)->stop();
    return ran ? result : ran;
}

static int watch_over(pid_t server, const StartDocument &document, const Settings &settings, StatusPage *page,
                      const TaskTable &table, const EvidencePlace &place, Log &log,
                      std::chrono::milliseconds patience) {
    std::chrono::milliseconds hang_timeout = settings.daemon_hang_timeout;
    std::string evidence;
    bool hung = page && hang_timeout > 0ms && ended_a_hang(server, *page, hang_timeout, patience, place, log, evidence);
    int status = 0;
    while (waitpid(server, &status, hung ? WNOHANG : 0) < 0) {
        if (errno != EINTR)
            return 1;
    }
    bool left = page && page->leaving.load(std::memory_order_acquire) != 0;
    std::string host = document.text("host").ok() ? *document.text("host") : "this host";
    std::string text = !hung  ? fmt::format("pmixhostd on {} {}", host, how_it_ended(status))
                       : left ? fmt::format("pmixhostd on {} took longer than {} s to leave and was killed", host,
                                            in_seconds(patience))
                              : fmt::format("pmixhostd on {} hung for {} s (daemon.hang_timeout) and was killed", host,
                                            in_seconds(hang_timeout));
    if (!evidence.empty())
        text += fmt::format("; where it stood is in {}:{}", host, evidence);
    if (table.normal_exit.load(std::memory_order_acquire) == 1) {
        if (hung)
            log.warning("{}", text); // its tasks had ended
        return 0;
    }
    if (page) {
        if (auto why = page->failure(); !why.empty())
            text = fmt::format("pmixhostd on {}: {}", host, why);
        else
            page->fail(text);
    }
    // Tasks that have not begun find the task door shut, and say themselves why.
    if (!tasks_were_running(table))
        return 1;
    ::poll(nullptr, 0, static_cast<int>(dying_patience.count()));
    if (document.has("live_on")) {
        text += "; its tasks are ended";
        log.error("{}", text);
        // First: with its tasks the step may end, and with it whoever would show the line.
        if (auto told =
                with_backend(document, settings, log,
                             [&](EventLoop &, RmBackend &backend, auto done) {
                                 if (auto *notes = backend.user_notes())
                                     notes->tell_user({text}, std::move(done));
                                 else
                                     done(error(ErrorKind::unsupported, "this resource manager shows no lines"));
                                 return nullptr;
                             });
            !told)
            log.error("the user cannot be told: {}", told.failure().text);
        end_tasks(table);
        return 1;
    }
    log.error("{}; ending the step", text);
    auto ended = with_backend(document, settings, log, [&](EventLoop &loop, RmBackend &backend, auto done) {
        auto order = [&backend, text](RepeatedEnd::Done heard) {
            backend.end_step({1, text + "; the step is ended"}, std::move(heard));
        };
        // Those here need not wait for an RM that is away.
        auto first_failed = [&](const Result<void> &failure) {
            log.warning("the step is not ended yet: {}", failure.failure().text);
            end_tasks(table);
        };
        auto end = std::make_unique<RepeatedEnd>(loop, order, first_failed, done);
        end->start();
        return end;
    });
    if (!ended)
        log.error("the step could not be ended: {}", ended.failure().text);
    // The RM's own process on this host, which should do it, may be what has died.
    end_tasks(table);
    return 1;
}

int supervise(pid_t server, const StartDocument &document, const Settings &settings, StatusPage *page,
              const TaskTable &table, const EvidencePlace &place, Log &log, std::chrono::milliseconds patience) {
    int code = watch_over(server, document, settings, page, table, place, log, patience);
    // Last: the file system it is on may not answer.
    if (std::string path = page ? page->directory_left(::geteuid()) : std::string(); !path.empty()) {
        std::error_code failed;
        std::filesystem::remove_all(path, failed);
        std::filesystem::remove_all(std::string(StatusPage::store_base) + path.substr(path.rfind('/')), failed);
    }
    return code;
}

} // namespace pmixhost
