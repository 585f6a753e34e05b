// See task_texts.h.
#include "server-glue/log/task_texts.h"

#include "common/text/printable.h"
#include "server-glue/log/user_terminal.h"

#include <fmt/format.h>

namespace pmixhost {

// A task has one at most; more than that are of tasks whose files hang.
static constexpr SlowCalls::Threads writers{2, 6};

TaskTexts::TaskTexts(EventLoop &loop, Write write, Duration the_patience)
    : loop_(loop), write_(std::move(write)), patience_(the_patience), calls_(loop, SIZE_MAX, writers) {}

TaskTexts::TaskTexts(EventLoop &loop) : TaskTexts(loop, write_for) {}

void TaskTexts::say(pid_t pid, std::string_view text, std::function<void()> done) {
    write(pid, {{2, "pmixhost: " + one_line(text) + "\n"}}, false,
          [done = std::move(done)](const std::vector<bool> &) { done(); });
}

void TaskTexts::write(pid_t pid, std::vector<TaskText> texts, bool until_one_goes, Done done) {
    std::size_t bytes = 256; // of what it costs itself
    for (const auto &each : texts)
        bytes += each.text.size();
    if (pid <= 0 || bytes_ + bytes > max_bytes)
        return done(std::vector<bool>(texts.size()));
    bytes_ += bytes;
    tasks_[pid].waiting.push_back({std::move(texts), until_one_goes, std::move(done), bytes});
    begin_next(pid);
}

void TaskTexts::begin_next(pid_t pid) {
    Task &task = tasks_.at(pid);
    if (task.is_waited_for)
        return;
    if (!task.call.expired())
        return fail_all(task);
    if (task.waiting.empty()) {
        tasks_.erase(pid);
        return;
    }
    task.is_waited_for = true;
    auto call = std::make_shared<char>();
    task.call = call;
    const Waiting &next = task.waiting.front();
    calls_.run_alone(
        loop_.now() + patience_,
        [pid, texts = next.texts, until_one_goes = next.until_one_goes, write = write_,
         call = std::move(call)]() -> Result<std::vector<bool>> {
            std::vector<bool> went;
            for (const auto &each : texts) {
                went.push_back(write(pid, each.fd, each.text, reader_patience));
                if (went.back() && until_one_goes)
                    break;
            }
            return went;
        },
        [this, pid](Result<std::vector<bool>> went) { on_written(pid, std::move(went)); });
}

void TaskTexts::on_written(pid_t pid, Result<std::vector<bool>> went) {
    Task &task = tasks_.at(pid);
    Waiting written = std::move(task.waiting.front());
    task.waiting.pop_front();
    task.is_waited_for = false;
    bytes_ -= written.bytes;
    if (!went)
        went = std::vector<bool>(written.texts.size());
    begin_next(pid);
    written.done(std::move(*went)); // it may end this
}

void TaskTexts::fail_all(Task &task) {
    for (auto &each : std::exchange(task.waiting, {})) {
        bytes_ -= each.bytes;
        loop_.post([alive = std::weak_ptr(alive_), done = std::move(each.done), count = each.texts.size()] {
            if (!alive.expired())
                done(std::vector<bool>(count));
        });
    }
}

} // namespace pmixhost
