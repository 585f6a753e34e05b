// See task_streams.h.
#include "server-glue/iof/task_streams.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

void do_not_block(const UniqueFd &fd) {
    if (int flags = fcntl(fd.get(), F_GETFL); flags >= 0)
        fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK);
}

enum class Moved { some, nothing, over };

// Writes as much as goes, and takes it from `bytes`.
Moved write_some(const UniqueFd &fd, std::string_view &bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? Moved::nothing : Moved::over;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return Moved::some;
}

Moved read_some(const UniqueFd &fd, char *buffer, std::size_t size, std::string_view &bytes) {
    ssize_t n;
    do {
        n = ::read(fd.get(), buffer, size);
    } while (n < 0 && errno == EINTR);
    bytes = {buffer, n > 0 ? static_cast<std::size_t>(n) : 0};
    return n > 0 ? Moved::some : n < 0 && errno == EAGAIN ? Moved::nothing : Moved::over;
}

bool unread(const UniqueFd &fd) {
    int bytes = 0;
    return fd && ioctl(fd.get(), FIONREAD, &bytes) == 0 && bytes > 0;
}

} // namespace

void TaskStreams::add(Rank rank, TaskDescriptors descriptors) {
    Task &task = tasks_[rank];
    for (auto [channel, ends] :
         {std::pair(wire::stdout_channel, &descriptors.out), std::pair(wire::stderr_channel, &descriptors.err)}) {
        if (!ends->rms || !ends->ours)
            continue;
        do_not_block(ends->rms);
        do_not_block(ends->ours);
        Output &stream = task.outputs.try_emplace(channel, most_kept_).first->second;
        stream.rank = rank;
        stream.channel = channel;
        stream.rms = std::move(ends->rms);
        stream.ours = std::move(ends->ours);
        watch(stream);
    }
    if (descriptors.in.rms && descriptors.in.ours) {
        task.input = std::make_unique<Input>();
        Input &input = *task.input;
        input.rms = std::move(descriptors.in.rms);
        input.ours = std::move(descriptors.in.ours);
        do_not_block(input.rms);
        do_not_block(input.ours);
        watch_rms(rank, input);
    }
    auto early = early_.extract(rank);
    if (!early)
        return;
    if (!task.input) {
        for (auto &piece : early.mapped())
            piece.reply(PMIX_ERR_NOT_SUPPORTED);
        return;
    }
    read_all_of_rms(rank);
    for (auto &piece : early.mapped()) // all of them, before the end of the RM's is acted on
        task.input->pieces.push_back(std::move(piece));
    write_input(rank);
}

// What has been read goes to the RM before more is read.
void TaskStreams::watch(Output &stream) {
    auto wants = !stream.pending.empty()                        ? Output::Waits::for_rm
                 : stream.ended                                 ? Output::Waits::for_nothing
                 : callbacks_.room(stream.rank, stream.channel) ? Output::Waits::for_task
                                                                : Output::Waits::for_room;
    if (wants == stream.waits)
        return;
    stream.waits = wants;
    stream.watch.reset();
    if (wants == Output::Waits::for_rm)
        stream.watch = loop_.watch(stream.rms.get(), EventLoop::writable, [this, &stream](unsigned) { flush(stream); });
    else if (wants == Output::Waits::for_task)
        stream.watch =
            loop_.watch(stream.ours.get(), EventLoop::readable, [this, &stream](unsigned) { read_output(stream); });
}

void TaskStreams::look_for_room() {
    for (auto &[rank, task] : tasks_) {
        for (auto &[channel, stream] : task.outputs) {
            if (stream.waits == Output::Waits::for_room)
                watch(stream);
            end_rms_if_over(stream);
        }
    }
}

void TaskStreams::give_back(Rank rank, std::uint8_t channel, std::string_view bytes) {
    auto task = tasks_.find(rank);
    auto stream =
        task == tasks_.end() ? std::map<std::uint8_t, Output>::iterator() : task->second.outputs.find(channel);
    if (task == tasks_.end() || stream == task->second.outputs.end() || !stream->second.rms)
        return;
    stream->second.pending += bytes;
    watch(stream->second);
}

void TaskStreams::read_output(Output &stream) {
    char buffer[piece_bytes];
    std::string_view bytes;
    Moved moved = read_some(stream.ours, buffer, sizeof buffer, bytes);
    if (moved == Moved::nothing)
        return;
    stream.ended = moved == Moved::over;
    stream.kept.add(loop_.now(), bytes);
    if (callbacks_.wanted(stream.rank, stream.channel))
        callbacks_.on_output(stream.rank, stream.channel, bytes, stream.ended);
    if (!callbacks_.taken_over(stream.rank, stream.channel))
        stream.pending += bytes; // behind what has just been given back
    flush(stream);
}

// An RM that takes nothing any more has ended, or ends the task; what is left is read all the same.
void TaskStreams::flush(Output &stream) {
    std::string_view left = stream.pending;
    bool rm_is_gone = !stream.rms || write_some(stream.rms, left) == Moved::over;
    stream.pending = rm_is_gone ? Bytes() : Bytes(left);
    watch(stream);
    if (rm_is_gone)
        stream.rms.reset();
    end_rms_if_over(stream);
    if (stream.ended)
        stream.ours.reset();
}

void TaskStreams::end_rms_if_over(Output &stream) {
    if (stream.rms && stream.ended && stream.pending.empty() && !callbacks_.may_come_back(stream.rank, stream.channel))
        stream.rms.reset();
}

std::optional<TaskStreams::Kept> TaskStreams::kept(Rank rank, std::uint8_t channel, TimePoint since) const {
    auto task = tasks_.find(rank);
    if (task == tasks_.end() || !task->second.outputs.contains(channel))
        return std::nullopt;
    const Output &stream = task->second.outputs.at(channel);
    return Kept{stream.kept.last(since), stream.ended, stream.kept.is_cut(since)};
}

// --- input ------------------------------------------------------------------------------------------

void TaskStreams::watch_rms(Rank rank, Input &input) {
    input.ours_watch.reset();
    if (input.rms_watch)
        return;
    input.rms_watch = loop_.watch(input.rms.get(), EventLoop::readable, [this, rank](unsigned) { read_rms(rank); });
}

bool TaskStreams::take_from_rms(Input &input) {
    char buffer[piece_bytes];
    std::string_view bytes;
    Moved moved = read_some(input.rms, buffer, sizeof buffer, bytes);
    if (moved == Moved::nothing)
        return false;
    if (moved == Moved::over) {
        input.rms_ended = true;
        input.rms_watch.reset();
        input.rms.reset();
    } else {
        input.pieces.push_back({share(Bytes(bytes)), 0, false, {}});
    }
    return true;
}

void TaskStreams::read_rms(Rank rank) {
    if (take_from_rms(*tasks_.at(rank).input))
        write_input(rank);
}

// What the RM's pipe holds now comes before what was pushed when nobody could read it yet. (A pipe that is filled all
// the while would never be empty.)
void TaskStreams::read_all_of_rms(Rank rank) {
    constexpr int most_pieces = 64;
    auto &input = tasks_.at(rank).input;
    for (int piece = 0; piece < most_pieces && input && input->rms && take_from_rms(*input); ++piece) {
    }
}

void TaskStreams::close_input(Input &input, pmix_status_t status) {
    input.rms_watch.reset();
    input.ours_watch.reset();
    input.rms.reset();
    input.ours.reset();
    for (auto &piece : std::exchange(input.pieces, {})) {
        if (piece.reply.pending())
            piece.reply(status);
    }
}

void TaskStreams::write_input(Rank rank) {
    Input &input = *tasks_.at(rank).input;
    while (!input.pieces.empty()) {
        Input::Piece &piece = input.pieces.front();
        std::string_view left = std::string_view(*piece.bytes).substr(piece.written);
        Moved moved = write_some(input.ours, left);
        piece.written = piece.bytes->size() - left.size();
        if (moved == Moved::over)
            return close_input(input, PMIX_ERR_IOF_COMPLETE);
        if (moved == Moved::nothing) {
            input.rms_watch.reset();
            if (!input.ours_watch)
                input.ours_watch =
                    loop_.watch(input.ours.get(), EventLoop::writable, [this, rank](unsigned) { write_input(rank); });
            return;
        }
        Input::Piece done = std::move(piece);
        input.pieces.pop_front();
        if (done.reply.pending())
            done.reply(PMIX_SUCCESS);
        if (done.end)
            return close_input(input, PMIX_ERR_IOF_COMPLETE);
    }
    if (!input.rms_ended)
        return watch_rms(rank, input);
    if (!hold_input_)
        return close_input(input, PMIX_ERR_IOF_COMPLETE);
    input.ours_watch.reset();
}

void TaskStreams::hold_input(bool hold) {
    hold_input_ = hold;
    for (auto &[rank, task] : tasks_) {
        if (!hold && task.input && task.input->ours && task.input->rms_ended)
            write_input(rank);
    }
}

void TaskStreams::give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) {
    auto task = tasks_.find(rank);
    if (task == tasks_.end() && gone_.contains(rank))
        return reply(PMIX_ERR_IOF_COMPLETE);
    if (task == tasks_.end()) {
        early_[rank].push_back({bytes, 0, end, std::move(reply)});
        return;
    }
    if (!task->second.input)
        return reply(PMIX_ERR_NOT_SUPPORTED);
    Input &input = *task->second.input;
    if (!input.ours)
        return reply(PMIX_ERR_IOF_COMPLETE);
    input.pieces.push_back({bytes, 0, end, std::move(reply)});
    write_input(rank);
}

void TaskStreams::task_gone(Rank rank) {
    gone_.insert(rank);
    if (auto early = early_.extract(rank))
        for (auto &piece : early.mapped())
            piece.reply(PMIX_ERR_IOF_COMPLETE);
    if (auto task = tasks_.find(rank); task != tasks_.end() && task->second.input)
        close_input(*task->second.input, PMIX_ERR_IOF_COMPLETE);
}

// --- the end ----------------------------------------------------------------------------------------

bool TaskStreams::rm_waits() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [](const auto &task) {
        return std::any_of(task.second.outputs.begin(), task.second.outputs.end(), [](const auto &stream) {
            // What waits for room waits for other readers than the RM.
            return !stream.second.pending.empty() ||
                   (stream.second.waits != Output::Waits::for_room && unread(stream.second.ours));
        });
    });
}

bool TaskStreams::any_open() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [](const auto &task) {
        return std::any_of(task.second.outputs.begin(), task.second.outputs.end(),
                           [](const auto &stream) { return static_cast<bool>(stream.second.ours); });
    });
}

} // namespace pmixhost
