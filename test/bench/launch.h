// What bench_launch asks: what starts and spawns cost on so many hosts. Daemons' meshes, contact messages and the
// launcher are the real ones, on simulated hosts (simulated_hosts.h); what is Slurm's is a model.
#pragma once

#include "common/transport/mesh.h"
#include "plugins/kit/contact_sender.h"
#include "test/bench/scale.h"
#include "test/bench/simulated_hosts.h"

#include <set>

namespace pmixhost {

// Assumed, of no host in particular.
struct LaunchModel {
    static constexpr std::uint32_t tree_width = 16; // slurm.conf's TreeWidth: 16 from Slurm 23.11 on, 50 before
    // From when slurmstepd begins until its daemon has its sockets.
    static constexpr Duration daemon_start = std::chrono::milliseconds(10);
    // From then until its tasks have executed their programs.
    static constexpr Duration tasks_start = std::chrono::milliseconds(20);
    static constexpr Duration step_creation = std::chrono::milliseconds(10); // slurmctld's answer to srun
    static constexpr Duration process_start = std::chrono::milliseconds(10); // of srun, and of the launcher
};

// The daemons of a step, from when Slurm starts them until they have the connections of the tree. `first` is the
// simulated host of the step's host 0, and the others follow.
class StepStart {
  public:
    StepStart(SimulatedHosts &all, HostIndex first, HostIndex size, Settings settings);
    // Slurm's launch begins at `when`. The daemons of `never` do not start. `serves` is called for each that does.
    void run(TimePoint when, std::uint32_t tree_width, const std::set<HostIndex> &never,
             std::function<void(HostIndex)> serves);
    void begin(HostIndex self); // one daemon, now
    Mesh &mesh(HostIndex self) { return *daemons_[self].mesh; }

    std::function<void(HostIndex self, HostIndex from, std::uint8_t type, const Bytes &payload)> on_message;
    std::function<void(HostIndex self, HostIndex peer)> on_gone;
    // Brings a contact message to a central role.
    std::function<void(HostIndex self, HostIndex role, Bytes message, std::function<void(Result<void>)> done)>
        invite_role;
    std::size_t losses = 0;
    TimePoint last_loss{};

  private:
    struct Daemon {
        std::unique_ptr<EventLoop> loop;
        std::unique_ptr<kit::ContactSender> sender;
        std::unique_ptr<Mesh> mesh;
    };
    SimulatedHosts &all_;
    const HostIndex first_, size_;
    const Settings settings_;
    Log log_{2, LogLevel::error, "bench_launch"};
    std::vector<Daemon> daemons_;
    std::function<void(HostIndex)> serves_;
};

struct StartCase {
    const char *name;
    std::uint32_t radix, tree_width;
    bool slow, lost_host; // 1 % of the hosts take 100 times as long; the daemon of one never starts
};
ScaleCosts run_start(const StartCase &one, HostIndex hosts);

inline constexpr std::uint32_t one_on_each = 0;
struct SpawnCase {
    const char *name;
    std::uint32_t children; // on as many hosts as there are, or one_on_each
    bool slow, lost_host;   // as above, of the children's hosts
};
ScaleCosts run_spawn(const SpawnCase &one, HostIndex hosts);

// A process on each host has ended that was spawned, and the spawner wants to hear of it.
ScaleCosts run_child_ends(HostIndex hosts);

} // namespace pmixhost
