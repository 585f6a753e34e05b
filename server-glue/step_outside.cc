// StepServer's dealings with processes of other namespaces: connect, disconnect, what a collective over
// several namespaces brings. All of it goes through the session.
#include "server-glue/step_server.h"

#include "common/topology.h"

#include <algorithm>

namespace pmixhost {

static const std::string cpuset_prefix = "hwloc:"; // of PMIX_CPUSET
static constexpr auto posted_patience = std::chrono::seconds(2); // for the library
// A session or launcher that has taken an invitation and does not come is gone, about to go or busy.
static constexpr auto invite_again = std::chrono::seconds(3);

void StepServer::connect(ConnectRequest request) {
    auto signature = canonical(request.kind, request.participants, [this](const Bytes &nspace) {
        return nspace == step_.nspace ? step_.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND);
    // libpmix 4.2.2 answers a connect with PMIX_TIMEOUT itself when the time is up, and takes an answer
    // that comes after its own for another one (contrib/doc/decisions/libpmix.md): be earlier.
    std::optional<std::chrono::milliseconds> timeout;
    if (request.timeout)
        timeout = request.kind == CollectiveKind::connect ? before_the_library(*request.timeout)
                                                          : std::chrono::milliseconds(*request.timeout);
    auto shared = std::make_shared<ConnectRequest>(std::move(request));
    auto go_on = [this, shared, signature = *signature, timeout](Bytes posted) {
        // Only now: it may have ended while the posted data was collected.
        if (shared->kind == CollectiveKind::connect && shared->refused == PMIX_SUCCESS &&
            std::any_of(signature.members.begin(), signature.members.end(),
                        [this](const Members &m) { return ended_children_.contains(m.nspace); }))
            shared->refused = PMIX_ERR_PROC_TERM_WO_SYNC;
        enter(signature, std::move(posted), shared->refused, shared->local_status, timeout,
              {[shared](pmix_status_t status, Bytes) { shared->reply(status); }, PMIX_ERROR, Bytes()});
    };
    if (shared->kind == CollectiveKind::connect && spans_outside(*signature))
        return collect_posted(*signature, go_on);
    go_on({});
}

// What the participants here have posted goes along, so that the other namespaces need not ask for it
// one by one. Who has posted nothing yet is not waited for; it can be asked later.
void StepServer::collect_posted(const Signature &signature, std::function<void(Bytes)> then) {
    struct Collection {
        std::function<void(Bytes)> then; // null: it has gone on
        Bytes data;
        EventLoop::Handle timer;
        void finish() {
            timer.reset();
            if (auto go_on = std::exchange(then, nullptr))
                go_on(std::move(data));
        }
    };
    std::vector<Rank> ranks;
    auto all = std::make_shared<Collection>();
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (signature.contains(step_.nspace, rank) && !tasks_.gone(rank))
            ranks.push_back(rank);
        // Of all of this host: whoever is here as well shall know who is local.
        pid_t pid = tasks_.watch().pid_of(rank);
        if (auto cpus = pid > 0 ? CpuSet::of_process(pid) : Result<CpuSet>(error(ErrorKind::not_found, "")))
            all->data += wire::encode(wire::PostedData{rank, cpuset_prefix + cpus->list(), {}});
    }
    if (ranks.empty() || !library_)
        return then(std::move(all->data));
    all->then = std::move(then);
    all->timer = loop_.after(posted_patience, [all] {
        auto kept = all; // the timer owns what it is called with
        kept->finish();
    });
    library_->posted_data_now(step_.nspace, std::move(ranks), [this, all](std::map<Rank, Bytes> posted) {
        for (auto &[rank, data] : posted) {
            if (all->data.size() + data.size() <= settings_.fence_max_bytes)
                all->data += wire::encode(wire::PostedData{rank, {}, std::move(data)});
        }
        all->finish();
    });
}

std::map<Rank, std::string> StepServer::remember_posted(const wire::NamespacePart &part) {
    std::map<Rank, std::string> cpus;
    wire::Reader reader(part.data);
    while (reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (reader.ok() && !posted.data.empty())
            posted_elsewhere_[{part.info.nspace, posted.rank}] = std::move(posted.data);
        if (reader.ok() && posted.cpuset.starts_with(cpuset_prefix))
            cpus[posted.rank] = posted.cpuset.substr(cpuset_prefix.size());
    }
    return cpus;
}

bool StepServer::spans_outside(const Signature &signature) {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return members.nspace != step_.nspace; });
}

void StepServer::join_outside(const Bytes &key, std::uint64_t sequence,
                              const std::vector<wire::Contribution> &contributions) {
    wire::GatheringJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.part.info = describe(step_);
    for (const auto &contribution : contributions)
        join.part.data += contribution.data;
    Bytes message = wire::encode(join);
    if (message.size() > wire::frame_limit) {
        leave_outside(key, sequence, PMIX_ERR_OUT_OF_RESOURCE);
        return collectives_.outside_done(key, sequence, PMIX_ERR_OUT_OF_RESOURCE, {});
    }
    if (!send_to_session(wire::GatheringJoin::type, share(std::move(message))))
        collectives_.outside_done(key, sequence, PMIX_ERR_UNREACH, {});
}

void StepServer::leave_outside(const Bytes &key, std::uint64_t sequence, std::int32_t status) {
    wire::GatheringJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.status = status;
    join.part.info = describe(step_);
    send_to_session(wire::GatheringJoin::type, share(wire::encode(join)));
}

void StepServer::on_gathering_done(wire::GatheringDone message) {
    std::vector<wire::Contribution> parts;
    for (const auto &part : message.parts)
        parts.push_back({no_host, wire::encode(part)});
    collectives_.outside_done(message.signature, message.sequence, message.status, std::move(parts));
}

void StepServer::complete_with(CollectiveKind kind, const Signature *abroad, Contributions contributions,
                               DataReply reply) {
    struct Waiting {
        DataReply reply;
        Bytes data;
        std::size_t left = 1;
    };
    auto waiting = std::make_shared<Waiting>();
    waiting->reply = std::move(reply);
    auto one_less = [waiting] {
        if (--waiting->left == 0)
            waiting->reply(PMIX_SUCCESS, std::move(waiting->data));
    };
    std::size_t size = 0;
    for (const auto &contribution : *contributions)
        size += contribution.data.size();
    waiting->data.reserve(size);
    for (const auto &contribution : *contributions) {
        if (contribution.host != no_host) {
            waiting->data += contribution.data;
            continue;
        }
        auto part = wire::decode<wire::NamespacePart>(contribution.data);
        if (!part) {
            log_.warning("{}", part.failure().text);
            continue;
        }
        std::map<Rank, std::string> cpus;
        if (kind == CollectiveKind::connect) {
            cpus = remember_posted(*part);
            sets_.connected(part->info.nspace, sets_of(part->info));
            learn_kin(part->info);
        } else {
            waiting->data += part->data;
        }
        if (kind == CollectiveKind::disconnect)
            sets_.disconnected(part->info.nspace);
        ++waiting->left;
        auto show = [this, nspace = part->info.nspace, cpus = std::move(cpus), one_less] {
            foreign_.show(*library_, nspace, cpus, one_less);
        };
        if (kind == CollectiveKind::connect)
            foreign_.learn(*library_, part->info, show);
        else
            foreign_.learn(*library_, part->info, one_less);
    }
    if (abroad) {
        auto size_of = [this](const Bytes &nspace) {
            return nspace == step_.nspace ? step_.map.rank_count() : foreign_.size_of(nspace);
        };
        if (kind == CollectiveKind::connect)
            fate_.connected(*abroad, size_of);
        else
            fate_.parted(*abroad, size_of);
    }
    one_less();
}

// The children's job information goes to their parent with the answer (libpmix takes it along, if it knows
// the namespace by then).
void StepServer::on_spawned(wire::SpawnReply message) {
    if (message.status != 0)
        return spawn_.on_reply(std::move(message));
    children_.insert(message.nspace);
    if (!backend_.capabilities().calls_steps)
        come_to_session(); // as the children do
    wire::NamespaceInfo info = std::exchange(message.info, {});
    if (!library_ || info.nspace != message.nspace || !foreign_.room_for(info))
        return spawn_.on_reply(std::move(message)); // who asks gets it
    foreign_.learn(*library_, info, [this, message = std::move(message)]() mutable {
        spawn_.on_reply(std::move(message));
    });
}

// Whoever waits for that job in the session hears of it. A job that never had to do with the session
// is not known there, and nobody else can tell.
void StepServer::on_child_ended(const wire::JobEvent &job) {
    const Bytes &nspace = job.nspace;
    fate_.on_job_ended(loop_.now(), nspace, job.exit_code);
    ended_children_.insert(nspace);
    children_.erase(nspace);
    if (mesh_->connected(session_peer()) || collectives_.waits_for(nspace))
        send_to_session(wire::NamespaceEnded::type, share(wire::encode(wire::NamespaceEnded{nspace})));
}

// Processes of hosts that need not have a connection to the session. One host tells of them: the session
// says which (SpeakForStep). The others keep what they know, should they become it.
void StepServer::tell_session_of(const wire::HostReport &report) {
    if (report.host == step_.self || ending_)
        return;
    for (const auto &ended : report.processes)
        untold_elsewhere_.add(ended.rank, ended.rank);
    if (report.lost != 0) {
        for (Rank rank : step_.map.ranks_on(report.host))
            untold_elsewhere_.add(rank, rank);
    }
    if (mesh_->connected(session_peer()))
        tell_session_of_ends();
}

void StepServer::tell_session_of(const wire::OrderlyEnds &ends) {
    for (const auto *ranges : {&ends.ranks, &ends.uncertain}) {
        for (const auto &range : *ranges)
            untold_elsewhere_.add(range.first, range.last);
    }
    if (mesh_->connected(session_peer()) && !ending_)
        tell_session_of_ends();
}

// Not the reason to have a session; it is told when there is another one.
void StepServer::tell_session_of(Rank ended) {
    untold_ends_.add(ended, ended);
    if (mesh_->connected(session_peer()))
        tell_session_of_ends();
}

void StepServer::tell_session_of_ends() {
    if (speaks_)
        untold_ends_.add_all(std::exchange(untold_elsewhere_, {}));
    RankRanges news = std::exchange(untold_ends_, {});
    news.subtract(told_ends_);
    if (news.empty())
        return;
    told_ends_.add_all(news);
    mesh_->send(session_peer(), wire::ProcessesEnded::type,
                share(wire::encode(wire::ProcessesEnded{news.take_all()})));
}

// The next one has not heard of anything.
void StepServer::on_session_lost() {
    speaks_ = false;
    untold_elsewhere_.add_all(std::exchange(told_ends_, {}));
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (untold_elsewhere_.contains(rank))
            untold_ends_.add(rank, rank);
    }
}

// An invitation may be lost with a session that ends just then, or be refused by a process that is
// making too many connections (CentralServer::on_invitation).
void StepServer::reach_central(CentralRole role, Bytes invitation, TimePoint deadline,
                               std::function<void(Result<void>)> done) {
    auto passed = [this, role, invitation, deadline, done = std::move(done)](Result<void> result) {
        if (result)
            reach_again_[static_cast<std::size_t>(role)] =
                loop_.after(invite_again, [this, role, invitation, deadline] {
                    if (ending_ || mesh_->connected(peer_of(role, step_.map.host_count())) ||
                        loop_.now() >= deadline)
                        return;
                    log_.info("the {} does not come; it is asked again", name_of(role));
                    reach_central(role, invitation, deadline, [this](Result<void> again) {
                        if (!again)
                            log_.warning("{}", again.failure().text);
                    });
                });
        done(std::move(result));
    };
    TimePoint start_after = role == CentralRole::session ? session_start_time() : loop_.now();
    backend_.reach(role, invitation, start_after, deadline, std::move(passed));
}

} // namespace pmixhost
