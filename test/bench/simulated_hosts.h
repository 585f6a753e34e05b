// Many hosts of a simulated network (simulated_network.h) for the parts of a daemon that are no pure state machines:
// the mesh and what is built on it, compiled with an event loop, links, a listener and slow calls that are of this
// simulation (test/bench/simulated/). What a host has beside its network is here as well: its munged and its slurmd.
//
// What Slurm and munge take is assumed, and is called a model wherever it is told of.
#pragma once

#include "common/start/spawn_channel.h"
#include "common/transport/authenticator.h"
#include "common/transport/link.h"
#include "common/transport/listener.h"
#include "test/bench/simulated_network.h"

#include <map>
#include <memory>
#include <optional>

namespace pmixhost {

class SimulatedHosts {
  public:
    // Of munged for one question, which it answers one after the other: 0.17 ms here (munge 0.5.15, aes128).
    static constexpr Duration munge_time = std::chrono::microseconds(170);
    // Of slurmd for a call, beside munge.
    static constexpr Duration slurmd_time = std::chrono::microseconds(200);
    static constexpr std::size_t call_bytes = 400; // of a call of Slurm's, credential and all, beside what it carries
    static constexpr std::uint16_t first_port = 1024;

    struct Host {
        TimePoint munged_until{};
        Duration munge_one = munge_time;
        std::size_t munge_calls = 0, forwards = 0, connections = 0;
        Listener *listener = nullptr;
        std::function<void(std::string)> on_contact; // its contact socket; empty: there is none
        TimePoint last_open{};                       // when the last connection was there
    };
    explicit SimulatedHosts(HostIndex size);

    TimePoint now() const { return network.now(); }
    void make_slow(HostIndex host); // it takes 100 times as long for everything

    // Munged of that host works on one more question.
    void ask_munge(HostIndex host, std::function<void()> done);
    // A credential of so many bytes.
    static std::size_t credential_bytes(std::size_t payload) { return 7 + 4 * ((payload + 111 + 2) / 3); }
    std::unique_ptr<Authenticator> authenticator(HostIndex host);

    // Slurm's forwarding of data to the contact socket of a host (model): a credential each way, and no tree for one
    // host. To be called by what SlowCalls runs, which gets its answer when the call is over.
    Result<void> forward(HostIndex from, HostIndex to, std::string message);
    std::optional<std::function<void(std::function<void(Result<void>)>)>> take_call();

    // What the stand-ins call. A descriptor is one of that host's.
    void connect(HostIndex host, int fd, std::function<void()> then);
    void add_link(HostIndex host, int fd, Link *link);
    void remove_link(HostIndex host, int fd);
    void send(HostIndex host, int fd, std::uint8_t type, SharedBytes payload);
    void opened(HostIndex host) { hosts[host].last_open = now(); }
    // The launcher starts a job, which tells it by the function given how it fares (common/start/spawn_channel.h).
    std::function<void(std::function<void(SpawnEvent)>)> start_child;

    SimulatedNetwork network;
    std::vector<Host> hosts;

  private:
    using Place = std::pair<HostIndex, int>; // a host and its descriptor
    struct End {
        Link *link = nullptr;
        bool closed = false;
        std::vector<std::pair<std::uint8_t, SharedBytes>> early; // frames that came before there was a link
    };
    static Place other(Place one);

    std::map<Place, End> ends_; // of connections
    std::optional<std::function<void(std::function<void(Result<void>)>)>> call_;
};

} // namespace pmixhost
