// What bench_scale asks of each kind of service: what it costs on so many hosts.
#pragma once

#include "test/bench/simulated_network.h"

#include <cmath>
#include <fmt/format.h>
#include <string>

namespace pmixhost {

struct ScaleCosts {
    double us = 0; // until the last host has it
    std::uint32_t rounds = 0;
    std::size_t all_messages = 0, messages = 0, bytes_out = 0, bytes_in = 0; // the latter three of the worst host
    std::size_t munge_calls = 0, connections = 0; // of the worst host, where they are counted
    std::size_t forwards = 0;                     // calls of Slurm's, likewise, of all hosts
    std::string wrong;                            // empty: all is as it should be

    void count(const SimulatedNetwork &network, TimePoint last) {
        us = std::chrono::duration<double, std::micro>(last.time_since_epoch()).count();
        for (const auto &host : network.hosts) {
            rounds = std::max(rounds, host.depth);
            all_messages += host.messages;
            messages = std::max(messages, host.messages);
            bytes_out = std::max(bytes_out, host.bytes_out);
            bytes_in = std::max(bytes_in, host.bytes_in);
        }
    }
};

// Of a tree, its root among them.
inline std::uint32_t tree_levels(HostIndex hosts, std::uint32_t radix) {
    return static_cast<std::uint32_t>(std::ceil(std::log(hosts * (radix - 1.0) + 1) / std::log(radix) - 1e-9));
}

struct CollectiveCase {
    const char *name;
    std::uint32_t radix;
    std::size_t bytes;    // of a host
    HostIndex most;       // hosts, for what this program can hold
    bool slow, lost_host; // 1 % of the hosts work 100 times as long; one has been lost
    bool dead;            // a process has ended without having come, and nobody was told
    std::int32_t status;
    // Whose it is: of all, named by the wildcard, or of ranks that are named one by one, with 128 on each host.
    enum class Who { all, first_half, every_second, half_of_each_host, two_of_three } who = Who::all;
};
ScaleCosts run_collective(const CollectiveCase &one, HostIndex hosts);

// Two jobs of half of the hosts each connect.
struct ConnectCase {
    const char *name;
    std::uint32_t radix;
    std::size_t bytes; // that each host has to say to the other job
};
ScaleCosts run_connect(const ConnectCase &one, HostIndex hosts);

struct EventCase {
    const char *name;
    // One process notifies; all end in order; all end badly at once; a host is lost.
    enum class What { notice, ends, bad_ends, loss } what;
    std::uint32_t radix;
    std::size_t bytes; // of the notice
    bool slow;
};
ScaleCosts run_event(const EventCase &one, HostIndex hosts);

} // namespace pmixhost
