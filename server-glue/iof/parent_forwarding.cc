// See parent_forwarding.h.
#include "server-glue/iof/parent_forwarding.h"

#include <algorithm>
#include <bit>

namespace pmixhost {

ParentForwarding::ParentForwarding(ParentForwardingPort &port, const StepInfo &step, std::uint64_t cache)
    : port_(port), step_(step), cache_(cache), channels_(step.parent ? step.parent->forwards : 0) {
    if (!has_output() || step.self != host)
        return;
    forward_.emplace(
        step.parent->nspace, step.parent->host,
        OutputForward::Callbacks{[this](wire::ForwardedOutput message) { port_.forward(std::move(message)); },
                                 [this](std::uint32_t cost) { port_.post([this, cost] { port_.parent_has(cost); }); },
                                 [this](std::uint64_t lost) { port_.post([this, lost] { end(lost); }); }});
}

OutputWish ParentForwarding::wish() const {
    OutputWish wish;
    wish.pulled = wish.taken_over = OutputSelection(channels_ & output_channels);
    wish.cache = cache_;
    wish.held = {step_.parent->held_bytes, std::chrono::seconds(step_.parent->held_seconds)};
    wish.whole = true;
    return wish;
}

// A stream ends once, though more of it may come from a host in between.
void ParentForwarding::add(wire::OutputPiece piece, std::uint32_t cost) {
    if ((piece.end || piece.failed) && !ended_.emplace(piece.rank, piece.channel).second)
        piece.end = piece.failed = 0;
    forward_->add(std::move(piece), cost);
}

bool ParentForwarding::has_gone(bool alone) const {
    if (forward_->waits())
        return false;
    std::size_t streams =
        step_.map.rank_count() *
        static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(channels_ & output_channels)));
    return alone || ended_.size() >= streams;
}

void ParentForwarding::open() {
    if (forward_)
        forward_->open();
}

void ParentForwarding::on_session_gone(TimePoint now) {
    if (forward_)
        forward_->on_session_gone(now);
}

void ParentForwarding::on_reply(TimePoint now, const wire::ForwardedOutputTaken &reply) {
    if (forward_)
        forward_->on_reply(now, reply);
}

void ParentForwarding::on_time(TimePoint now) {
    if (forward_)
        forward_->on_time(now);
}

// Who writes to the processes is there no more than who reads them; it could not always say so.
void ParentForwarding::end(std::uint64_t lost) {
    forward_.reset();
    channels_ &= wire::stdin_channel;
    port_.parent_takes_no_more(lost);
    if (has_input())
        port_.push_from_parent({}, {}, true, StatusReply([](pmix_status_t) {}, PMIX_ERROR));
}

void ParentForwarding::on_input(wire::ForwardedInput message) {
    StatusReply reply(
        [&port = port_, id = message.id](pmix_status_t status) {
            port.answer_input({id, status});
        },
        PMIX_ERR_LOST_CONNECTION);
    if (!step_.parent || message.source != step_.parent->nspace || !has_input())
        return reply(PMIX_ERR_NOT_SUPPORTED);
    auto &ranks = message.ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [this](Rank rank) { return rank >= step_.map.rank_count(); }))
        return reply(PMIX_ERR_NOT_FOUND);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    port_.push_from_parent(std::move(ranks), std::move(message.bytes), message.end != 0, std::move(reply));
}

} // namespace pmixhost
