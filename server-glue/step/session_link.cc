// See session_link.h.
#include "server-glue/step/session_link.h"

#include "common/wire/session_messages.h"
#include "server-glue/step/step_messages.h"

namespace pmixhost {

static constexpr auto session_start_patience = std::chrono::seconds(5);
// A session or launcher that has taken an invitation and does not come is gone, about to go or busy.
static constexpr auto invite_again = std::chrono::seconds(3);

SessionLink::SessionLink(StepContext &context) : StepService(context.services), context_(context) {
    context.before_the_session_hears = [this] { tell_of_ends(); };
}

void SessionLink::take_messages(StepMessages &messages) {
    messages.on<wire::WantSession>(StepMessages::Peer::host, [this](HostIndex, const auto &, const auto &) {
        context_.mesh->invite(context_.session_peer());
    });
    messages.on<wire::StepDelegate>(StepMessages::Peer::session, [this](HostIndex, const auto &, const auto &) {
        if (context_.ending)
            return; // the next one is asked
        speaks_ = true;
        tell_of_ends();
    });
}

// An invitation may be lost with a session that ends just then, or be refused by a process that is
// making too many connections (CentralServer::on_invitation).
void SessionLink::reach(CentralRole role, Bytes invitation, TimePoint deadline,
                        std::function<void(Result<void>)> done) {
    auto passed = [this, role, invitation, deadline, done = std::move(done),
                   session = sessions_gone_](Result<void> result) {
        if (result && (role != CentralRole::session || session == sessions_gone_))
            reach_again_[static_cast<std::size_t>(role)] =
                context_.loop.after(invite_again, [this, role, invitation, deadline] {
                    if (context_.ending || context_.mesh->connected(peer_of(role, context_.step.map.host_count())) ||
                        context_.now() >= deadline)
                        return;
                    context_.log.info("the {} does not come; it is asked again", name_of(role));
                    reach(role, invitation, deadline, [this](Result<void> again) {
                        if (!again)
                            context_.log.warning("{}", again.failure().text);
                    });
                });
        done(std::move(result));
    };
    TimePoint start_after = role == CentralRole::session ? session_start_time() : context_.now();
    if (auto *roles = context_.backend.roles())
        return roles->reach(role, invitation, start_after, deadline, std::move(passed));
    context_.loop.post([role, passed = std::move(passed)] {
        passed(error(ErrorKind::unsupported, "the resource manager's backend knows no {}", name_of(role)));
    });
}

// Not every host of the step starts a session at once: the lowest one that is there does, and any
// other one only when that has not helped.
TimePoint SessionLink::session_start_time() {
    HostIndex first = 0;
    while (first < context_.self() && context_.host_gone(first))
        ++first;
    if (first == context_.self())
        return context_.now();
    context_.send(first, wire::WantSession{});
    return context_.now() + session_start_patience;
}

void SessionLink::on_library() {
    if (context_.step.parent && !context_.calls_steps())
        come();
}

void SessionLink::come() {
    if (!context_.ending)
        context_.send_to_session(wire::SubscribeEvents{});
}

// --- ends of processes ------------------------------------------------------------------------------

void SessionLink::on_bad_ends(const wire::HostReport &report) {
    if (report.host == context_.self() || context_.ending)
        return;
    for (const auto &ended : report.processes)
        untold_of_others_.add(ended.rank, ended.rank);
    if (report.lost != 0) {
        for (Rank rank : context_.step.map.ranks_on(report.host))
            untold_of_others_.add(rank, rank);
    }
    tell_if_connected();
}

void SessionLink::on_normal_exits(const wire::NormalExits &ends) {
    for (const auto *ranges : {&ends.ranks, &ends.uncertain}) {
        for (const auto &range : *ranges)
            untold_of_others_.add(range.first, range.last);
    }
    if (!context_.ending)
        tell_if_connected();
}

void SessionLink::tell_of(Rank ended) {
    untold_here_.add(ended, ended);
    tell_if_connected();
}

void SessionLink::tell_if_connected() {
    if (context_.session_is_there())
        tell_of_ends();
}

void SessionLink::tell_of_ends() {
    if (speaks_)
        untold_here_.add_all(std::exchange(untold_of_others_, {}));
    RankRanges news = std::exchange(untold_here_, {});
    news.subtract(told_);
    if (news.empty())
        return;
    told_.add_all(news);
    context_.send(context_.session_peer(), wire::ProcessesEnded{news.take_all()});
}

// The next one has not heard of anything.
void SessionLink::on_session_gone() {
    ++sessions_gone_;
    reach_again_[static_cast<std::size_t>(CentralRole::session)].reset(); // that invitation may be void
    speaks_ = false;
    untold_of_others_.add_all(std::exchange(told_, {}));
    for (Rank rank : context_.ranks_here()) {
        if (untold_of_others_.contains(rank))
            untold_here_.add(rank, rank);
    }
}

} // namespace pmixhost
