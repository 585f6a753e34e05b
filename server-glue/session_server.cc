// See session_server.h.
#include "server-glue/session_server.h"

#include "common/config_options.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

static constexpr std::size_t max_relayed = 100'000;

SessionServer::SessionServer(EventLoop &loop, Log &log, const Settings &settings,
                             CentralServer::Authenticators authenticators,
                             std::function<void()> on_end, CallSteps call_steps)
    : loop_(loop), log_(log), settings_(settings), on_end_(std::move(on_end)),
      call_steps_(std::move(call_steps)),
      peers_(loop, log, settings, CentralRole::session, std::move(authenticators),
             {[this](StepId step, HostIndex from, std::uint8_t type, Bytes payload) {
                  on_message(step, from, type, payload);
              },
              [this](StepId step, HostIndex host, Mesh::Gone how) {
                  on_gone(step, host, how == Mesh::Gone::lost);
              },
              [this](StepId step) { on_step_gone(step); }}),
      store_({settings.publish_max_bytes},
             [this](std::uint64_t id, std::int32_t status, std::vector<wire::Found> found) {
                 auto node = askers_.extract(id);
                 if (!node)
                     return;
                 auto at = asking_.find({node.mapped().step, node.mapped().host});
                 at->second.erase(id);
                 if (at->second.empty())
                     asking_.erase(at);
                 reply(node.mapped(), status, std::move(found));
             }),
      gatherings_([this](const Gatherings::Member &member, wire::GatheringDone done) {
          on_gathering_done(member, done);
          peers_.send(member.step, member.host, wire::GatheringDone::type, share(wire::encode(done)));
      }),
      events_(*this, {settings.events_keep, SessionEvents::Limits{}.bytes, settings.events_keep_time}) {
    arm_idle();
}

// Who is connected hears of the other's misfortunes.
void SessionServer::on_gathering_done(const Gatherings::Member &member, const wire::GatheringDone &done) {
    auto signature = wire::decode<Signature>(done.signature);
    if (done.status != PMIX_SUCCESS || !signature)
        return;
    Bytes nspace = peers_.nspace_of(member.step);
    for (const auto &part : done.parts) {
        if (signature->kind == CollectiveKind::connect)
            events_.connected(nspace, part.info.nspace);
        else if (signature->kind == CollectiveKind::disconnect)
            events_.disconnected(nspace, part.info.nspace);
    }
}

void SessionServer::dropped(const Bytes &nspace) {
    if (slow_.insert(nspace).second)
        log_.warning("{} does not take its events: some are lost", printable(nspace));
}

template <typename Message, typename Body> static void with(Log &log, const Bytes &payload, Body body) {
    if (auto message = wire::decode<Message>(payload))
        body(*message);
    else
        log.warning("{}", message.failure().text);
}

void SessionServer::on_message(StepId step, HostIndex from, std::uint8_t type, const Bytes &payload) {
    TimePoint now = loop_.now();
    Bytes nspace = peers_.nspace_of(step);
    events_.heard(now, step, nspace, from);
    control_.heard(now, nspace);
    switch (type) {
    case wire::PublishRequest::type:
        with<wire::PublishRequest>(log_, payload, [&](const auto &m) {
            host_names_[{step, from}] = m.host;
            reply({step, from, m.id}, store_.publish({nspace, m.rank, m.host, m.uid, m.gid}, m), {});
        });
        break;
    case wire::LookupRequest::type:
        with<wire::LookupRequest>(log_, payload, [&](const auto &m) {
            TimePoint deadline = m.timeout_ms == 0 ? TimePoint::max()
                                                   : now + std::chrono::milliseconds(m.timeout_ms);
            std::uint64_t id = next_id_++;
            host_names_[{step, from}] = m.host;
            asking_[{step, from}].insert(id);
            askers_.emplace(id, Asker{step, from, m.id});
            store_.lookup(id, {nspace, m.rank, m.host, m.uid}, m, deadline);
        });
        break;
    case wire::UnpublishRequest::type:
        with<wire::UnpublishRequest>(log_, payload, [&](const auto &m) {
            reply({step, from, m.id}, store_.unpublish({nspace, m.rank, {}}, m), {});
        });
        break;
    case wire::ProcessesEnded::type:
        with<wire::ProcessesEnded>(log_, payload, [&](const auto &m) {
            store_.on_processes_ended(nspace, m.ranks);
            gatherings_.on_processes_ended(nspace, m.ranks);
        });
        break;
    case wire::NamespaceEnded::type:
        with<wire::NamespaceEnded>(log_, payload, [&](const auto &m) {
            if (peers_.step_of(m.nspace) == 0) // of one that is here, its own end is heard
                gatherings_.on_step_gone(0, m.nspace);
        });
        break;
    case wire::GatheringJoin::type:
        with<wire::GatheringJoin>(log_, payload, [&](const auto &m) {
            if (m.part.info.nspace != nspace)
                return log_.warning("{} speaks for another namespace", printable(nspace));
            auto joined = gatherings_.join({step, from}, m);
            if (joined)
                return;
            log_.warning("{}: {}", printable(nspace), joined.failure().text);
            wire::GatheringDone done;
            done.signature = m.signature;
            done.sequence = m.sequence;
            done.status = joined.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE
                                                                     : PMIX_ERR_BAD_PARAM;
            peers_.send(step, from, wire::GatheringDone::type, share(wire::encode(done)));
        });
        break;
    case wire::ModexRequest::type:
        with<wire::ModexRequest>(log_, payload, [&](const auto &m) { relay(step, from, m); });
        break;
    case wire::ModexReply::type:
        with<wire::ModexReply>(log_, payload, [&](const auto &m) { relay_back(step, m); });
        break;
    case wire::EventAbroad::type:
        with<wire::EventAbroad>(log_, payload, [&](const auto &m) { events_.on_event(now, step, m); });
        break;
    case wire::ControlRequest::type:
        with<wire::ControlRequest>(log_, payload,
                                   [&](auto &m) { control_.on_request(now, step, from, std::move(m)); });
        break;
    case wire::ControlCancel::type:
        with<wire::ControlCancel>(log_, payload,
                                  [&](const auto &m) { control_.on_cancel(step, from, m); });
        break;
    case wire::ControlPartReply::type:
        with<wire::ControlPartReply>(log_, payload,
                                     [&](const auto &m) { control_.on_reply(now, step, from, m); });
        break;
    case wire::HearEvents::type:
        break; // it has been heard
    default:
        log_.warning("{} sent a message of unknown type {}", printable(nspace), type);
    }
    arm_timer();
}

void SessionServer::reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found) {
    wire::DataReply message{asker.id, status, std::move(found)};
    peers_.send(asker.step, asker.host, wire::DataReply::type, share(wire::encode(message)));
}

// Who asks waits as long as it likes; this side only forgets in time.
void SessionServer::relay(StepId step, HostIndex from, const wire::ModexRequest &message) {
    auto refuse = [&](std::int32_t status) {
        wire::ModexReply reply;
        reply.id = message.id;
        reply.status = status;
        peers_.send(step, from, wire::ModexReply::type, share(wire::encode(reply)));
    };
    StepId asked = peers_.step_of(message.nspace);
    auto hosts = peers_.connected_hosts(asked);
    if (hosts.empty())
        return refuse(PMIX_ERR_LOST_CONNECTION);
    if (relayed_.size() >= max_relayed)
        return refuse(PMIX_ERR_OUT_OF_RESOURCE);
    std::uint64_t id = next_id_++;
    TimePoint deadline = message.timeout_ms == UINT32_MAX
                             ? TimePoint::max()
                             : loop_.now() + std::chrono::milliseconds(message.timeout_ms);
    HostIndex host = hosts[message.rank % hosts.size()]; // any knows the way: the load is spread
    relayed_.emplace(id, Relayed{{step, from, message.id}, asked, host, deadline});
    wire::ModexRequest onward = message;
    onward.id = id;
    peers_.send(asked, host, wire::ModexRequest::type, share(wire::encode(onward)));
}

void SessionServer::relay_back(StepId step, wire::ModexReply message) {
    auto found = relayed_.find(message.id);
    if (found == relayed_.end() || found->second.asked != step)
        return;
    Asker asker = found->second.asker;
    relayed_.erase(found);
    message.id = asker.id;
    peers_.send(asker.step, asker.host, wire::ModexReply::type, share(wire::encode(message)));
}

void SessionServer::call_steps(const std::set<Bytes> &known,
                               std::function<void(TimePoint, CalledSteps)> done) {
    call_steps_(known, [this, done = std::move(done)](CalledSteps called) {
        done(loop_.now(), std::move(called));
        arm_timer();
    });
}

void SessionServer::on_gone(StepId step, HostIndex host, bool lost) {
    control_.on_host_gone(loop_.now(), step, host, lost);
    gatherings_.on_member_gone({step, host});
    events_.on_host_gone(step, host, peers_.connected_hosts(step));
    std::erase_if(relayed_, [&](const auto &entry) {
        return entry.second.asker.step == step && entry.second.asker.host == host;
    });
    std::vector<std::uint64_t> broken;
    for (const auto &[id, relayed] : relayed_) {
        if (relayed.asked == step && relayed.asked_host == host)
            broken.push_back(id);
    }
    for (std::uint64_t id : broken) {
        wire::ModexReply reply;
        reply.id = id;
        reply.status = PMIX_ERR_LOST_CONNECTION;
        relay_back(step, std::move(reply));
    }
    forget_askers(step, host);
    // Whether it left or was lost, no more of its processes will be heard of.
    if (auto name = host_names_.extract({step, host}))
        store_.on_host_ended(peers_.nspace_of(step), name.mapped());
    arm_timer();
}

void SessionServer::forget_askers(StepId step, HostIndex host) {
    auto node = asking_.extract({step, host});
    if (!node)
        return;
    for (std::uint64_t id : node.mapped()) {
        store_.cancel(id);
        askers_.erase(id);
    }
}

void SessionServer::on_step_gone(StepId step) {
    Bytes nspace = peers_.nspace_of(step);
    store_.on_nspace_ended(nspace);
    gatherings_.on_step_gone(step, nspace);
    events_.on_step_gone(step);
    control_.on_step_gone(loop_.now(), step);
    slow_.erase(nspace);
    // Hosts that went with the last one: on_gone was not called for each.
    for (auto at = asking_.lower_bound({step, 0}); at != asking_.end() && at->first.first == step;) {
        HostIndex host = at++->first.second;
        forget_askers(step, host);
    }
    for (auto at = host_names_.lower_bound({step, 0});
         at != host_names_.end() && at->first.first == step;)
        at = host_names_.erase(at);
    std::erase_if(relayed_, [&](const auto &entry) { return entry.second.asker.step == step; });
    std::vector<Relayed> lost;
    for (auto at = relayed_.begin(); at != relayed_.end();) {
        auto now = at++;
        if (now->second.asked != step)
            continue;
        lost.push_back(now->second);
        relayed_.erase(now);
    }
    for (const auto &relayed : lost) {
        wire::ModexReply reply;
        reply.id = relayed.asker.id;
        reply.status = PMIX_ERR_LOST_CONNECTION;
        peers_.send(relayed.asker.step, relayed.asker.host, wire::ModexReply::type,
                    share(wire::encode(reply)));
    }
    arm_timer();
    arm_idle();
}

void SessionServer::arm_timer() {
    timer_.arm(std::min({store_.next_time(), events_.next_time(), control_.next_time()}));
}

void SessionServer::arm_idle() {
    idle_ = loop_.after(settings_.session_idle, [this] {
        std::erase_if(relayed_,
                      [now = loop_.now()](const auto &entry) { return entry.second.deadline < now; });
        if (peers_.idle() && store_.bytes() == 0 && events_.empty())
            return on_end_();
        arm_idle();
    });
}

} // namespace pmixhost
