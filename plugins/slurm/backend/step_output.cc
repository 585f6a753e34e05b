// See step_output.h.
#include "plugins/slurm/backend/step_output.h"

#include "common/process/descriptor_message.h"
#include "common/wire/iof_messages.h"
#include "plugins/slurm/base/output_channel.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace pmixhost::slurm {

namespace {

constexpr std::size_t read_bytes = 64u << 10;    // at once
constexpr std::size_t longest_piece = 32u << 10; // that is passed on
// slurmstepd writes each KiB on its own. A moment later there is more, for one piece to tools instead of many.
constexpr Duration gathering = std::chrono::milliseconds(2);

} // namespace

void StepOutput::read_output(Reader reader) {
    reader_ = std::move(reader);
    if (!say(output_wanted)) {
        later_ = loop_.after(Duration::zero(), [this, code = errno] {
            end(error(ErrorKind::unreachable, "slurmstepd is not asked for the output: {}", std::strerror(code)));
        });
        return;
    }
    // As long as it takes: tasks may start late, and the channel ends with slurmstepd.
    watch_ = loop_.watch(channel_.get(), EventLoop::readable, [this](unsigned) { on_answer(); });
}

bool StepOutput::say(std::string_view word) {
    return ::send(channel_.get(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void StepOutput::on_answer() {
    auto answer = receive_descriptor(channel_.get(), MSG_DONTWAIT);
    if (answer && !*answer)
        return;
    watch_.reset();
    if (!answer)
        return end(answer.failure());
    stream_ = std::move((*answer)->fd);
    if (!stream_ || (*answer)->bytes != output_granted)
        return end(error(ErrorKind::unreachable, "{}",
                         (*answer)->bytes.empty() ? "slurmstepd's shim has ended" : (*answer)->bytes));
    say(output_taken);
    channel_.reset();
    fcntl(stream_.get(), F_SETFL, O_NONBLOCK);
    if (reader_.on_begin)
        reader_.on_begin();
    await_stream();
}

void StepOutput::await_stream() {
    watch_ = loop_.watch(stream_.get(), EventLoop::readable, [this](unsigned) { read_stream(); });
}

void StepOutput::read_stream() {
    char bytes[read_bytes];
    ssize_t got = ::read(stream_.get(), bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got < 0)
        return end(system_error("slurmstepd's output", errno));
    if (got == 0)
        return end({});
    auto read = frames_.add({bytes, static_cast<std::size_t>(got)}, [this](const OutputFrames::Frame &frame) {
        auto &[gathered, ended] = read_[{frame.task, frame.is_err}];
        gathered += frame.bytes;
        ended = ended || frame.bytes.empty();
    });
    pass_on();
    if (!read)
        return end(read.failure());
    if (static_cast<std::size_t>(got) == sizeof bytes)
        return;
    watch_.reset();
    later_ = loop_.after(gathering, [this] {
        await_stream();
        read_stream();
    });
}

void StepOutput::pass_on() {
    for (const auto &[stream, of] : std::exchange(read_, {})) {
        std::string_view left = of.first;
        do {
            std::string_view piece = left.substr(0, longest_piece);
            left.remove_prefix(piece.size());
            if (reader_.on_output)
                reader_.on_output(stream.first, stream.second ? wire::stderr_channel : wire::stdout_channel, piece,
                                  of.second && left.empty());
        } while (!left.empty());
    }
}

void StepOutput::end(Result<void> why) {
    watch_.reset();
    later_.reset();
    channel_.reset();
    stream_.reset();
    if (auto on_end = std::exchange(reader_, {}).on_end)
        on_end(std::move(why));
}

void StepOutput::stop() {
    reader_ = {};
    end({});
}

} // namespace pmixhost::slurm
