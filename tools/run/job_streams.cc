// See job_streams.h.
#include "tools/run/job_streams.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace pmixhost {

JobStreams::JobStreams(EventLoop &loop, const RunOptions &options)
    : loop_(loop), options_(options),
      stdout_(
          loop, STDOUT_FILENO, [this] { resume(stdout_); }, [this](int why) { on_stdout_broken(why); }),
      stderr_(
          loop, STDERR_FILENO, [this] { resume(stderr_); }, [](int) {}) {}

void JobStreams::on_stdout_broken(int why) {
    if (why != EPIPE) {
        say(fmt::format("error: standard output: {}", std::strerror(why)));
        output_is_lost_ = true;
    }
    // As in a pipeline: a task that writes on gets SIGPIPE.
    for (auto &stream : streams_) {
        if (stream.sink == &stdout_)
            stream.stream->close();
    }
}

void JobStreams::say(std::string_view line) {
    stderr_.write(fmt::format("pmixhost: {}\n", line));
}

void JobStreams::carry(std::vector<TaskStreams> tasks) {
    for (auto &task : tasks) {
        add(std::move(task.out), stdout_, task.rank);
        add(std::move(task.err), stderr_, task.rank);
        if (task.in)
            input_ = std::make_unique<InputForwarder>(loop_, std::move(task.in));
    }
}

void JobStreams::add(UniqueFd pipe, OutputSink &sink, Rank rank) {
    OutputStream::Style style;
    style.unbuffered = options_.unbuffered;
    if (options_.label) {
        std::size_t width = std::to_string(options_.apps.back().ranks.back()).size();
        style.label = fmt::format("{:>{}}: ", rank, width);
    }
    streams_.push_back({&sink, std::make_unique<OutputStream>(loop_, std::move(pipe), sink, std::move(style))});
}

void JobStreams::resume(OutputSink &sink) {
    for (auto &stream : streams_) {
        if (stream.sink == &sink)
            stream.stream->resume();
    }
}

void JobStreams::task_ended(Rank rank) {
    if (options_.input == rank && input_)
        input_->close();
}

void JobStreams::resume_input() {
    if (input_)
        input_->resume();
}

void JobStreams::finish(std::function<void()> done) {
    for (auto &stream : streams_)
        stream.stream->drain();
    if (input_)
        input_->close();
    stdout_.when_empty([this, done = std::move(done)] { stderr_.when_empty(done); });
}

} // namespace pmixhost
