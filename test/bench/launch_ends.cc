// The ends of spawned processes, told to who has spawned them (bench_launch): each host of theirs tells the session,
// which brings it to the spawner's host (events/parent_news.h, cross_job/session_relay.h).
#include "test/bench/launch.h"

#include "common/transport/invitation.h"
#include "common/wire/spawn_messages.h"
#include "server-glue/cross_job/session_relay.h"
#include "server-glue/daemon/central_server.h"

#include <pmix_common.h>

namespace pmixhost {

namespace {

constexpr HostIndex spawner_host = 0, session_host = 1, first_child = 2; // of the simulation
constexpr HostIndex spawner_hosts = 4;                                   // of the spawner's job; one is here

// As SessionServer, with the relay alone.
class Session final : private SessionPeers {
  public:
    Session(EventLoop &loop, Log &log, const Settings &settings)
        : loop_(loop), messages_(log),
          peers_(loop, log, settings, CentralRole::session,
                 [&loop](const Bytes &) { return loop.hosts.authenticator(session_host); },
                 {[this](StepId step, HostIndex host, std::uint8_t type, Bytes payload) {
                      SessionMember from{step, host, peers_.nspace_of(step)};
                      relay_.heard(loop_.now(), from);
                      messages_.hand_on(loop_.now(), from, "a step", type, std::move(payload));
                  },
                  [](StepId, HostIndex, Mesh::Gone) {}, [](StepId) {}}),
          relay_(*this) {
        relay_.take_messages(messages_);
    }
    void on_invitation(const std::string &message) { peers_.on_invitation(message); }

  private:
    std::map<Bytes, StepId> steps() const override { return peers_.connected_steps(); }
    StepId step_of(const Bytes &nspace) const override { return peers_.step_of(nspace); }
    std::vector<HostIndex> hosts_of(StepId step) const override { return peers_.connected_hosts(step); }
    Bytes nspace_of(StepId step) const override { return peers_.nspace_of(step); }
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) override {
        return peers_.send(step, host, type, std::move(payload));
    }
    std::size_t waiting_bytes(StepId, HostIndex) const override { return 0; }
    void call_steps(const std::set<Bytes> &, std::function<void(TimePoint, CalledSteps)>) override {}

    EventLoop &loop_;
    SessionMessages messages_;
    CentralServer peers_;
    SessionRelay relay_;
};

} // namespace

ScaleCosts run_child_ends(HostIndex hosts) {
    SimulatedHosts all(first_child + hosts);
    Settings settings;
    settings.transport_interfaces = {"lo"};
    Log log(2, LogLevel::error, "bench_launch");
    EventLoop session_loop(all, session_host);
    Session session(session_loop, log, settings);
    all.hosts[session_host].on_contact = [&session](const std::string &message) { session.on_invitation(message); };

    auto invites = [](kit::ContactSender &sender, std::string key, std::string nspace, HostIndex host_count) {
        return [&sender, key, nspace, host_count](HostIndex, Bytes contact, TimePoint deadline,
                                                  std::function<void(Result<void>)> done) {
            Invitation invitation;
            invitation.contact = std::move(contact);
            invitation.step_key = key;
            invitation.host_count = host_count;
            invitation.nspace = nspace;
            sender.send({"session", "", wire::encode(invitation), deadline, false}, std::move(done));
        };
    };
    struct Daemon {
        Daemon(SimulatedHosts &all, Log &log, HostIndex host)
            : loop(all, host), sender(loop, log, 64, [&all, host](const auto &, const auto &, const auto &message) {
                  return all.forward(host, session_host, message);
              }) {}
        EventLoop loop;
        kit::ContactSender sender;
        std::unique_ptr<Mesh> mesh;
        std::size_t taken = 0;
    };
    std::size_t heard = 0;
    TimePoint last{};
    Daemon spawner(all, log, spawner_host);
    const HostIndex spawner_session = peer_of(CentralRole::session, spawner_hosts);
    auto made = Mesh::create(spawner.loop, log, settings, "1000.0", 0, spawner_hosts + central_role_count,
                             all.authenticator(spawner_host),
                             {[&](HostIndex, std::uint8_t type, const Bytes &payload) {
                                  if (type != wire::ChildEnds::type)
                                      return;
                                  ++heard;
                                  last = all.now();
                                  wire::ChildEndsTaken taken{wire::decode<wire::ChildEnds>(payload)->id, PMIX_SUCCESS};
                                  spawner.mesh->send(spawner_session, taken.type, share(wire::encode(taken)));
                              },
                              [](HostIndex, Mesh::Gone, const Error &) {},
                              invites(spawner.sender, "1000.0", "slurm.1000.0", spawner_hosts)});
    spawner.mesh = std::move(*made);
    spawner.mesh->invite(spawner_session); // it is there before the children run
    all.network.run();
    TimePoint begin = all.now();

    std::vector<std::unique_ptr<Daemon>> children;
    const HostIndex children_session = peer_of(CentralRole::session, hosts);
    for (HostIndex h = 0; h < hosts; ++h) {
        children.push_back(std::make_unique<Daemon>(all, log, first_child + h));
        Daemon &daemon = *children.back();
        auto mesh = Mesh::create(
            daemon.loop, log, settings, "1000.1", h, hosts + central_role_count, all.authenticator(first_child + h),
            {[&daemon](HostIndex, std::uint8_t type, const Bytes &payload) {
                 daemon.taken +=
                     type == wire::ChildEndsTaken::type && wire::decode<wire::ChildEndsTaken>(payload)->status == 0;
             },
             [](HostIndex, Mesh::Gone, const Error &) {}, invites(daemon.sender, "1000.1", "slurm.1000.1", hosts)});
        daemon.mesh = std::move(*mesh);
        wire::ChildEnds ends;
        ends.id = 1;
        ends.nspace = "slurm.1000.0";
        ends.well = {{h, h}};
        ends.logs = 1;
        daemon.mesh->send(children_session, ends.type, share(wire::encode(ends)));
    }
    all.network.run();

    ScaleCosts result;
    for (const auto &host : all.hosts) {
        result.munge_calls = std::max(result.munge_calls, host.munge_calls);
        result.connections = std::max(result.connections, host.connections);
        result.forwards += host.forwards;
    }
    result.count(all.network, TimePoint() + (last - begin));
    std::size_t taken = 0;
    for (const auto &daemon : children)
        taken += daemon->taken == 1;
    if (heard != hosts || taken != hosts)
        result.wrong = fmt::format("{} of {} ends were told, {} hosts know it", heard, hosts, taken);
    return result;
}

} // namespace pmixhost
