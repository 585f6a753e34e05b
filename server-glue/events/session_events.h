// Events between the steps of an allocation, in the session. Pure: what it needs of its surroundings
// is SessionPeers.
//
// A host of a step sends what its processes notify for other namespaces; each other step gets it once, through one of
// its hosts, and in the order in which it came here. That host is the first of the step that said anything. When it
// has gone, another one takes its place, and what was on its way to it is lost.
//
// Steps that never had to do with the session do not know of it. When an event has come that is for
// them too, the RM's backend is asked to call the steps there are, and again, at growing intervals,
// while events are kept: a step may just be starting. Events are kept for a time, up to a number and a
// size; a step that comes meanwhile gets what it has not had.
//
// A step that takes no events for long loses some: up to `max_waiting` bytes wait for its host that hears them.
//
// A step whose last connection has gone may come again: a host that has something to say only now, or that was asking
// for its connection while the others left (the end of its last process, say). So whom it is connected with is known
// for as long as events are.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/core/recent_names.h"
#include "server-glue/session/session_service.h"

#include <deque>

namespace pmixhost {

class SessionEvents final : public SessionService {
  public:
    using StepId = SessionPeers::StepId;
    struct Limits {
        std::size_t count = 512;
        std::uint64_t bytes = 16ull << 20;
        Duration time = std::chrono::seconds(120);
        std::uint64_t max_waiting = 64ull << 20;
    };
    // `on_lost` is told of each event that a namespace has lost.
    SessionEvents(SessionPeers &peers, Limits limits, std::function<void(const Bytes &nspace)> on_lost)
        : SessionService(peers.services), peers_(peers), limits_(limits), on_lost_(std::move(on_lost)) {}

    void on_event(TimePoint now, StepId step, wire::CrossJobEvent event);
    // These namespaces have connected (PMIx_Connect), or are no longer.
    void connected(const Bytes &one, const Bytes &other) { related_[one].insert(other); }
    void disconnected(const Bytes &one, const Bytes &other);

    // SessionService
    void take_messages(SessionMessages &messages) override;
    void heard(TimePoint now, const SessionMember &member) override;
    void on_host_gone(TimePoint now, const SessionMember &member, bool lost) override;
    void on_step_gone(TimePoint now, StepId step, const Bytes &nspace) override;
    TimePoint next_time() const override;
    void on_time(TimePoint now) override;
    bool idle() const override { return kept_.empty(); }

    // Namespaces of which it is known how far they have heard.
    std::size_t hearers() const { return heard_.size(); }

  private:
    struct Kept {
        std::uint64_t number;
        TimePoint until;
        Bytes source;         // namespace that sent it
        std::set<Bytes> for_; // empty: for all
        SharedBytes payload;
    };
    struct Step {
        Bytes nspace;
        HostIndex host; // that hears for it
    };
    bool is_for(const Kept &event, const Bytes &nspace) const;
    bool is_here(const Bytes &nspace) const;
    // That host hears for its step from now on, and speaks for it.
    void appoint(StepId step, HostIndex host);
    void give(StepId id, Step &step);
    void forget_old(TimePoint now);
    void forget_gone(TimePoint now);
    void forget_hearers();

    SessionPeers &peers_;
    Limits limits_;
    std::function<void(const Bytes &nspace)> on_lost_;
    std::map<StepId, Step> steps_;
    // How far each namespace has heard; for those that have gone, while it matters.
    std::map<Bytes, std::uint64_t> heard_;
    std::map<Bytes, std::set<Bytes>> related_;
    std::map<Bytes, RecentNames> once_;            // by namespace
    std::deque<std::pair<TimePoint, Bytes>> gone_; // namespaces without a connection, and when to forget them
    std::deque<Kept> kept_;
    std::uint64_t kept_bytes_ = 0, last_ = 0;
    Duration interval_{};
    TimePoint next_call_ = TimePoint::max();
};

} // namespace pmixhost
