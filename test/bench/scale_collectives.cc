// Collectives on a simulated network (bench_scale), of all processes or of some, with 128 on each host.
#include "server-glue/collective/collective.h"

#include "test/bench/scale.h"
#include "test/bench/scale_take.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

namespace pmixhost {

namespace {

constexpr Rank ranks_of_host = 128;

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
                                     whole = whole && (status != PMIX_SUCCESS ||
                                                       all->size() == (bytes > 0 ? participants.size() : 0));
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
    std::vector<HostIndex> participants; // ascending
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
    return world->participants;
}

void Host::take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload) {
    take_collective(*collectives, now, from, type, payload);
}

bool takes_part(CollectiveCase::Who who, Rank rank, Rank ranks) {
    using Who = CollectiveCase::Who;
    switch (who) {
    case Who::first_half:
        return rank < ranks / 2;
    case Who::every_second:
        return rank % 2 == 1;
    case Who::half_of_each_host:
        return rank % ranks_of_host < ranks_of_host / 2;
    case Who::two_of_three:
        return rank % 3 != 2;
    case Who::all:
        break;
    }
    return true;
}

Signature signature_of(CollectiveCase::Who who, Rank ranks) {
    std::vector<Process> processes;
    if (who == CollectiveCase::Who::all)
        processes.push_back({"job", 0, true});
    for (Rank rank = 0; who != CollectiveCase::Who::all && rank < ranks; ++rank) {
        if (takes_part(who, rank, ranks))
            processes.push_back({"job", rank, false});
    }
    return *canonical(CollectiveKind::fence, processes, [&](const Bytes &) { return ranks; });
}

} // namespace

ScaleCosts run_collective(const CollectiveCase &one, HostIndex hosts) {
    World world(hosts, one.radix);
    const Rank ranks = hosts * ranks_of_host;
    auto signature = signature_of(one.who, ranks);
    auto is_in = [&](HostIndex host) { // its first two ranks are enough to know, in all of these
        return takes_part(one.who, host * ranks_of_host, ranks) || takes_part(one.who, host * ranks_of_host + 1, ranks);
    };
    for (HostIndex h = 0; h < hosts; ++h) {
        if (is_in(h))
            world.participants.push_back(h);
    }
    HostIndex victim = hosts - 1;
    for (auto &host : world.hosts) {
        if (!is_in(host.self))
            continue;
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
        bool entered = is_in(host.self) && (host.self != victim || !(one.dead || one.lost_host));
        if (entered && (host.answers != 1 || host.status != one.status))
            result.wrong = fmt::format("host {} got {} answers, the last {}", host.self, host.answers, host.status);
    }
    auto taking_part = static_cast<HostIndex>(world.participants.size());
    std::uint32_t levels = tree_levels(taking_part, one.radix);
    if (!world.whole)
        result.wrong = "a success without everyone's data";
    std::size_t total = (one.bytes + 8) * hosts;
    bool in_pieces = Collectives::PieceSizes().cut(total, std::min(one.radix, hosts - 1));
    if (one.status == PMIX_SUCCESS && !in_pieces && result.rounds > 2 * (levels - 1))
        result.wrong = fmt::format("{} rounds for {} levels", result.rounds, levels);
    // Each message has the participants in it: always as many bytes where they are all or at one distance, otherwise no
    // more than a bit of each rank.
    using Who = CollectiveCase::Who;
    bool is_run = one.who == Who::all || one.who == Who::first_half || one.who == Who::every_second;
    std::size_t most = 100 + (is_run ? 0 : ranks / 8);
    if (one.bytes == 0 && result.bytes_out > most * (one.radix + 2))
        result.wrong = "a barrier's bytes grow";
    if (one.status == PMIX_SUCCESS && !in_pieces && result.all_messages > 2 * (taking_part - 1))
        result.wrong = "more than one message up and one down for a host";
    // Twice down, and what a subtree sends up.
    if (one.status == PMIX_SUCCESS && in_pieces && result.bytes_out > 3 * total + 65'536)
        result.wrong = "a host sends more than its part of a large result";
    return result;
}

} // namespace pmixhost
