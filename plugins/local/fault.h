// Faults on demand, for tests: what `pmixhost run --fault SPEC` asks of the local backend.
//
//   kill,host=H,after=D     the daemon of host H gets SIGKILL after a time D ("200ms") ...
//   kill,host=H,at=contact  ... or when it first sends or gets a contact message
//   stop,...                the same with SIGSTOP: the host is silent, but its connections stand
//   drop-contact,host=H[,count=N]   the first N (default: all) contact messages of H are lost
//   delay-contact,host=H,by=D       contact messages of H are late
//   link-drop,host=H,peer=P[,messages=N]   host H closes its link with host P after N messages
//                          (in both directions; default: 0, as soon as there is one)
//   link-delay,host=H,peer=P,by=D   what one of the two sends comes late to the other
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::local {

struct Fault {
    enum class Kind { kill, stop, drop_contact, delay_contact, link_drop, link_delay };
    Kind kind = Kind::kill;
    HostIndex host = 0;
    HostIndex peer = no_host;                       // link_drop, link_delay
    std::optional<std::chrono::milliseconds> after; // kill, stop; else at the first contact
    std::uint32_t count = UINT32_MAX;               // drop_contact
    std::uint64_t messages = 0;                     // link_drop
    std::chrono::milliseconds by{0};                // delay_contact, link_delay
};

// The text of a failure names what is wrong.
Result<Fault> parse_fault(std::string_view spec, HostIndex host_count);

} // namespace pmixhost::local
