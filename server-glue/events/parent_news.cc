// See parent_news.h.
#include "server-glue/events/parent_news.h"

#include "common/start/spawn_channel.h"
#include "server-glue/events/host_events.h"

#include <ctime>

namespace pmixhost {

ParentNews::ParentNews(StepContext &context, StepEvents &events)
    : context_(context), events_(events), wanted_(context.step.parent ? context.step.parent->tells : std::uint8_t{0}) {}

void ParentNews::on_process_gone(Rank rank, std::optional<int> wait_status) {
    if (wanted_ == 0)
        return;
    ++gone_;
    if (auto bad = bad_end_of(*context_.tasks, rank, wait_status))
        bad_.push_back(*bad);
    else if (wanted_ & ParentWord::all_ends)
        in_order_.push_back(rank);
    if (gone_ == context_.ranks_here().size())
        return tell(); // this daemon is about to leave
    if (due_ == TimePoint::max())
        due_ = context_.now() + together;
}

void ParentNews::on_time(TimePoint now) {
    if (now >= due_)
        tell();
}

void ParentNews::tell() {
    due_ = TimePoint::max();
    for (const auto &ended : std::exchange(bad_, {}))
        tell({ended.rank}, ended);
    wire::EndedProcess well;
    well.exit_code = 0;
    auto ranks = std::exchange(in_order_, {});
    for (std::size_t first = 0; first < ranks.size(); first += max_in_event) {
        auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(first);
        auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(first + max_in_event, ranks.size()));
        tell({begin, end}, well);
    }
}

void ParentNews::tell(const std::vector<Rank> &ranks, const wire::EndedProcess &how) {
    auto event = terminated_event(ranks, how, static_cast<std::uint64_t>(std::time(nullptr)), context_.step.map,
                                  context_.step.nspace);
    auto message = cross_job_event(event);
    if (!message)
        return context_.log.warning("the end of processes cannot be told: {}", message.failure().text);
    message->nspaces = {context_.step.parent->nspace};
    events_.tell_job(std::move(*message));
}

} // namespace pmixhost
