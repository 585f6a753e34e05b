// StepServer hears what other daemons and the central roles say, and that they have gone.
#include "server-glue/step_server.h"

#include "common/transport/invitation.h"

#include <algorithm>

namespace pmixhost {

// Decodes and hands on; what is malformed is dropped with a word in the log.
template <typename Message, typename Body> static void with(Log &log, const Bytes &payload, Body body) {
    if (auto message = wire::decode<Message>(payload))
        body(std::move(*message));
    else
        log.warning("{}", message.failure().text);
}

void StepServer::on_message(HostIndex from, std::uint8_t type, Bytes payload) {
    if (from == session_peer())
        tell_session_of_ends(); // of those that came while the connection was made
    if (from == launcher_peer())
        return on_launcher_message(type, payload);
    if (from >= step_.map.host_count())
        return on_session_message(type, payload);
    TimePoint now = loop_.now();
    switch (type) {
    case wire::CollectiveUp::type:
        with<wire::CollectiveUp>(log_, payload,
                                 [&](auto m) { collectives_.on_up(now, from, std::move(m)); });
        break;
    case wire::CollectiveDown::type: {
        auto shared = share(std::move(payload));
        with<wire::CollectiveDown>(log_, *shared,
                                   [&](auto m) { collectives_.on_down(from, std::move(m), shared); });
        break;
    }
    case wire::CollectiveProbe::type:
        with<wire::CollectiveProbe>(log_, payload, [&](auto m) { collectives_.on_probe(now, from, m); });
        break;
    case wire::ModexRequest::type:
        // A library that has forgotten the job knows nothing; who asks hears soon that this host has left.
        if (!ending_)
            with<wire::ModexRequest>(log_, payload, [&](auto m) { modex_.on_request(now, from, m); });
        break;
    case wire::ModexReply::type:
        with<wire::ModexReply>(log_, payload, [&](auto m) { modex_.on_reply(from, std::move(m)); });
        break;
    case wire::PostedByEnded::type:
        with<wire::PostedByEnded>(log_, payload, [&](const auto &m) { on_posted_by_ended(from, m); });
        break;
    case wire::PostedKept::type:
        with<wire::PostedKept>(log_, payload, [&](const auto &m) { on_posted_kept(from, m.kept != 0); });
        break;
    case wire::EventNotice::type: {
        auto shared = share(std::move(payload));
        with<wire::EventNotice>(log_, *shared,
                                [&](auto m) { events_.on_notice(from, std::move(m), shared); });
        break;
    }
    case wire::HostReport::type: {
        auto shared = share(std::move(payload));
        with<wire::HostReport>(log_, *shared,
                               [&](auto m) { events_.on_report(from, std::move(m), shared); });
        break;
    }
    case wire::OrderlyEnds::type: {
        auto shared = share(std::move(payload));
        with<wire::OrderlyEnds>(log_, *shared,
                                [&](auto m) { events_.on_ends(from, std::move(m), shared); });
        if (events_.ends_to_tell())
            report_orderly_ends_soon();
        break;
    }
    case wire::KillRanks::type:
        with<wire::KillRanks>(log_, payload, [&](auto m) { kill_ranks(m); });
        break;
    case wire::SignalRanks::type:
        with<wire::SignalRanks>(log_, payload, [&](auto m) { control_.on_request(now, from, std::move(m)); });
        break;
    case wire::SignalReply::type:
        with<wire::SignalReply>(log_, payload, [&](auto m) { control_.on_reply(from, m); });
        break;
    case wire::TableRequest::type:
        with<wire::TableRequest>(log_, payload, [&](auto m) { table_.on_request(now, from, m); });
        break;
    case wire::TableReply::type:
        with<wire::TableReply>(log_, payload, [&](auto m) { table_.on_reply(now, from, std::move(m)); });
        break;
    case wire::WantSession::type:
        mesh_->invite(session_peer());
        break;
    default:
        log_.warning("host {} sent a message of unknown type {}", from, type);
    }
    arm_timer();
}

void StepServer::on_launcher_message(std::uint8_t type, const Bytes &payload) {
    if (type == wire::SpawnReply::type)
        with<wire::SpawnReply>(log_, payload, [&](auto m) { on_spawned(std::move(m)); });
    else if (type == wire::JobEvent::type)
        with<wire::JobEvent>(log_, payload, [&](const auto &m) { on_job_event(m); });
    else
        log_.warning("the launcher sent a message of unknown type {}", type);
}

void StepServer::on_session_message(std::uint8_t type, const Bytes &payload) {
    switch (type) {
    case wire::DataReply::type:
        with<wire::DataReply>(log_, payload, [&](auto m) { publish_.on_reply(std::move(m)); });
        break;
    case wire::GatheringDone::type:
        with<wire::GatheringDone>(log_, payload, [&](auto m) { on_gathering_done(std::move(m)); });
        break;
    case wire::ModexRequest::type:
        with<wire::ModexRequest>(log_, payload, [&](const auto &m) { on_foreign_modex(m); });
        break;
    case wire::ModexReply::type:
        with<wire::ModexReply>(log_, payload,
                               [&](auto m) { modex_.on_reply(session_peer(), std::move(m)); });
        break;
    case wire::NamespaceRequest::type:
        with<wire::NamespaceRequest>(log_, payload, [&](const auto &m) { on_namespace_request(m); });
        break;
    case wire::NamespaceReply::type:
        with<wire::NamespaceReply>(log_, payload, [&](const auto &m) { namespace_asks_.on_reply(m); });
        break;
    case wire::ControlPart::type:
        with<wire::ControlPart>(
            log_, payload, [&](auto m) { control_abroad_.on_part(loop_.now(), std::move(m)); });
        break;
    case wire::ControlReply::type:
        with<wire::ControlReply>(log_, payload, [&](const auto &m) { control_abroad_.on_reply(loop_.now(), m); });
        break;
    case wire::EventAbroad::type:
        with<wire::EventAbroad>(log_, payload, [&](auto m) { events_.on_abroad(std::move(m)); });
        break;
    case wire::SpeakForStep::type:
        if (ending_)
            break; // the next one is asked
        speaks_ = true;
        tell_session_of_ends();
        break;
    default:
        log_.warning("the session sent a message of unknown type {}", type);
    }
    arm_timer();
}

void StepServer::on_host_gone(HostIndex host, Mesh::Gone how, const Error &why) {
    if (host >= step_.map.host_count()) {
        mesh_->forget(host); // the next one who wants it may have better luck
        if (!ending_)
            log_.warning("the {} of this job is gone: {}",
                         name_of(static_cast<CentralRole>(host - step_.map.host_count())), why.text);
        if (host == session_peer()) {
            on_session_lost();
            publish_.on_session_gone();
            control_abroad_.on_session_gone();
            namespace_asks_.on_session_gone();
            collectives_.on_outside_gone();
            modex_.on_host_gone(loop_.now(), host, false);
        } else {
            spawn_.on_launcher_gone();
        }
        return arm_timer();
    }
    if (how == Mesh::Gone::lost && !ending_)
        log_.warning("{} is lost: {}", step_.map.hosts()[host], why.text);
    collectives_.on_host_gone(host);
    if (how == Mesh::Gone::left)
        heirs_.left(host);
    else
        heirs_.lost(host);
    modex_.on_host_gone(loop_.now(), host, how == Mesh::Gone::left);
    if (host == asked_heir_)
        ask_heir();
    table_.on_host_gone(loop_.now(), host);
    control_.on_host_gone(host, how == Mesh::Gone::lost);
    if (how == Mesh::Gone::lost && !ending_ && mesh_->was_connected(host)) {
        wire::HostReport report;
        report.host = host;
        report.lost = 1;
        report.time = static_cast<std::uint64_t>(std::time(nullptr));
        report_abroad(report);
        events_.report_lost(host, report.time);
    }
    arm_timer();
}

} // namespace pmixhost
