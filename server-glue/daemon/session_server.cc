// See session_server.h.
#include "server-glue/daemon/session_server.h"

#include "common/text/printable.h"
#include "common/wire/debug_messages.h"
#include "common/wire/iof_messages.h"
#include "common/wire/spawn_messages.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

static constexpr std::size_t max_relayed = 100'000;
// An asker waits for a namespace as long as it likes, but no step is looked for longer than this.
static constexpr auto find_patience = std::chrono::seconds(30);

static TimePoint deadline_of(TimePoint now, std::uint32_t timeout_ms) {
    return timeout_ms == UINT32_MAX ? TimePoint::max() : now + std::chrono::milliseconds(timeout_ms);
}

SessionServer::SessionServer(EventLoop &loop, Log &log, const Settings &settings,
                             CentralServer::Authenticators authenticators, std::function<void()> on_end,
                             CallSteps call_steps)
    : loop_(loop), log_(log), settings_(settings), on_end_(std::move(on_end)), call_steps_(std::move(call_steps)),
      peers_(loop, log, settings, CentralRole::session, std::move(authenticators),
             {[this](StepId step, HostIndex from, std::uint8_t type, Bytes payload) {
                  on_message(step, from, type, payload);
              },
              [this](StepId step, HostIndex host, Mesh::Gone how) { on_gone(step, host, how == Mesh::Gone::lost); },
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
      collectives_([this](const SessionCollectives::Member &member, wire::SessionCollectiveDone done) {
          on_session_collective_done(member, done);
          peers_.send(member.step, member.host, wire::SessionCollectiveDone::type, share(wire::encode(done)));
      }),
      events_(*this, {settings.events_keep, SessionEvents::Limits{}.bytes, settings.events_keep_time}),
      finder_({[this](const Bytes &nspace) { return !peers_.connected_hosts(peers_.step_of(nspace)).empty(); },
               [this](std::function<void(TimePoint, CalledSteps)> done) {
                   std::set<Bytes> known;
                   for (const auto &[nspace, step] : peers_.connected_steps())
                       known.insert(nspace);
                   SessionControlPort &port = *this;
                   port.call_steps(known, std::move(done));
               }}) {
    arm_idle();
}

// Namespaces that are connected hear of each other's misfortunes.
void SessionServer::on_session_collective_done(const SessionCollectives::Member &member,
                                               const wire::SessionCollectiveDone &done) {
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

// What steps ask each other, and what answers it.
template <typename Request> struct ReplyOf;
template <> struct ReplyOf<wire::ModexRequest> { using Type = wire::ModexReply; };
template <> struct ReplyOf<wire::NamespaceRequest> { using Type = wire::NamespaceReply; };
template <> struct ReplyOf<wire::JobTableRequest> { using Type = wire::JobTableReply; };
template <> struct ReplyOf<wire::JobEndRequest> { using Type = wire::JobEndReply; };
template <> struct ReplyOf<wire::ForwardedOutput> { using Type = wire::ForwardedOutputTaken; };
template <> struct ReplyOf<wire::ChildEnds> { using Type = wire::ChildEndsTaken; };
template <> struct ReplyOf<wire::ForwardedInput> { using Type = wire::ForwardedInputTaken; };

// What is forwarded waits for people and programs, and so does who waits for the end of a job; they may take any time.
template <typename Request>
constexpr bool waits_for_any_time =
    std::is_same_v<Request, wire::JobEndRequest> || std::is_same_v<Request, wire::ForwardedOutput> ||
    std::is_same_v<Request, wire::ForwardedInput>;

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
    finder_.heard(nspace);
    switch (type) {
    case wire::PublishRequest::type:
        with<wire::PublishRequest>(log_, payload, [&](const auto &m) {
            host_names_[{step, from}] = m.host;
            reply({step, from, m.id}, store_.publish({nspace, m.rank, m.host, m.uid, m.gid}, m), {});
        });
        break;
    case wire::LookupRequest::type:
        with<wire::LookupRequest>(log_, payload, [&](const auto &m) {
            TimePoint deadline = m.timeout_ms == 0 ? TimePoint::max() : now + std::chrono::milliseconds(m.timeout_ms);
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
            collectives_.on_processes_ended(nspace, m.ranks);
        });
        break;
    case wire::NamespaceEnded::type:
        with<wire::NamespaceEnded>(log_, payload, [&](const auto &m) {
            if (peers_.step_of(m.nspace) == 0) // of one that is here, its own end is heard
                collectives_.on_step_gone(0, m.nspace);
        });
        break;
    case wire::SessionCollectiveJoin::type:
        with<wire::SessionCollectiveJoin>(log_, payload, [&](const auto &m) {
            if (m.part.info.nspace != nspace)
                return log_.warning("{} speaks for another namespace", printable(nspace));
            auto joined = collectives_.join({step, from}, m);
            if (joined)
                return;
            log_.warning("{}: {}", printable(nspace), joined.failure().text);
            wire::SessionCollectiveDone done;
            done.signature = m.signature;
            done.sequence = m.sequence;
            done.status = joined.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_BAD_PARAM;
            peers_.send(step, from, wire::SessionCollectiveDone::type, share(wire::encode(done)));
        });
        break;
    case wire::ModexRequest::type:
        with<wire::ModexRequest>(log_, payload, [&](const auto &m) { relay(step, from, m); });
        break;
    case wire::ModexReply::type:
        with<wire::ModexReply>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::NamespaceRequest::type:
        with<wire::NamespaceRequest>(log_, payload, [&](const auto &m) { relay(step, from, m); });
        break;
    case wire::NamespaceReply::type:
        with<wire::NamespaceReply>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::JobTableRequest::type:
        with<wire::JobTableRequest>(log_, payload, [&](const auto &m) { relay(step, from, m); });
        break;
    case wire::JobTableReply::type:
        with<wire::JobTableReply>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::JobEndRequest::type:
        with<wire::JobEndRequest>(log_, payload, [&](const auto &m) { relay(step, from, m); });
        break;
    case wire::JobEndReply::type:
        with<wire::JobEndReply>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::ForwardedOutput::type:
        with<wire::ForwardedOutput>(log_, payload, [&](auto &m) { relay(step, from, std::move(m)); });
        break;
    case wire::ForwardedOutputTaken::type:
        with<wire::ForwardedOutputTaken>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::ForwardedInput::type:
        with<wire::ForwardedInput>(log_, payload, [&](auto &m) { relay(step, from, std::move(m)); });
        break;
    case wire::ForwardedInputTaken::type:
        with<wire::ForwardedInputTaken>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::ChildEnds::type:
        with<wire::ChildEnds>(log_, payload, [&](auto &m) { relay(step, from, std::move(m)); });
        break;
    case wire::ChildEndsTaken::type:
        with<wire::ChildEndsTaken>(log_, payload, [&](auto &m) { relay_back(step, std::move(m)); });
        break;
    case wire::CrossJobEvent::type:
        with<wire::CrossJobEvent>(log_, payload, [&](const auto &m) { events_.on_event(now, step, m); });
        break;
    case wire::ControlRequest::type:
        with<wire::ControlRequest>(log_, payload, [&](auto &m) { control_.on_request(now, step, from, std::move(m)); });
        break;
    case wire::ControlCancel::type:
        with<wire::ControlCancel>(log_, payload, [&](const auto &m) { control_.on_cancel(step, from, m); });
        break;
    case wire::ControlPartReply::type:
        with<wire::ControlPartReply>(log_, payload, [&](const auto &m) { control_.on_reply(now, step, from, m); });
        break;
    case wire::SubscribeEvents::type:
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

template <typename Reply> static Bytes refusal_of(std::uint64_t id, std::int32_t status) {
    Reply reply;
    reply.id = id;
    reply.status = status;
    return wire::encode(reply);
}

// The answer to a question that cannot be put, or not be answered.
void SessionServer::refuse(const Relayed &relayed, std::int32_t status) {
    const Asker &asker = relayed.asker;
    peers_.send(asker.step, asker.host, relayed.reply_type, share(relayed.refusal(asker.id, status)));
}

// The step may have to be called first.
template <typename Request> void SessionServer::relay(StepId step, HostIndex from, Request message) {
    using Reply = typename ReplyOf<Request>::Type;
    TimePoint deadline = loop_.now() + find_patience;
    if constexpr (requires { message.timeout_ms; })
        deadline = deadline_of(loop_.now(), message.timeout_ms);
    if constexpr (requires { message.source; })
        message.source = peers_.nspace_of(step);
    finder_.find(loop_.now(), message.nspace, deadline, [this, step, from, message, deadline](StepFinder::Where where) {
        TimePoint kept_until = waits_for_any_time<Request> ? TimePoint::max() : deadline;
        Relayed relayed{Reply::type, refusal_of<Reply>, {step, from, message.id}, 0, 0, kept_until};
        // Who waits for the end of a job must not take a job that is out of reach for one that is over.
        bool in_doubt = std::is_same_v<Request, wire::JobEndRequest> && where == StepFinder::Where::unknown;
        if (where != StepFinder::Where::here)
            return refuse(relayed, in_doubt ? PMIX_ERR_UNREACH : PMIX_ERR_NOT_FOUND);
        relay(std::move(relayed), message);
    });
}

// The asker waits as long as it likes; this side only forgets in time.
template <typename Request> void SessionServer::relay(Relayed relayed, Request message) {
    relayed.asked = peers_.step_of(message.nspace);
    auto hosts = peers_.connected_hosts(relayed.asked);
    if (hosts.empty())
        return refuse(relayed, PMIX_ERR_LOST_CONNECTION);
    if (relayed_.size() >= max_relayed)
        return refuse(relayed, PMIX_ERR_OUT_OF_RESOURCE);
    message.id = next_id_++;
    // Any knows the way, and the load is spread; but a table is gathered once for all who ask the same host.
    bool gathers = std::is_same_v<Request, wire::JobTableRequest>;
    relayed.asked_host = gathers ? hosts.front() : hosts[message.id % hosts.size()];
    if constexpr (requires { message.host; }) {
        if (std::find(hosts.begin(), hosts.end(), message.host) == hosts.end())
            return refuse(relayed, PMIX_ERR_NOT_FOUND); // it has gone, or is still to come
        relayed.asked_host = message.host;
    }
    peers_.send(relayed.asked, relayed.asked_host, Request::type, share(wire::encode(message)));
    relayed_.emplace(message.id, relayed);
}

template <typename Reply> void SessionServer::relay_back(StepId step, Reply message) {
    auto found = relayed_.find(message.id);
    if (found == relayed_.end() || found->second.asked != step || found->second.reply_type != Reply::type)
        return;
    Asker asker = found->second.asker;
    relayed_.erase(found);
    message.id = asker.id;
    peers_.send(asker.step, asker.host, Reply::type, share(wire::encode(message)));
}

void SessionServer::call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) {
    call_steps_(known, [this, done = std::move(done)](CalledSteps called) {
        done(loop_.now(), std::move(called));
        arm_timer();
    });
}

void SessionServer::on_gone(StepId step, HostIndex host, bool lost) {
    control_.on_host_gone(loop_.now(), step, host, lost);
    collectives_.on_member_gone({step, host});
    events_.on_host_gone(step, host, peers_.connected_hosts(step));
    std::erase_if(relayed_, [&](const auto &entry) {
        return entry.second.asker.step == step && entry.second.asker.host == host;
    });
    std::vector<std::uint64_t> broken;
    for (const auto &[id, relayed] : relayed_) {
        if (relayed.asked == step && relayed.asked_host == host)
            broken.push_back(id);
    }
    for (std::uint64_t id : broken)
        refuse(relayed_.extract(id).mapped(), PMIX_ERR_LOST_CONNECTION);
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
    collectives_.on_step_gone(step, nspace);
    events_.on_step_gone(loop_.now(), step);
    control_.on_step_gone(loop_.now(), step);
    slow_.erase(nspace);
    // Hosts that went with the last one: on_gone was not called for each.
    for (auto at = asking_.lower_bound({step, 0}); at != asking_.end() && at->first.first == step;) {
        HostIndex host = at++->first.second;
        forget_askers(step, host);
    }
    for (auto at = host_names_.lower_bound({step, 0}); at != host_names_.end() && at->first.first == step;)
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
    for (const auto &relayed : lost)
        refuse(relayed, PMIX_ERR_LOST_CONNECTION);
    arm_timer();
    arm_idle();
}

void SessionServer::arm_timer() {
    timer_.arm(std::min({store_.next_time(), events_.next_time(), control_.next_time(), finder_.next_time()}));
}

void SessionServer::arm_idle() {
    idle_ = loop_.after(settings_.session_idle, [this] {
        std::erase_if(relayed_, [now = loop_.now()](const auto &entry) { return entry.second.deadline < now; });
        if (peers_.idle() && store_.bytes() == 0 && events_.empty())
            return on_end_();
        arm_idle();
    });
}

} // namespace pmixhost
