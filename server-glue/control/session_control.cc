// See session_control.h.
#include "server-glue/control/session_control.h"

#include "server-glue/control/job_control.h"

#include <algorithm>
#include <csignal>

namespace pmixhost {

void SessionControl::take_messages(SessionMessages &messages) {
    messages.on<wire::ControlRequest>(
        [this](TimePoint now, const SessionMember &from, wire::ControlRequest message, const SharedBytes &) {
            on_request(now, from.step, from.host, std::move(message));
        });
    messages.on<wire::ControlCancel>([this](TimePoint, const SessionMember &from, const wire::ControlCancel &message,
                                            const SharedBytes &) { on_cancel(from.step, from.host, message); });
    messages.on<wire::ControlPartReply>([this](TimePoint now, const SessionMember &from,
                                               const wire::ControlPartReply &message,
                                               const SharedBytes &) { on_reply(now, from.step, from.host, message); });
}

void SessionControl::on_request(TimePoint now, StepId step, HostIndex from, wire::ControlRequest message) {
    auto request = requests_.try_emplace(next_id_++).first;
    Request &it = request->second;
    it.step = step;
    it.host = from;
    it.id = message.id;
    it.everyone = message.everyone != 0;
    it.order = std::move(message.order);
    it.order.nspace = peers_.nspace_of(step); // whatever it says
    it.patience = now + grace;
    it.deadline = now + std::chrono::milliseconds(message.timeout_ms);
    if (requests_.size() > max_requests || message.targets.size() > max_targets)
        return refuse(request, PMIX_ERR_OUT_OF_RESOURCE);
    if (!makes_sense(it.order))
        return refuse(request, PMIX_ERR_BAD_PARAM);
    auto steps = peers_.steps();
    for (auto &target : message.targets) {
        if (!steps.contains(target.nspace))
            it.expected.insert(target.nspace);
        if (it.everyone)
            continue;
        Bytes nspace = target.nspace;
        it.parts[nspace].target = std::move(target);
    }
    if (!it.everyone && it.expected.empty())
        return ask(now, request);
    it.calling = true;
    peers_.call_others([this, id = request->first, alive = std::weak_ptr(alive_)](TimePoint when, CalledSteps called) {
        if (!alive.expired())
            on_called(when, id, called);
    });
}

void SessionControl::on_called(TimePoint now, std::uint64_t id, const CalledSteps &called) {
    auto request = requests_.find(id);
    if (request == requests_.end())
        return; // its time was up
    Request &it = request->second;
    it.calling = false;
    it.patience = now + grace;
    if (called.known) { // nobody else will come
        if (it.everyone) {
            it.expected = called.names;
        } else {
            auto steps = peers_.steps();
            for (const Bytes &nspace : it.expected) {
                if (!steps.contains(nspace) && !called.names.contains(nspace))
                    return refuse(request, PMIX_ERR_NOT_FOUND);
            }
        }
    }
    find(now, request);
}

void SessionControl::heard(TimePoint now, const SessionMember &member) {
    for (auto next = requests_.begin(); next != requests_.end();) {
        auto request = next++;
        if (request->second.phase == Phase::finding && !request->second.calling &&
            request->second.expected.contains(member.nspace))
            find(now, request);
    }
}

void SessionControl::find(TimePoint now, Iterator request) {
    Request &it = request->second;
    auto steps = peers_.steps();
    std::erase_if(it.expected, [&](const Bytes &nspace) { return steps.contains(nspace); });
    if (it.expected.empty())
        return ask(now, request);
    if (now < it.patience)
        return;
    if (!it.everyone)
        return refuse(request, PMIX_ERR_NOT_FOUND);
    it.outcome.absent += it.expected.size();
    ask(now, request);
}

void SessionControl::ask(TimePoint now, Iterator request) {
    Request &it = request->second;
    it.phase = Phase::asking;
    auto steps = peers_.steps();
    if (it.everyone) {
        for (const auto &[nspace, step] : steps) {
            if (nspace != it.order.nspace)
                it.parts[nspace].target = {nspace, 1, {}};
        }
    }
    for (auto next = it.parts.begin(); next != it.parts.end();) {
        auto part = next++;
        auto step = steps.find(part->first);
        part->second.step = step == steps.end() ? 0 : step->second;
        if (send(now, request, part->second))
            continue;
        if (!it.everyone)
            return refuse(request, PMIX_ERR_NOT_FOUND);
        it.parts.erase(part);
    }
    go_on(now, request);
}

bool SessionControl::send(TimePoint now, Iterator request, Part &part) {
    const Request &it = request->second;
    wire::ControlPart message;
    message.id = request->first;
    message.act = it.phase == Phase::doing;
    message.order = it.order;
    message.target = part.target;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(it.deadline - now).count();
    message.timeout_ms = static_cast<std::uint32_t>(std::clamp<long long>(left, 0, UINT32_MAX));
    auto payload = share(wire::encode(message));
    auto hosts = peers_.hosts_of(part.step);
    if (std::find(hosts.begin(), hosts.end(), part.host) != hosts.end())
        hosts.insert(hosts.begin(), part.host);
    for (HostIndex host : hosts) {
        part.host = host;
        if (peers_.send(part.step, host, wire::ControlPart::type, payload))
            return true;
    }
    return false;
}

void SessionControl::go_on(TimePoint now, Iterator request) {
    Request &it = request->second;
    auto all_answered = [&it] {
        return std::all_of(it.parts.begin(), it.parts.end(), [](const auto &p) { return p.second.answered; });
    };
    if (!all_answered())
        return;
    if (it.phase == Phase::asking) {
        it.phase = Phase::doing;
        for (auto &[nspace, part] : it.parts) {
            part.answered = !send(now, request, part);
            if (part.answered) // it was here a moment ago
                it.outcome.absent += std::max<std::size_t>(part.target.ranks.size(), 1);
        }
    }
    if (all_answered())
        finish(request);
}

void SessionControl::on_reply(TimePoint now, StepId step, HostIndex from, const wire::ControlPartReply &message) {
    auto request = requests_.find(message.id);
    if (request == requests_.end())
        return; // its time was up
    Request &it = request->second;
    auto found = it.parts.find(peers_.nspace_of(step));
    if (found == it.parts.end())
        return;
    Part &part = found->second;
    if (part.step != step || part.host != from || part.answered || it.phase == Phase::finding ||
        (message.act != 0) != (it.phase == Phase::doing))
        return;
    if (it.phase == Phase::asking && message.outcome.refused != PMIX_SUCCESS)
        return without(now, request, found->first, message.outcome.refused);
    if (it.phase == Phase::doing)
        add(it.outcome, message.outcome);
    part.answered = true;
    go_on(now, request);
}

// This namespace cannot take part, and nothing has been done yet.
void SessionControl::without(TimePoint now, Iterator request, const Bytes &nspace, std::int32_t status) {
    if (!request->second.everyone)
        return refuse(request, status);
    request->second.parts.erase(nspace); // it has just ended
    go_on(now, request);
}

void SessionControl::on_part_gone(TimePoint now, Iterator request, const Bytes &nspace, bool lost) {
    Request &it = request->second;
    Part &part = it.parts.at(nspace);
    if (it.phase == Phase::asking) {
        if (!send(now, request, part))
            without(now, request, Bytes(nspace), lost ? PMIX_ERR_LOST_CONNECTION : PMIX_ERR_NOT_FOUND);
        return;
    }
    part.answered = true;
    if (part.target.whole && !it.order.signals.empty() && it.order.signals.front() == SIGKILL) {
        ++it.outcome.signalled;
    } else {
        it.outcome.absent += std::max<std::size_t>(part.target.ranks.size(), 1);
        it.outcome.lost |= lost;
    }
    go_on(now, request);
}

template <typename Condition> void SessionControl::parts_gone(TimePoint now, Condition gone, bool lost) {
    for (auto next = requests_.begin(); next != requests_.end();) {
        auto request = next++;
        if (request->second.phase == Phase::finding)
            continue;
        for (const auto &[nspace, part] : request->second.parts) {
            if (part.answered || !gone(part))
                continue;
            on_part_gone(now, request, Bytes(nspace), lost);
            break; // a step is in it once, and the request may have ended
        }
    }
}

void SessionControl::on_host_gone(TimePoint now, const SessionMember &gone, bool lost) {
    std::erase_if(requests_,
                  [&](const auto &entry) { return entry.second.step == gone.step && entry.second.host == gone.host; });
    parts_gone(
        now, [&](const Part &part) { return part.step == gone.step && part.host == gone.host; }, lost);
}

void SessionControl::on_step_gone(TimePoint now, StepId step, const Bytes &) {
    std::erase_if(requests_, [&](const auto &entry) { return entry.second.step == step; });
    parts_gone(
        now, [&](const Part &part) { return part.step == step; }, true);
}

void SessionControl::on_cancel(StepId step, HostIndex from, const wire::ControlCancel &message) {
    std::erase_if(requests_, [&](const auto &entry) {
        return entry.second.step == step && entry.second.host == from && entry.second.id == message.id;
    });
}

void SessionControl::refuse(Iterator request, std::int32_t status) {
    request->second.outcome = {};
    request->second.outcome.refused = status;
    finish(request);
}

void SessionControl::finish(Iterator request) {
    const Request &it = request->second;
    wire::ControlReply reply{it.id, it.outcome};
    peers_.send(it.step, it.host, reply);
    requests_.erase(request);
}

TimePoint SessionControl::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, request] : requests_) {
        next = std::min(next, request.deadline);
        if (request.phase == Phase::finding && !request.calling)
            next = std::min(next, request.patience);
    }
    return next;
}

void SessionControl::on_time(TimePoint now) {
    for (auto next = requests_.begin(); next != requests_.end();) {
        auto request = next++;
        if (request->second.deadline <= now) {
            request->second.outcome.late = 1;
            finish(request);
        } else if (request->second.phase == Phase::finding && !request->second.calling &&
                   request->second.patience <= now) {
            find(now, request);
        }
    }
}

} // namespace pmixhost
