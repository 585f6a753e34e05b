// Every setting of pmixhost as a plain value, with its default. Loaded by config.h, which has the
// table that ties each to its key in pmixhost.conf, its environment variable (if a user may change
// it), its allowed values and its text in the man page.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct PortRange {
    std::uint16_t first = 0; // 0: any port the kernel gives
    std::uint16_t last = 0;
};

// An item of a list, with the place that it was read from, "FILE:12".
struct PlacedText {
    std::string text;
    std::string place;
};

struct Settings {
    // [transport]
    PortRange transport_ports;
    std::vector<std::string> transport_interfaces; // empty: all that are up, loopback last
    std::uint32_t transport_radix = 32;            // children of a daemon in the tree, 2..256
    std::chrono::milliseconds transport_connect_timeout{30'000};
    std::chrono::milliseconds transport_dead_after{20'000}; // silence that means a dead host
    std::string transport_frame_tags = "on";                // "off": none, unless the other side wants them
    // [fence]
    std::chrono::milliseconds fence_timeout{300'000}; // when the caller gave no PMIX_TIMEOUT; 0: none
    std::uint64_t fence_max_bytes = 64ull << 20;      // one host's contribution
    // [modex]
    std::chrono::milliseconds modex_timeout{120'000};
    std::chrono::milliseconds modex_key_wait{2'000};
    std::string modex_store = "auto";      // "shared", "own"
    std::uint64_t modex_segment_bytes = 0; // libpmix' shared segments; 0: its own 4 MiB
    // [mpi]
    std::vector<std::string> mpi_remedies{"openmpi-han", "openmpi-reachable", "pmix-messages",
                                          "pmix-store"}; // common/config/remedies.h
    // [publish]
    std::uint64_t publish_max_bytes = 64ull << 20;      // of an allocation, keys and values
    std::chrono::milliseconds publish_timeout{60'000};  // for an answer that nothing need be waited for
    std::chrono::milliseconds publish_wait{86'400'000}; // a lookup with PMIX_WAIT and no PMIX_TIMEOUT
    // [session]
    std::chrono::milliseconds session_idle{30'000}; // without a connection or data
    // [events]
    std::uint32_t events_keep = 512; // for late registrants, on each host
    std::chrono::milliseconds events_keep_time{120'000};
    std::chrono::milliseconds events_time_warning{60'000}; // before the allocation's end; 0: none
    // [spawn]
    std::chrono::milliseconds spawn_timeout{120'000}; // until the spawned programs run
    // [allocation]
    std::chrono::milliseconds allocation_timeout{300'000}; // until a requested allocation is there
    // [daemon]
    std::chrono::milliseconds daemon_hang_timeout{30'000};    // a server that stands still; 0: none
    std::string daemon_evidence_directory;                    // empty: log_file's directory, else directory_base
    std::chrono::milliseconds daemon_library_timeout{20'000}; // libpmix gives no answer; 0: for ever
    std::uint32_t daemon_details_up_to = 4096;                // processes of a job
    std::string daemon_library = "late";                      // "early": libpmix is started before any task
    std::string daemon_topology = "kept";                     // "look": hwloc looks each time
    // [debug]
    std::string debug_stop; // where tasks stop for a debugger: common/job/debug_stops.h
    // [io]
    std::string io_capture = "off";
    std::string io_copy = "on";
    std::uint64_t io_kept = 16u << 10; // bytes of each stream, for tools that come late
    std::uint64_t io_cache = 1u << 20; // bytes that a daemon holds back for tools that are slow
    // [tools]
    std::string tools_enabled = "on";
    std::vector<PlacedText> tools_policy;      // rules: common/policy/policy.h
    std::string tools_user_policy = "tighten"; // "off": users' own files are not read; "loosen"
    std::string tools_launchers = "off";
    std::uint32_t tools_max_connections = 64; // of a daemon
    // [gate]
    std::string gate_directory = "/tmp";          // of the file by which tools find the gate
    std::string gate_door = "/run/pmixhost-gate"; // the directory of its door for visitors; empty: there is none
    std::uint32_t gate_max_desks = 64;
    std::uint32_t gate_max_waiting = 16;          // connections of a user
    std::chrono::milliseconds gate_idle{600'000}; // a desk without tools
    std::string gate_spawn = "on";
    // [directory]
    std::string directory_base = "/tmp";    // where private per-step directories are made
    std::string directory_store = "memory"; // of libpmix' posted data; "base"
    // [log]
    std::string log_level = "warning";
    std::string log_mail;                   // the program for PMIX_LOG_EMAIL; empty: refused
    std::string log_job_record = "comment"; // where PMIX_LOG_JOB_RECORD goes
    std::string log_file;                   // empty: stderr; %j job, %s step, %n host, %u user
    // Sections of plugins, by "section.name"; what is not set is not here.
    std::map<std::string, std::string, std::less<>> of_plugins;
    // Empty: not set.
    std::string of_plugin(std::string_view key) const {
        auto found = of_plugins.find(key);
        return found == of_plugins.end() ? std::string() : found->second;
    }
};

} // namespace pmixhost
