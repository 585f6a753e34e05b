// What `pmixhost doctor` looks at on this host, whatever resource manager there is. Each function blocks for some
// seconds at most and fails in no other way than by what it finds.
#pragma once

#include "common/check/finding.h"
#include "common/config/config.h"
#include "common/rendezvous/gate_door.h"

#include <optional>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// Of whom: root asks for all users of the host, others for themselves.
struct Patient {
    std::string config_file; // empty: the default one
    Checked config;
    uid_t uid = 0;
    bool everybody() const { return uid == 0; }
};

Findings config_findings(const Patient &patient);    // pmixhost.conf, mpi.remedies
Findings policy_findings(const Patient &patient);    // the rules for tools
Findings directory_findings(const Patient &patient); // directory.base, log.file, /dev/shm, where tools look
Findings network_findings(const Patient &patient);   // transport.ports and transport.interfaces
Findings daemon_findings(const Patient &patient);    // pmixhostd, its backends, libpmix here and in programs
Findings gate_findings(const Patient &patient);      // what this host's gate has refused of the caller's tools
Findings topology_findings();
Findings debugging_findings(); // for `pmixhost debug` and `pmixhost stacks`
// What the programs of plugins find, `pmixhost-check-NAME` where pmixhostd is.
Findings plugin_findings(const Patient &patient);

// The programs of plugins, as paths.
std::vector<std::string> check_programs();

// How much there is below `path`.
struct Room {
    std::uint64_t bytes = 0, files = 0;
    bool counts_files = false;
};
Finding finding_of_room(const std::string &check, const std::string &path, const Room &room);

// Ports that the kernel gives to whoever asks for any: a range, but for those that are reserved (ip-sysctl of Linux).
struct KernelPorts {
    PortRange range;
    std::string reserved = ""; // as "6000-6100,8080"
    // Of that range, does it give one to anybody?
    bool gives(const PortRange &ports) const;
};
// `free` of the `ports` could be had. `kernels`: nothing where it cannot be told.
Finding finding_of_ports(const PortRange &ports, unsigned free, const std::optional<KernelPorts> &kernels);

// `scope`: kernel.yama.ptrace_scope, 0 where there is no Yama. `debugger`: its path; empty where there is none.
Finding finding_of_debugging(unsigned scope, const std::string &debugger);

// The version of libpmix that pmixhost was built with, that a daemon has, and that a program of this user gets; empty
// where it cannot be told. As "4.2.2".
struct LibraryVersions {
    std::string built, daemon, user;
};
Finding finding_of_libraries(const LibraryVersions &versions);

// `said`: the first line of what `pmixhostd --library` says; empty where it could not be asked.
Finding finding_of_library_start(const std::string &said);
// `said`: the other lines, each a fault of libpmix that is not mended here.
Findings findings_of_library_faults(std::string_view said);

// What the gate says when it is asked (tools/view/gate_knock.h).
Finding finding_of_refusals(const Result<Refusals> &said);

// For `pmixhost doctor --library`: the version and the file of the libpmix of this process, in a line.
std::string own_library();

} // namespace pmixhost
