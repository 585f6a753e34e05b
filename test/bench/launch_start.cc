// The start of a step on simulated hosts (bench_launch).
#include "test/bench/launch.h"

#include "common/transport/mesh.h"
#include "common/transport/tree.h"
#include "plugins/kit/contact_sender.h"
#include "server-glue/core/central_roles.h"

#include <functional>

namespace pmixhost {

// Slurm's launch goes from the launcher to so many hosts, each of which passes it on to its part of the rest, in their
// order. `begins` is called for each host when its slurmstepd does.
static void launch(SimulatedHosts &all, std::uint32_t width, HostIndex first, HostIndex count, TimePoint when,
                   const std::function<void(HostIndex, TimePoint)> &begins) {
    HostIndex groups = std::min<HostIndex>(width, count);
    for (HostIndex group = 0; group < groups; ++group) {
        HostIndex begin = first + static_cast<HostIndex>(std::uint64_t{count} * group / groups);
        HostIndex end = first + static_cast<HostIndex>(std::uint64_t{count} * (group + 1) / groups);
        // A credential is made and looked at, and slurmd passes on before it starts anything.
        TimePoint there = when + all.hosts[begin].munge_one * 2 + SimulatedHosts::slurmd_time;
        begins(begin, there);
        launch(all, width, begin + 1, end - begin - 1, there, begins);
    }
}

StepStart::StepStart(SimulatedHosts &all, HostIndex first, HostIndex size, Settings settings)
    : all_(all), first_(first), size_(size), settings_(std::move(settings)), daemons_(size) {}

void StepStart::run(TimePoint when, std::uint32_t tree_width, const std::set<HostIndex> &never,
                    std::function<void(HostIndex)> serves) {
    serves_ = std::move(serves);
    auto begins = [this, never](HostIndex host, TimePoint at) {
        if (!never.contains(host - first_))
            all_.network.at(at + LaunchModel::daemon_start, [this, host] { begin(host - first_); });
    };
    launch(all_, tree_width, first_, size_, when, begins);
}

// As StepServer::begin() and the Slurm backend do.
void StepStart::begin(HostIndex self) {
    HostIndex host = first_ + self;
    Daemon &daemon = daemons_[self];
    daemon.loop = std::make_unique<EventLoop>(all_, host);
    daemon.sender = std::make_unique<kit::ContactSender>(
        *daemon.loop, log_, 64, [this, host](const std::string &node, const std::string &, const std::string &message) {
            return all_.forward(host, first_ + static_cast<HostIndex>(std::stoul(node)), message);
        });
    auto mesh = Mesh::create(
        *daemon.loop, log_, settings_, "1000.0", self, size_ + central_role_count, all_.authenticator(host),
        {[this, self](HostIndex from, std::uint8_t type, Bytes payload) {
             if (on_message)
                 on_message(self, from, type, payload);
         },
         [this, self](HostIndex peer, Mesh::Gone, const Error &) {
             ++losses;
             last_loss = all_.now();
             if (on_gone)
                 on_gone(self, peer);
         },
         [this, self](HostIndex to, Bytes message, TimePoint deadline, std::function<void(Result<void>)> done) {
             if (to >= size_)
                 return invite_role(self, to, std::move(message), std::move(done));
             daemons_[self].sender->send({std::to_string(to), "", std::move(message), deadline, false},
                                         std::move(done));
         }});
    daemon.mesh = std::move(*mesh);
    // A mesh's port says which host of the simulation it is of.
    all_.hosts[host].on_contact = [this, self](const std::string &message) {
        daemons_[self].mesh->on_contact(message);
    };
    Tree tree(size_, settings_.transport_radix);
    if (HostIndex parent = tree.parent(self); parent != no_host)
        daemon.mesh->invite(parent);
    if (serves_)
        serves_(self);
}

ScaleCosts run_start(const StartCase &one, HostIndex hosts) {
    SimulatedHosts all(hosts);
    Settings settings;
    settings.transport_interfaces = {"lo"};
    settings.transport_radix = one.radix;
    for (HostIndex h = 0; one.slow && h < hosts; ++h) {
        if (h % 100 == 1)
            all.make_slow(h);
    }
    // A host that others have for their parent, where there is one.
    HostIndex lost = std::min<HostIndex>(1, hosts - 1);
    StepStart step(all, 0, hosts, settings);
    step.run({}, one.tree_width, one.lost_host ? std::set<HostIndex>{lost} : std::set<HostIndex>(), nullptr);
    all.network.run();

    ScaleCosts result;
    TimePoint last = step.last_loss;
    std::size_t connections = 0, wanted = 0;
    Tree tree(hosts, one.radix);
    for (HostIndex h = 0; h < hosts; ++h) {
        last = std::max(last, all.hosts[h].last_open);
        result.munge_calls = std::max(result.munge_calls, all.hosts[h].munge_calls);
        result.connections = std::max(result.connections, all.hosts[h].connections);
        result.forwards += all.hosts[h].forwards;
        HostIndex parent = tree.parent(h);
        if (parent == no_host || (one.lost_host && (h == lost || parent == lost)))
            continue;
        ++wanted;
        connections += step.mesh(h).connected(parent) && step.mesh(parent).connected(h);
    }
    result.count(all.network, last);
    std::size_t orphans = one.lost_host ? tree.child_count(lost) : 0;
    if (connections != wanted || step.losses != orphans)
        result.wrong = fmt::format("{} of {} connections of the tree, {} hosts without their parent instead of {}",
                                   connections, wanted, step.losses, orphans);
    if (result.connections > one.radix + 1)
        result.wrong = "a host has more connections than it has neighbours in the tree";
    // Slurm's launch, the daemons, and each child's messages one after the other; no pause of who came too early.
    if (!one.lost_host && !one.slow && last > TimePoint() + std::chrono::milliseconds(45))
        result.wrong = "the connections are there later than the tree explains";
    // Two of the mesh and two of slurmd for each child and for the parent, and once more for those that came too early.
    if (!one.lost_host && !one.slow && result.munge_calls > std::size_t{8} * (one.radix + 1))
        result.wrong = "munge is asked more often than the tree explains";
    return result;
}

} // namespace pmixhost
