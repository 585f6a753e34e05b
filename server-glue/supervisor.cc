// See supervisor.h.
#include "server-glue/supervisor.h"

#include "server-glue/backend_loader.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>

namespace pmixhost {

using namespace std::chrono_literals;

// Were tasks running when the server was last heard of? It strikes out those that end.
static bool tasks_were_running(const TaskTable &table) {
    return std::any_of(std::begin(table.pid), std::end(table.pid),
                       [](const auto &pid) { return pid.load(std::memory_order_acquire) > 0; });
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
    if (!tasks_were_running(table))
        return 1;
    ::poll(nullptr, 0, static_cast<int>(dying_patience.count()));
    log.error("{}; ending the step", text);
    if (auto ended = end_step(document, log, {1, text + "; the step is ended"}); !ended)
        log.error("the step could not be ended: {}", ended.failure().text);
    return 1;
}

} // namespace pmixhost
