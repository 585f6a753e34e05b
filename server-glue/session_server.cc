// See session_server.h.
#include "server-glue/session_server.h"

#include "common/config_options.h"

namespace pmixhost {

SessionServer::SessionServer(EventLoop &loop, Log &log, const Settings &settings,
                             CentralServer::Authenticators authenticators,
                             std::function<void()> on_end)
    : loop_(loop), log_(log), settings_(settings), on_end_(std::move(on_end)),
      peers_(loop, log, settings, CentralRole::session, std::move(authenticators),
             {[this](StepId step, HostIndex from, std::uint8_t type, Bytes payload) {
                  on_message(step, from, type, payload);
              },
              [this](StepId step, HostIndex host, Mesh::Gone) { on_gone(step, host); },
              [this](StepId step) { on_step_gone(step); }}),
      store_({settings.publish_max_bytes},
             [this](std::uint64_t id, std::int32_t status, std::vector<wire::Found> found) {
                 if (auto node = askers_.extract(id))
                     reply(node.mapped(), status, std::move(found));
             }) {
    arm_idle();
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
    switch (type) {
    case wire::PublishRequest::type:
        with<wire::PublishRequest>(log_, payload, [&](const auto &m) {
            reply({step, from, m.id}, store_.publish({nspace, m.rank, m.host}, m), {});
        });
        break;
    case wire::LookupRequest::type:
        with<wire::LookupRequest>(log_, payload, [&](const auto &m) {
            TimePoint deadline = m.timeout_ms == 0 ? TimePoint::max()
                                                   : now + std::chrono::milliseconds(m.timeout_ms);
            std::uint64_t id = next_id_++;
            askers_.emplace(id, Asker{step, from, m.id});
            store_.lookup(id, {nspace, m.rank, m.host}, m, deadline);
        });
        break;
    case wire::UnpublishRequest::type:
        with<wire::UnpublishRequest>(log_, payload, [&](const auto &m) {
            reply({step, from, m.id}, store_.unpublish({nspace, m.rank, {}}, m), {});
        });
        break;
    case wire::ProcessEnded::type:
        with<wire::ProcessEnded>(log_, payload,
                                 [&](const auto &m) { store_.on_process_ended(nspace, m.rank); });
        break;
    default:
        log_.warning("{} sent a message of unknown type {}", printable(nspace), type);
    }
    arm_timer();
}

void SessionServer::reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found) {
    wire::DataReply message{asker.id, status, std::move(found)};
    peers_.send(asker.step, asker.host, wire::DataReply::type, share(wire::encode(message)));
}

void SessionServer::on_gone(StepId step, HostIndex host) {
    for (auto at = askers_.begin(); at != askers_.end();) {
        auto now = at++;
        if (now->second.step == step && now->second.host == host) {
            store_.cancel(now->first);
            askers_.erase(now);
        }
    }
    arm_timer();
}

void SessionServer::on_step_gone(StepId step) {
    store_.on_nspace_ended(peers_.nspace_of(step));
    arm_timer();
    arm_idle();
}

void SessionServer::arm_timer() {
    TimePoint next = store_.next_time();
    if (next == timer_at_)
        return;
    timer_at_ = next;
    if (next == TimePoint::max())
        return timer_.reset();
    timer_ = loop_.after(next - loop_.now(), [this] {
        timer_at_ = TimePoint::max();
        store_.on_time(loop_.now());
        arm_timer();
    });
}

void SessionServer::arm_idle() {
    idle_ = loop_.after(settings_.session_idle, [this] {
        if (peers_.idle() && store_.bytes() == 0)
            return on_end_();
        arm_idle();
    });
}

} // namespace pmixhost
