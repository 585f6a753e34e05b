// See output_forward.h.
#include "server-glue/iof/output_forward.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

void OutputForward::open() {
    open_ = true;
    send();
}

void OutputForward::add(wire::OutputPiece piece, std::uint32_t cost) {
    if (over_)
        return callbacks_.taken(cost);
    pieces_.push_back(std::move(piece));
    cost_ += cost;
    send();
}

void OutputForward::send() {
    if (!open_ || over_ || id_ != 0 || again_ != TimePoint::max() || pieces_.empty())
        return;
    sent_ = std::exchange(pieces_, {});
    sent_cost_ = std::exchange(cost_, 0);
    id_ = ++last_id_;
    callbacks_.send({id_, nspace_, host_, {}, taken_, sent_});
}

void OutputForward::on_reply(TimePoint now, const wire::ForwardedOutputTaken &reply) {
    if (over_ || reply.id != id_ || id_ == 0)
        return;
    id_ = 0;
    if (reply.status == PMIX_SUCCESS) {
        taken_ += std::exchange(sent_, {}).size();
        has_come_ = true;
        patience_ = TimePoint::max();
        std::uint32_t cost = std::exchange(sent_cost_, 0);
        send();
        return callbacks_.taken(cost); // may add more
    }
    // Nothing of it was taken: it goes before what came meanwhile.
    std::move(pieces_.begin(), pieces_.end(), std::back_inserter(sent_));
    pieces_ = std::exchange(sent_, {});
    cost_ += std::exchange(sent_cost_, 0);
    patience_ = std::min(patience_, now + (has_come_ ? returns_within : comes_within)); // since it was not found first
    if (reply.status != PMIX_ERR_NOT_FOUND || now >= patience_)
        return give_up();
    again_ = now + comes_look;
}

// A new one may have come by the next look.
void OutputForward::on_session_gone(TimePoint now) {
    has_come_ = false; // to that one
    patience_ = TimePoint::max();
    if (id_ != 0)
        on_reply(now, {id_, PMIX_ERR_NOT_FOUND});
}

void OutputForward::on_time(TimePoint now) {
    if (now < again_)
        return;
    again_ = TimePoint::max();
    send();
}

void OutputForward::give_up() {
    over_ = true;
    again_ = TimePoint::max();
    std::uint64_t lost = 0;
    for (const auto &piece : std::exchange(pieces_, {}))
        lost += piece.bytes.size();
    callbacks_.taken(std::exchange(cost_, 0));
    callbacks_.over(lost);
}

} // namespace pmixhost
