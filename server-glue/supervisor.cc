// See supervisor.h.
#include "server-glue/supervisor.h"

#include "common/unique_fd.h"
#include "server-glue/backend_loader.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

// When the RM ends a step it kills this process, the server and the tasks in any order. Tasks that
// are still there after this long were not being killed.
static constexpr auto dying_patience = 500ms;

static bool tasks_outlive(const TaskTable &table) {
    std::vector<UniqueFd> fds;
    std::vector<pollfd> polls;
    for (const auto &slot : table.pid) {
        pid_t pid = slot.load(std::memory_order_acquire);
        if (pid <= 0)
            continue;
        UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (!fd)
            continue;
        polls.push_back({fd.get(), POLLIN, 0});
        fds.push_back(std::move(fd));
    }
    auto until = Clock::now() + dying_patience;
    while (!polls.empty()) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        if (left.count() <= 0)
            return true;
        if (::poll(polls.data(), polls.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
            return true;
        std::erase_if(polls, [](const pollfd &p) { return p.revents != 0; });
    }
    return false;
}

static std::string how_it_ended(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
}

// Ends the step with a backend of its own; the server's died with it.
static Result<void> end_step(const StartDocument &document, Log &log, StepEnd end) {
    auto name = document.text("backend");
    if (!name)
        return name.failure();
    auto module = load_backend(*name);
    if (!module)
        return module.failure();
    auto loop = EventLoop::create([&log](const std::string &what) { log.error("{}", what); });
    if (!loop)
        return loop.failure();
    auto backend = (*module)->create({**loop, log, document});
    if (!backend)
        return backend.failure();
    Result<void> result = error(ErrorKind::timeout, "the RM did not answer");
    auto deadline = (*loop)->after(60s, [&loop] { (*loop)->stop(); });
    (*backend)->end_step(std::move(end), [&](Result<void> ended) {
        result = std::move(ended);
        (*loop)->stop();
    });
    (*loop)->run();
    (*backend)->stop();
    return result;
}

int supervise(pid_t server, const StartDocument &document, StatusPage *page, const TaskTable &table,
              Log &log) {
    int status = 0;
    while (waitpid(server, &status, 0) < 0) {
        if (errno != EINTR)
            return 1;
    }
    if (table.orderly_end.load(std::memory_order_acquire) == 1)
        return 0;
    std::string host = document.text("host").ok() ? *document.text("host") : "this host";
    std::string text = fmt::format("pmixhostd on {} {}", host, how_it_ended(status));
    if (page) {
        if (auto why = page->failure(); !why.empty())
            text = fmt::format("pmixhostd on {}: {}", host, why);
        else
            page->fail(text);
    }
    // Tasks that have not begun find the task door shut, and say themselves why.
    if (!tasks_outlive(table))
        return 1;
    log.error("{}; ending the step", text);
    if (auto ended = end_step(document, log, {1, text + "; the step is ended"}); !ended)
        log.error("the step could not be ended: {}", ended.failure().text);
    return 1;
}

} // namespace pmixhost
