// See rm_output_copy.h.
#include "server-glue/iof/rm_output_copy.h"

#include "server-glue/rm/step_output.h"

#include <utility>

namespace pmixhost {

bool RmOutputCopy::offered(const StepContext &context) {
    RmStepOutput *output = context.backend.step_output();
    return context.settings.io_copy == "on" && !context.step.parent && output && output->can_be_read();
}

void RmOutputCopy::read() {
    if (std::exchange(asked_, true))
        return;
    reads_ = true;
    context_.backend.step_output()->read_output({[this] { streams_.begin(context_.now()); },
                                                 [this](std::size_t task, std::uint8_t channel, std::string_view bytes,
                                                        bool end) { take(task, channel, bytes, end); },
                                                 [this](const Result<void> &why) { on_end(why); }});
}

void RmOutputCopy::take(std::size_t task, std::uint8_t channel, std::string_view bytes, bool end) {
    auto ranks = context_.ranks_here();
    if (task >= ranks.size()) {
        if (auto others = strange_lines_.admit(context_.now()))
            context_.log.warning("the resource manager has output of task {} of {}, which has {}{}", task,
                                 context_.host_name(), ranks.size(), not_logged(*others));
        return;
    }
    const std::uint64_t lost = streams_.lost();
    streams_.take(context_.now(), ranks[task], channel, bytes, end);
    if (streams_.lost() == lost)
        return;
    if (auto others = lost_lines_.admit(context_.now()))
        context_.log.warning("output of rank {} came when it was taken to have ended: {} bytes of job {} are missing "
                             "for tools so far{}",
                             ranks[task], streams_.lost(), context_.step.job_id, not_logged(*others));
}

void RmOutputCopy::on_end(const Result<void> &why) {
    reads_ = false;
    bool in_order = streams_.end(context_.now());
    if (auto cut_off = streams_.cut_off(); !cut_off.empty())
        on_failure_(cut_off);
    if (!why || !in_order)
        context_.log.warning("the output of job {} on {} is not to be had {}: {}", context_.step.job_id,
                             context_.host_name(), why ? "any longer" : "for tools",
                             why ? "the resource manager has ended the copy" : why.failure().text);
}

} // namespace pmixhost
