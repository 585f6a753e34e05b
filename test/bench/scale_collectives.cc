// Collectives on a simulated network (bench_scale).
#include "server-glue/collective/collective.h"

#include "test/bench/scale.h"
#include "test/bench/scale_take.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

namespace pmixhost {

namespace {

class World;

struct Host final : FakeHosts, CollectivePort {
    World *world = nullptr;
    HostIndex self = 0;
    std::unique_ptr<Collectives> collectives;
    std::size_t answers = 0;
    std::int32_t status = PMIX_ERR_TIMEOUT;
    bool dead = false; // its process
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    void take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload);
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override;
    bool local_member_gone(const Signature &) override { return dead; }
};

class World {
  public:
    World(HostIndex size, std::uint32_t radix)
        : network(size, [this](HostIndex to, HostIndex from, std::uint8_t type,
                               const SharedBytes &payload) { hosts[to].take(network.now(), from, type, payload); }),
          hosts(size) {
        for (HostIndex h = 0; h < size; ++h) {
            everybody.push_back(h);
            hosts[h].world = this;
            hosts[h].self = h;
            hosts[h].collectives = std::make_unique<Collectives>(hosts[h], hosts[h], h, radix);
        }
    }
    void enter(Host &host, const Signature &signature, std::size_t bytes) {
        host.collectives->enter(network.now(), signature, Bytes(bytes, 'x'), PMIX_SUCCESS, TimePoint::max(),
                                {[this, &host, bytes](std::int32_t status, Contributions all) {
                                     host.status = status;
                                     ++host.answers;
                                     last_answer = network.now();
                                     whole = whole &&
                                             (status != PMIX_SUCCESS || all->size() == (bytes > 0 ? hosts.size() : 0));
                                 },
                                 PMIX_ERROR, nullptr});
    }
    void run() {
        network.run([this] { return earliest_timer(); },
                    [this](TimePoint now) {
                        for (auto &host : hosts)
                            host.collectives->on_time(now);
                    },
                    Collectives::probe_after);
    }

    SimulatedNetwork network;
    std::vector<Host> hosts;
    std::vector<HostIndex> everybody;
    TimePoint last_answer{};
    bool whole = true; // everyone's contribution came with each success

  private:
    TimePoint earliest_timer() const {
        TimePoint timer = TimePoint::max();
        for (const auto &host : hosts)
            timer = std::min(timer, host.collectives->next_time());
        return timer;
    }
};

bool Host::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    if (gone.contains(to))
        return false;
    world->network.send(self, to, type, std::move(payload));
    return true;
}
Result<std::vector<HostIndex>> Host::hosts_of(const Signature &) {
    return world->everybody;
}

void Host::take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload) {
    take_collective(*collectives, now, from, type, payload);
}

} // namespace

ScaleCosts run_collective(const CollectiveCase &one, HostIndex hosts) {
    World world(hosts, one.radix);
    auto signature = *canonical(CollectiveKind::fence, {{"job", 0, true}}, [&](const Bytes &) { return hosts; });
    HostIndex victim = hosts - 1;
    for (auto &host : world.hosts) {
        if (one.slow && host.self % 100 == 1)
            world.network.hosts[host.self].work_of_one = 100 * SimulatedNetwork::work;
        if (one.dead && host.self == victim)
            host.dead = true;
        else if (!one.lost_host || host.self != victim)
            world.enter(host, signature, one.bytes);
    }
    if (one.lost_host) {
        for (auto &host : world.hosts) {
            if (host.self == victim)
                continue;
            host.gone.insert(victim);
            host.collectives->on_host_gone({}, victim);
        }
    }
    world.run();
    ScaleCosts result;
    result.count(world.network, world.last_answer);
    for (auto &host : world.hosts) {
        bool entered = host.self != victim || !(one.dead || one.lost_host);
        if (entered && (host.answers != 1 || host.status != one.status))
            result.wrong = fmt::format("host {} got {} answers, the last {}", host.self, host.answers, host.status);
    }
    std::uint32_t levels = tree_levels(hosts, one.radix);
    if (!world.whole)
        result.wrong = "a success without everyone's data";
    std::size_t total = (one.bytes + 8) * hosts;
    bool in_pieces = Collectives::PieceSizes().cut(total, std::min(one.radix, hosts - 1));
    if (one.status == PMIX_SUCCESS && !in_pieces && result.rounds > 2 * (levels - 1))
        result.wrong = fmt::format("{} rounds for {} levels", result.rounds, levels);
    if (one.bytes == 0 && result.bytes_out > std::size_t{100} * (one.radix + 2))
        result.wrong = "a barrier's bytes grow";
    if (one.status == PMIX_SUCCESS && !in_pieces && result.all_messages > 2 * (hosts - 1))
        result.wrong = "more than one message up and one down for a host";
    // Twice down, and what a subtree sends up.
    if (one.status == PMIX_SUCCESS && in_pieces && result.bytes_out > 3 * total + 65'536)
        result.wrong = "a host sends more than its part of a large result";
    return result;
}

} // namespace pmixhost
