// What the daemons of a step (or a task's hook) tell the *starter*, the command with which the user started the step
// (srun), which listens from before the launch on (starter_listener.h, launch_listener.h). Its form:
//
// One message per connection, then the sender closes; only a message of kind 5 is followed by others. The
// bytes of its frame (starter_frame.h, big-endian) are a munge credential that only the sender's own uid may
// open, or where the step has a secret one that is sealed with it (kit/sealer.h), whose payload is
//     16 bytes cookie | u32 kind | i32 status | u32 length | body
// The starter takes it when munge names its own uid or root as the sender, or it was sealed with the step's secret, and
// the cookie is its own.
#pragma once

#include "plugins/kit/sealer.h"
#include "plugins/kit/starter_address.h"
#include "plugins/kit/starter_frame.h"

namespace pmixhost::kit {

inline constexpr std::size_t max_report_text = 1024;
inline constexpr std::size_t max_invitation = 4096;
inline constexpr std::size_t max_ends_text = 4096;

struct StarterMessage {
    enum class Kind : std::uint32_t {
        exit_report = 1, // why the step ends, and what the starter should return: status 0..255
        launched = 2,    // the programs of a spawned step run on a host (status 0, body the host's index), or one could
                         // not be started (a PMIx status, and a text)
        invitation = 3,  // to the launcher beside the starter (common/transport/invitation.h); bytes
        note = 4,  // a line for the user; the step goes on (status 0, or 1..255: a subject whose first line is enough)
        tools = 6, // tools of the starter's host may find this job (kit/tool_door.h): a ToolOffer (status 0)
        started = 7, // the first program of a host runs, of a spawned step whose parent wants to hear of it (status 0)
        ended = 8, // processes of a host have ended, of a step whose starter's debugger wants to hear of it (status 0,
                   // or 1: none is left on that host; the body is a line of server-glue/events/host_ends.h)
        kept = 5,  // this connection is kept for what comes later (status 0): others that are silent are closed
    };
    Kind kind = Kind::exit_report;
    int status = 0;
    // One line of at most max_report_text, of `ended` max_ends_text; bytes of an invitation, at most max_invitation.
    std::string body;
};

struct ExitReport {
    int exit_status = 1;
    std::string text; // one line
    StarterMessage message() const;
    // Fails (invalid) on a message that is no exit report.
    static Result<ExitReport> of(StarterMessage message);
};

// A message as it goes over the wire. Fails (limit) on an invitation that is too long, and as the sealer does.
Result<std::string> seal_message(const Cookie &cookie, const StarterMessage &message, Sealer &sealer);
// `frame` is a whole one. Fails (invalid, denied) when it is not, or is not for this step, and as the sealer does.
Result<StarterMessage> open_message(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer);

} // namespace pmixhost::kit
