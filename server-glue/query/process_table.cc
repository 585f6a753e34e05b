// See process_table.h.
#include "server-glue/query/process_table.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

namespace {

// The share of its own time that a host leaves to those behind it.
Duration for_those_behind(Duration timeout) {
    return timeout * 4 / 5;
}

constexpr Duration longest = std::chrono::hours(24);

} // namespace

std::vector<wire::TableHost> table_hosts(const JobTable &table) {
    std::map<HostIndex, wire::TableHost> hosts;
    for (const auto &[host, memory] : table.daemons)
        hosts[host].daemon_kib = memory;
    std::map<HostIndex, std::map<std::string_view, std::uint32_t>> known; // most are the same
    for (const auto &entry : table.processes) {
        wire::TableHost &host = hosts[entry.host];
        auto &executables = known[entry.host];
        auto [found, fresh] = executables.try_emplace(entry.executable, static_cast<std::uint32_t>(executables.size()));
        if (fresh)
            host.executables.push_back(entry.executable);
        host.processes.push_back({entry.rank, static_cast<std::uint32_t>(entry.pid), entry.state, entry.exit_code,
                                  found->second, entry.memory_kib});
    }
    std::vector<wire::TableHost> out;
    for (auto &[index, host] : hosts) {
        host.host = index;
        out.push_back(std::move(host));
    }
    return out;
}

JobTable table_of(const std::vector<wire::TableHost> &hosts, const JobMap &map) {
    JobTable table;
    for (const auto &host : hosts) {
        if (host.host >= map.host_count())
            continue;
        table.daemons[host.host] = host.daemon_kib;
        for (const auto &process : host.processes) {
            if (map.host_of(process.rank) == host.host && process.executable < host.executables.size())
                table.processes.push_back({process.rank, host.host, static_cast<pid_t>(process.pid), process.exit_code,
                                           process.state, host.executables[process.executable], process.memory_kib});
        }
    }
    return table;
}

void in_order_of_ranks(JobTable &table) {
    auto &processes = table.processes;
    std::stable_sort(processes.begin(), processes.end(),
                     [](const auto &one, const auto &other) { return one.rank < other.rank; });
    processes.erase(std::unique(processes.begin(), processes.end(),
                                [](const auto &one, const auto &other) { return one.rank == other.rank; }),
                    processes.end());
}

bool ProcessTable::neighbours(HostIndex a, HostIndex b) const {
    return a < tree_.size() && b < tree_.size() && a != b && (tree_.parent(a) == b || tree_.parent(b) == a);
}

void ProcessTable::complete(ProcessEntry &entry) const {
    auto ended = ended_.find(entry.rank);
    if (entry.state < PMIX_PROC_STATE_TERMINATED || ended == ended_.end())
        return;
    entry.pid = 0;
    entry.exit_code = std::max(ended->second.exit_code, 0);
    switch (ended->second.term_status) {
    case PMIX_ERR_PROC_ABORTED_BY_SIG:
        entry.state = PMIX_PROC_STATE_ABORTED_BY_SIG;
        break;
    case PMIX_ERR_EXIT_NONZERO_TERM:
        entry.state = PMIX_PROC_STATE_TERM_NON_ZERO;
        break;
    default:
        entry.state = PMIX_PROC_STATE_TERM_WO_SYNC;
        break;
    }
}

void ProcessTable::note_ended(const wire::EndedProcess &process) {
    if (ended_.empty())
        first_bad_end_ = process.code;
    ended_[process.rank] = process;
}

JobTable ProcessTable::local() {
    JobTable table{port_.local_processes(), {{self_, port_.daemon_memory()}}};
    for (auto &entry : table.processes) {
        entry.host = self_;
        complete(entry);
    }
    return table;
}

wire::TableHost ProcessTable::own_host() {
    return table_hosts(local()).front();
}

ProcessTable::Iterator ProcessTable::start(TimePoint now, Duration timeout) {
    auto pending = pending_.try_emplace(next_id_++).first;
    pending->second.timeout = std::clamp<Duration>(timeout, Duration(std::chrono::milliseconds(1)), longest);
    pending->second.deadline = now + pending->second.timeout;
    return pending;
}

void ProcessTable::request(TimePoint now, Duration timeout, Done done) {
    TimePoint deadline = now + std::min<Duration>(timeout, longest);
    next_deadline_ = next_.empty() ? deadline : std::max(next_deadline_, deadline);
    next_.push_back(std::move(done));
    gather(now);
}

void ProcessTable::gather(TimePoint now) {
    if (gathering_ || next_.empty())
        return;
    gathering_ = true;
    auto pending = start(now, next_deadline_ - now);
    pending->second.askers = std::exchange(next_, {});
    spread(pending, self_, no_host);
    if (pending->second.waiting.empty())
        finish(now, pending);
}

void ProcessTable::on_request(TimePoint now, HostIndex from, const wire::TableRequest &message) {
    if (!neighbours(self_, message.behind) || from >= map_.host_count())
        return;
    TimePoint deadline = now + std::min<Duration>(std::chrono::milliseconds(message.timeout_ms), longest);
    directions_[message.behind].next.push_back({from, message.id, deadline});
    gather_for(now, message.behind);
}

void ProcessTable::gather_for(TimePoint now, HostIndex behind) {
    Direction &direction = directions_[behind];
    if (direction.gathering || direction.next.empty())
        return;
    direction.gathering = true;
    TimePoint deadline = now;
    for (const Waiter &waiter : direction.next)
        deadline = std::max(deadline, waiter.deadline);
    auto pending = start(now, deadline - now);
    pending->second.behind = behind;
    pending->second.waiters = std::exchange(direction.next, {});
    spread(pending, self_, behind);
    if (pending->second.waiting.empty())
        finish(now, pending);
}

void ProcessTable::spread(Iterator pending, HostIndex at, HostIndex coming_from) {
    auto &waiting = pending->second.waiting;
    auto ask = [&](HostIndex neighbour) {
        if (neighbour == coming_from)
            return;
        wire::TableRequest request;
        request.id = pending->first;
        request.behind = at;
        request.timeout_ms = static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(for_those_behind(pending->second.timeout)).count());
        if (!lost_.contains(neighbour) && !hosts_.host_gone(neighbour) &&
            hosts_.send(neighbour, wire::TableRequest::type, share(wire::encode(request))))
            waiting.emplace(neighbour, at);
        else
            spread(pending, neighbour, at);
    };
    if (HostIndex parent = tree_.parent(at); parent != no_host)
        ask(parent);
    HostIndex first = tree_.first_child(at);
    for (std::uint32_t i = 0; i < tree_.child_count(at); ++i)
        ask(first + i);
}

void ProcessTable::on_reply(TimePoint now, HostIndex from, wire::TableReply message) {
    auto pending = pending_.find(message.id);
    if (pending == pending_.end() || pending->second.waiting.erase(from) == 0)
        return; // its time was up
    auto &answer = pending->second.answer;
    std::move(message.hosts.begin(), message.hosts.end(), std::back_inserter(answer.hosts));
    answer.silent.insert(answer.silent.end(), message.silent.begin(), message.silent.end());
    if (pending->second.waiting.empty())
        finish(now, pending);
}

void ProcessTable::on_host_gone(TimePoint now, HostIndex host) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        auto asked = pending->second.waiting.find(host);
        if (asked == pending->second.waiting.end())
            continue;
        HostIndex behind = asked->second;
        pending->second.waiting.erase(asked);
        spread(pending, host, behind);
        if (pending->second.waiting.empty())
            finish(now, pending);
    }
}

void ProcessTable::finish(TimePoint now, Iterator pending) {
    Pending request = std::move(pending->second);
    pending_.erase(pending);
    for (const auto &[host, behind] : request.waiting)
        request.answer.silent.push_back(host);
    request.answer.hosts.push_back(own_host());
    if (request.behind == no_host) {
        bool whole = request.answer.silent.empty();
        const auto table = whole ? whole_table(request.answer) : JobTable();
        for (const auto &done : request.askers)
            done(whole ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT, table);
        gathering_ = false;
        return gather(now);
    }
    for (const Waiter &waiter : request.waiters) {
        request.answer.id = waiter.id;
        hosts_.send(waiter.asker, wire::TableReply::type, share(wire::encode(request.answer)));
    }
    directions_[request.behind].gathering = false;
    gather_for(now, request.behind);
}

JobTable ProcessTable::whole_table(const wire::TableReply &answer) const {
    JobTable table;
    auto &out = table.processes;
    out.resize(map_.rank_count());
    for (Rank rank = 0; rank < out.size(); ++rank) { // what holds unless its host says otherwise
        ProcessEntry &entry = out[rank];
        entry.rank = rank;
        entry.host = map_.host_of(rank);
        entry.state = PMIX_PROC_STATE_TERMINATED;
        complete(entry);
        if (lost_.contains(entry.host) && entry.state == PMIX_PROC_STATE_TERMINATED)
            entry.state = PMIX_PROC_STATE_COMM_FAILED;
    }
    JobTable told = table_of(answer.hosts, map_);
    table.daemons = std::move(told.daemons);
    for (auto &entry : told.processes)
        out[entry.rank] = std::move(entry);
    return table;
}

TimePoint ProcessTable::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, request] : pending_)
        next = std::min(next, request.deadline);
    return next;
}

void ProcessTable::on_time(TimePoint now) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        if (pending->second.deadline <= now)
            finish(now, pending);
    }
}

} // namespace pmixhost
