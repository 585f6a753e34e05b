// Events on a simulated network (bench_scale): what a process notifies, the ends of all processes, the loss of a host.
#include "server-glue/events/event_service.h"
#include "server-glue/events/process_ends.h"

#include "test/bench/scale.h"

#include <memory>
#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

namespace pmixhost {

namespace {

constexpr std::uint32_t ranks_of_host = 128;
class World;

struct Host final : FakeHosts, EventPort {
    World *world = nullptr;
    HostIndex self = 0;
    std::unique_ptr<EventService> events;
    TimePoint tells_ends = TimePoint::max(), passes_on = TimePoint::max();
    std::size_t notices = 0, losses = 0, ended = 0; // that were delivered here; ranks that were told to have ended
    void gather();
    void end_badly(); // all processes here
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    void take(HostIndex from, std::uint8_t type, const SharedBytes &payload);
    void event_lost(HostIndex) override {}
    void deliver(const wire::EventNotice &) override;
    void deliver(const wire::HostReport &) override;
    void deliver(const wire::BadEnds &ends) override;
    void deliver(const wire::NormalExits &ends) override;
    void send_cross_job(wire::CrossJobEvent) override {}
};

class World {
  public:
    World(HostIndex size, std::uint32_t radix)
        : network(size, [this](HostIndex to, HostIndex from, std::uint8_t type,
                               const SharedBytes &payload) { hosts[to].take(from, type, payload); }),
          hosts(size), map(*map_of(size)) {
        for (HostIndex h = 0; h < size; ++h) {
            hosts[h].world = this;
            hosts[h].self = h;
            hosts[h].events = std::make_unique<EventService>(hosts[h], hosts[h], map, nspace, h, radix);
        }
    }
    SimulatedNetwork network;
    std::vector<Host> hosts;
    const JobMap map;
    const std::string nspace = "job";
    TimePoint last{};

    TimePoint next_time() const {
        TimePoint next = TimePoint::max();
        for (const auto &host : hosts)
            next = std::min({next, host.tells_ends, host.passes_on});
        return next;
    }
    void on_time(TimePoint now) {
        for (auto &host : hosts) {
            if (host.tells_ends <= now) {
                host.tells_ends = TimePoint::max();
                host.events->tell_ends(1);
            }
            if (host.passes_on <= now) {
                host.passes_on = TimePoint::max();
                host.events->pass_on_bad_ends();
                host.gather();
            }
        }
    }

  private:
    static Result<JobMap> map_of(HostIndex size) {
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> ranks(size);
        for (HostIndex h = 0; h < size; ++h) {
            names.push_back(fmt::format("n{}", h));
            for (Rank local = 0; local < ranks_of_host; ++local)
                ranks[h].push_back(h * ranks_of_host + local);
        }
        return JobMap::create(std::move(names), std::move(ranks));
    }
};

bool Host::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    if (gone.contains(to))
        return false;
    world->network.send(self, to, type, std::move(payload));
    return true;
}

void Host::take(HostIndex from, std::uint8_t type, const SharedBytes &payload) {
    if (type == wire::EventNotice::type)
        events->on_notice(from, *wire::decode<wire::EventNotice>(*payload), payload);
    else if (type == wire::HostReport::type)
        events->on_report(from, *wire::decode<wire::HostReport>(*payload), payload);
    else if (type == wire::BadEnds::type)
        events->on_bad_ends(from, *wire::decode<wire::BadEnds>(*payload));
    else
        events->on_ends(from, *wire::decode<wire::NormalExits>(*payload), payload);
    gather();
}

void Host::gather() {
    if (events->ends_to_tell() && tells_ends == TimePoint::max())
        tells_ends = world->network.now() + ProcessEnds::normal_exits_together;
    if (events->gathers_bad_ends() && passes_on == TimePoint::max())
        passes_on = world->network.now() + ProcessEnds::bad_ends_together;
}

void Host::end_badly() {
    std::vector<wire::EndedProcess> all;
    for (Rank rank : world->map.ranks_on(self))
        all.push_back({rank, PMIX_ERR_PROC_ABORTED, 0, 137, 0});
    events->report_ended(std::move(all), 1);
    gather();
}

void Host::deliver(const wire::EventNotice &) {
    ++notices;
    world->last = world->network.now();
}
void Host::deliver(const wire::HostReport &report) {
    losses += report.lost;
    world->last = world->network.now();
}
void Host::deliver(const wire::BadEnds &ends) {
    for (const auto &each : ends.ends)
        ended += each.ranks.size();
    world->last = world->network.now();
}
void Host::deliver(const wire::NormalExits &ends) {
    for (const auto &range : ends.ranks)
        ended += range.last - range.first + 1;
    world->last = world->network.now();
}

} // namespace

ScaleCosts run_event(const EventCase &one, HostIndex hosts) {
    using What = EventCase::What;
    World world(hosts, one.radix);
    HostIndex notifier = hosts - 1, victim = hosts / 2;
    for (HostIndex h = 0; one.slow && h < hosts; ++h) {
        if (h % 100 == 1)
            world.network.hosts[h].work_of_one = 100 * SimulatedNetwork::work;
    }
    for (auto &host : world.hosts) {
        if (one.what == What::notice && host.self == notifier) {
            NotifyAsk ask;
            ask.source = {"job", notifier * ranks_of_host, false};
            ask.range = PMIX_RANGE_NAMESPACE;
            ask.info = Bytes(one.bytes, 'x');
            host.events->notify(std::move(ask));
        } else if (one.what == What::ends) {
            for (Rank rank : world.map.ranks_on(host.self))
                host.events->note_normal_exit(rank, true);
            host.events->tell_ends(1);
        } else if (one.what == What::bad_ends) {
            host.end_badly();
        } else if (one.what == What::loss && host.self != victim) {
            // The kernel tells all that have a connection with it: its neighbours in the tree.
            host.gone.insert(victim);
            Tree tree(hosts, one.radix);
            if (tree.parent(host.self) == victim || tree.parent(victim) == host.self)
                host.events->report_lost(victim, 1);
        }
    }
    world.network.run([&] { return world.next_time(); }, [&](TimePoint now) { world.on_time(now); },
                      ProcessEnds::bad_ends_together);
    ScaleCosts result;
    result.count(world.network, world.last);
    const std::uint32_t levels = tree_levels(hosts, one.radix);
    for (auto &host : world.hosts) {
        bool well = one.what == What::notice ? host.notices == (host.self == notifier ? 0u : 1u)
                    : one.what == What::loss ? host.losses == (host.self == victim ? 0u : 1u)
                                             : host.ended == std::size_t{hosts} * ranks_of_host;
        if (!well)
            result.wrong = fmt::format("host {} heard of {} events, {} losses and {} ends", host.self, host.notices,
                                       host.losses, host.ended);
    }
    if (one.what == What::notice && result.all_messages != hosts - 1)
        result.wrong = "each host once, and no other message";
    // As often as there are levels, up and down, each host has something new to pass on.
    const std::size_t neighbours = one.radix + 1, times = 2 * levels + 1;
    if (one.what == What::bad_ends && (result.messages > times * neighbours || result.bytes_out > 1000 * neighbours))
        result.wrong = "a host has more to say where there are more hosts";
    if (result.rounds > (one.what == What::loss ? 4 : 2) * levels)
        result.wrong = fmt::format("{} rounds for {} levels", result.rounds, levels);
    return result;
}

} // namespace pmixhost
