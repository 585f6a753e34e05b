// PMIx_Connect of two jobs on a simulated network (bench_scale): each has half of the hosts, and the session is a
// process of one host more.
#include "server-glue/collective/collective.h"
#include "server-glue/collective/session_collective.h"

#include "common/job/rank_runs.h"
#include "test/bench/scale.h"
#include "test/bench/scale_take.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

namespace pmixhost {

namespace {

constexpr Rank ranks_of_host = 128;
constexpr HostIndex jobs = 2;

class World;

struct Host final : FakeHosts, CollectivePort {
    World *world = nullptr;
    HostIndex job = 0, self = 0; // within its job
    std::unique_ptr<Collectives> collectives;
    std::size_t answers = 0;
    std::int32_t status = PMIX_ERR_TIMEOUT;
    std::size_t contributions = 0;

    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    void take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload);
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override;
    bool local_member_gone(const Signature &) override { return false; }
    bool spans_jobs(const Signature &) override { return true; }
    void join_cross_job(const Bytes &key, std::uint64_t sequence, const std::vector<wire::Contribution> &all) override;
};

class World {
  public:
    World(HostIndex hosts_of_job, std::uint32_t radix)
        : size(hosts_of_job),
          network(jobs * size + 1, [this](HostIndex to, HostIndex from, std::uint8_t type,
                                          const SharedBytes &payload) { take(to, from, type, payload); }),
          hosts(jobs * size),
          session([this](const SessionCollectives::Member &member, const wire::SessionCollectiveDone &done) {
              network.send(jobs * size, static_cast<HostIndex>(member.step) * size + member.host,
                           wire::SessionCollectiveDone::type, share(wire::encode(done)));
          }) {
        for (HostIndex h = 0; h < size; ++h)
            everybody.push_back(h);
        for (HostIndex h = 0; h < jobs * size; ++h) {
            Host &host = hosts[h];
            host.world = this;
            host.job = h / size;
            host.self = h % size;
            host.collectives = std::make_unique<Collectives>(host, host, host.self, radix);
        }
    }
    static Bytes name_of(HostIndex job) { return fmt::format("slurm.{}.0", 1000 + job); }
    wire::NamespaceInfo describe(HostIndex job) const {
        wire::NamespaceInfo info;
        info.nspace = name_of(job);
        for (HostIndex h = 0; h < size; ++h)
            info.hosts.push_back({fmt::format("node{:05}", h), {{h * ranks_of_host, ranks_of_host, 1}}});
        return info;
    }

    const HostIndex size;
    SimulatedNetwork network;
    std::vector<Host> hosts;
    std::vector<HostIndex> everybody;
    SessionCollectives session;
    TimePoint last_answer{};

  private:
    void take(HostIndex to, HostIndex from, std::uint8_t type, const SharedBytes &payload) {
        if (to < jobs * size)
            return hosts[to].take(network.now(), from, type, payload);
        bool taken =
            session.join({from / size, from % size}, *wire::decode<wire::SessionCollectiveJoin>(*payload)).ok();
        assert_true(taken);
    }
};

bool Host::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    world->network.send(job * world->size + self, job * world->size + to, type, std::move(payload));
    return true;
}

Result<std::vector<HostIndex>> Host::hosts_of(const Signature &) {
    return world->everybody;
}

// As StepCollectives does.
void Host::join_cross_job(const Bytes &key, std::uint64_t sequence, const std::vector<wire::Contribution> &all) {
    wire::SessionCollectiveJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.part.info = world->describe(job);
    for (const auto &one : all)
        join.part.data += one.data;
    world->network.send(job * world->size + self, jobs * world->size, wire::SessionCollectiveJoin::type,
                        share(wire::encode(join)));
}

void Host::take(TimePoint now, HostIndex sender, std::uint8_t type, const SharedBytes &payload) {
    if (take_collective(*collectives, now, sender % world->size, type, payload))
        return;
    auto done = *wire::decode<wire::SessionCollectiveDone>(*payload);
    std::vector<wire::Contribution> parts;
    for (const auto &part : done.parts)
        parts.push_back({no_host, wire::encode(part)});
    collectives->cross_job_done(done.signature, done.sequence, done.status, std::move(parts));
}

} // namespace

ScaleCosts run_connect(const ConnectCase &one, HostIndex hosts) {
    World world(hosts / jobs, one.radix);
    auto signature = *canonical(CollectiveKind::connect, {{World::name_of(0), 0, true}, {World::name_of(1), 0, true}},
                                [&](const Bytes &) { return world.size * ranks_of_host; });
    for (auto &host : world.hosts)
        host.collectives->enter({}, signature, Bytes(one.bytes, 'x'), PMIX_SUCCESS, TimePoint::max(),
                                {[&world, &host](std::int32_t status, const Contributions &all) {
                                     host.status = status;
                                     ++host.answers;
                                     host.contributions = all ? all->size() : 0;
                                     world.last_answer = world.network.now();
                                 },
                                 PMIX_ERROR, nullptr});
    // A host that waits for the other job asks its children, so the clock's timers are looked at as well.
    world.network.run(
        [&world] {
            TimePoint timer = TimePoint::max();
            for (const auto &host : world.hosts)
                timer = std::min(timer, host.collectives->next_time());
            return timer;
        },
        [&world](TimePoint now) {
            for (auto &host : world.hosts)
                host.collectives->on_time(now);
        },
        Collectives::probe_after);
    ScaleCosts result;
    result.count(world.network, world.last_answer);
    for (const auto &host : world.hosts) {
        if (host.answers != 1 || host.status != PMIX_SUCCESS || host.contributions != jobs - 1)
            result.wrong = fmt::format("host {} of job {} got {} answers, the last {} with {} contributions", host.self,
                                       host.job, host.answers, host.status, host.contributions);
    }
    // Up, to the session, from it, and down.
    std::uint32_t levels = tree_levels(world.size, one.radix);
    std::size_t described = wire::encode(world.describe(0)).size() + (2 * one.bytes + 16) * world.size;
    bool in_pieces = Collectives::PieceSizes().cut(described, std::min(one.radix, world.size - 1));
    if (!in_pieces && result.rounds > 2 * (levels - 1) + 2)
        result.wrong = fmt::format("{} rounds for {} levels", result.rounds, levels);
    return result;
}

} // namespace pmixhost
