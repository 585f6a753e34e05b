// See rm_output_copy.h.
#include "server-glue/iof/rm_output_copy.h"

#include "common/wire/iof_messages.h"
#include "server-glue/rm/step_output.h"

#include <algorithm>

namespace pmixhost {

bool RmOutputCopy::offered(const StepContext &context) {
    RmStepOutput *output = context.backend.step_output();
    return context.settings.io_copy == "on" && !context.step.parent && output && output->can_be_read();
}

void RmOutputCopy::read() {
    if (state_ != State::idle)
        return;
    state_ = State::reading;
    last_read_ = context_.now(); // a moment for what there is
    context_.backend.step_output()->read_output({[this](std::size_t task, std::uint8_t channel, std::string_view bytes,
                                                        bool ends) { take(task, channel, bytes, ends); },
                                                 [this](const Result<void> &why) { on_end(why); }});
}

std::optional<RmOutputCopy::Kept> RmOutputCopy::kept(Rank rank, std::uint8_t channel) const {
    auto found = streams_.find({rank, channel});
    if (found == streams_.end())
        return std::nullopt;
    std::string_view bytes = found->second.kept;
    if (bytes.size() > kept_bytes)
        bytes.remove_prefix(bytes.size() - kept_bytes);
    return Kept{bytes, found->second.ended};
}

void RmOutputCopy::take(std::size_t task, std::uint8_t channel, std::string_view bytes, bool ends) {
    auto ranks = context_.ranks_here();
    if (task >= ranks.size()) {
        if (auto others = strange_lines_.admit(context_.now()))
            context_.log.warning("the resource manager has output of task {} of {}, which has {}{}", task,
                                 context_.host_name(), ranks.size(), not_logged(*others));
        return;
    }
    last_read_ = context_.now();
    Stream &stream = streams_[{ranks[task], channel}];
    if (stream.ended)
        return;
    stream.ended = ends;
    stream.kept += bytes;
    if (stream.kept.size() > 2 * kept_bytes)
        stream.kept.erase(0, stream.kept.size() - kept_bytes);
    on_output_(ranks[task], channel, bytes, ends);
}

bool RmOutputCopy::ended(Rank rank) const {
    for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
        auto stream = streams_.find({rank, channel});
        if (stream == streams_.end() || !stream->second.ended)
            return false;
    }
    return true;
}

bool RmOutputCopy::all_ended() const {
    auto ranks = context_.ranks_here();
    return std::all_of(ranks.begin(), ranks.end(), [this](Rank rank) { return ended(rank); });
}

TimePoint RmOutputCopy::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[rank, since] : gone_) {
        if (state_ != State::idle && !ended(rank))
            next = std::min(next, std::max(since, last_read_) + quiet);
    }
    return next;
}

void RmOutputCopy::on_time(TimePoint now) {
    for (const auto &[rank, since] : gone_) {
        if (state_ != State::idle && now >= std::max(since, last_read_) + quiet)
            end(rank);
    }
}

void RmOutputCopy::end(Rank rank) {
    for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
        if (!std::exchange(streams_[{rank, channel}].ended, true))
            on_output_(rank, channel, {}, true);
    }
}

// Where there is none, or no more, while processes run, tools wait for their ends as ever.
void RmOutputCopy::on_end(const Result<void> &why) {
    state_ = State::over;
    if (!why)
        return context_.log.warning("the output of job {} on {} is not to be had: {}", context_.step.job_id,
                                    context_.host_name(), why.failure().text);
    for (Rank rank : context_.ranks_here())
        end(rank);
}

} // namespace pmixhost
