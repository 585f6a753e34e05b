// See session_events.h.
#include "server-glue/events/session_events.h"

#include "common/wire/session_messages.h"

#include <algorithm>

namespace pmixhost {

static constexpr Duration first_interval = std::chrono::milliseconds(500);
static constexpr Duration longest_interval = std::chrono::seconds(30);
static constexpr std::size_t max_once = 10'000; // of a namespace
static constexpr std::size_t max_gone = 1024;   // namespaces that are remembered after their last connection

bool SessionEvents::is_for(const Kept &event, const Bytes &nspace) const {
    return event.source != nspace && (event.for_.empty() || event.for_.contains(nspace));
}

bool SessionEvents::is_here(const Bytes &nspace) const {
    return std::any_of(steps_.begin(), steps_.end(), [&](const auto &one) { return one.second.nspace == nspace; });
}

void SessionEvents::give(StepId id, Step &step) {
    if (step.host == no_host)
        return; // nobody is there at the moment
    std::uint64_t &heard = heard_[step.nspace];
    if (heard >= last_)
        return;
    auto at = std::upper_bound(kept_.begin(), kept_.end(), heard,
                               [](std::uint64_t number, const Kept &event) { return number < event.number; });
    for (; at != kept_.end(); ++at) {
        if (is_for(*at, step.nspace)) {
            if (peers_.waiting_bytes(id, step.host) + at->payload->size() > limits_.max_waiting)
                on_lost_(step.nspace);
            else if (!peers_.send(id, step.host, wire::CrossJobEvent::type, at->payload))
                return; // it goes on where it was, with another host
        }
        heard = at->number;
    }
}

void SessionEvents::take_messages(SessionMessages &messages) {
    messages.on<wire::CrossJobEvent>([this](TimePoint now, const SessionMember &from, wire::CrossJobEvent event,
                                            const SharedBytes &) { on_event(now, from.step, std::move(event)); });
    // It is enough that it has been heard.
    messages.on<wire::SubscribeEvents>(
        [](TimePoint, const SessionMember &, const wire::SubscribeEvents &, const SharedBytes &) {});
}

void SessionEvents::appoint(StepId id, HostIndex host) {
    peers_.send(id, host, wire::StepDelegate{});
}

void SessionEvents::heard(TimePoint, const SessionMember &member) {
    auto [at, fresh] = steps_.try_emplace(member.step, Step{member.nspace, member.host});
    if (!fresh && at->second.host != no_host)
        return;
    at->second.host = member.host;
    appoint(member.step, member.host);
    give(member.step, at->second);
}

void SessionEvents::on_event(TimePoint now, StepId id, wire::CrossJobEvent event) {
    auto step = steps_.find(id);
    if (step == steps_.end())
        return;
    Bytes nspace = step->second.nspace;
    if (!event.once.empty()) {
        if (!once_.try_emplace(nspace, max_once).first->second.insert(event.once))
            return;
    }
    Kept kept;
    kept.for_.insert(event.nspaces.begin(), event.nspaces.end());
    if (event.related != 0) {
        kept.for_ = related_[nspace];
        if (kept.for_.empty())
            return;
    }
    kept.number = ++last_;
    kept.until = now + limits_.time;
    kept.source = nspace;
    kept.payload = share(wire::encode(event));
    kept_bytes_ += kept.payload->size();
    // Those who are here have it before anything can push it out.
    bool all_here = !kept.for_.empty() && std::all_of(kept.for_.begin(), kept.for_.end(),
                                                      [this](const Bytes &wanted) { return is_here(wanted); });
    kept_.push_back(std::move(kept));
    for (auto &[other, hearer] : steps_)
        give(other, hearer);
    forget_old(now);
    if (all_here)
        return;
    if (next_call_ == TimePoint::max()) { // after a pause
        interval_ = first_interval;
        next_call_ = now;
        on_time(now);
    } // else it will be, at intervals that grow however many events come
}

void SessionEvents::disconnected(const Bytes &one, const Bytes &other) {
    auto found = related_.find(one);
    if (found == related_.end())
        return;
    found->second.erase(other);
    if (found->second.empty())
        related_.erase(found);
}

void SessionEvents::on_host_gone(TimePoint, const SessionMember &member, bool) {
    auto found = steps_.find(member.step);
    if (found == steps_.end() || found->second.host != member.host)
        return;
    auto others = peers_.hosts_of(member.step);
    auto next = std::find_if(others.begin(), others.end(), [&](HostIndex one) { return one != member.host; });
    found->second.host = next == others.end() ? no_host : *next; // another one may just be connecting
    if (next == others.end())
        return;
    appoint(member.step, *next);
    give(member.step, found->second);
}

void SessionEvents::on_step_gone(TimePoint now, StepId id, const Bytes &) {
    auto found = steps_.find(id);
    if (found == steps_.end())
        return;
    Bytes nspace = std::move(found->second.nspace);
    steps_.erase(found);
    std::erase_if(gone_, [&](const auto &one) { return one.second == nspace; });
    if (once_.contains(nspace) || related_.contains(nspace))
        gone_.emplace_back(now + limits_.time, std::move(nspace));
    forget_gone(now);
    forget_hearers();
}

void SessionEvents::forget_gone(TimePoint now) {
    while (!gone_.empty() && (gone_.front().first <= now || gone_.size() > max_gone)) {
        Bytes nspace = std::move(gone_.front().second);
        gone_.pop_front();
        if (is_here(nspace))
            continue; // it has come again
        once_.erase(nspace);
        if (auto node = related_.extract(nspace)) {
            for (const Bytes &other : node.mapped())
                disconnected(other, nspace);
        }
    }
}

// A namespace that has gone and comes again gets all that is kept where it has heard none of that, as if it were
// new: how far it has heard need not be known.
void SessionEvents::forget_hearers() {
    std::set<Bytes> here;
    for (const auto &[id, step] : steps_)
        here.insert(step.nspace);
    std::erase_if(heard_, [&](const auto &entry) {
        bool matters = !kept_.empty() && entry.second >= kept_.front().number;
        return !matters && !here.contains(entry.first);
    });
}

void SessionEvents::forget_old(TimePoint now) {
    std::size_t before = kept_.size();
    while (!kept_.empty() &&
           (kept_.front().until <= now || kept_.size() > limits_.count || kept_bytes_ > limits_.bytes)) {
        kept_bytes_ -= kept_.front().payload->size();
        kept_.pop_front();
    }
    if (kept_.empty())
        next_call_ = TimePoint::max();
    if (kept_.size() < before)
        forget_hearers();
}

TimePoint SessionEvents::next_time() const {
    return kept_.empty() ? TimePoint::max() : std::min(kept_.front().until, next_call_);
}

void SessionEvents::on_time(TimePoint now) {
    forget_old(now);
    if (next_call_ > now)
        return;
    std::set<Bytes> known;
    for (const auto &[id, step] : steps_)
        known.insert(step.nspace);
    peers_.call_steps(known, nullptr);
    next_call_ = now + interval_;
    interval_ = std::min(2 * interval_, longest_interval);
}

} // namespace pmixhost
