// The door for debuggers: a local socket (AF_UNIX, SOCK_SEQPACKET) in the directory of a job's daemon. There
// `pmixhost debug` and `pmixhost stacks` say, on each host, of which processes their debuggers are about to take hold,
// and at the end that they have let go. Where the connection ends without that, both were ended by force, and may have
// left processes stopped: the daemon lets these run on (server-glue/debug/left_stopped.h).
//
//     holds PID BEGAN    a debugger may stop that process from now on, which shall run when the debugger has gone;
//                        BEGAN as /proc/PID/stat has it, since the pid may be another one's when this is read
//     over               whoever was held has been let go in order
//
// Nothing is answered: what was said is read also when who has said it is gone.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/un.h>

namespace pmixhost {

inline constexpr std::size_t longest_debugger_word = 64; // bytes

struct HeldProcess {
    pid_t pid = 0;
    std::uint64_t began = 0;
    bool operator==(const HeldProcess &) const = default;
};
std::string hold_word(const HeldProcess &process);
Result<HeldProcess> parse_hold_word(std::string_view word); // fails (invalid)
inline constexpr std::string_view over_word = "over";

// The socket's address in the daemon's directory. Fails (limit) where it would be too long.
Result<sockaddr_un> debugger_door_address(const std::string &directory);
// A connection with the door there, close-on-exec, which does not block. Fails as connect(2) does, and as above.
Result<UniqueFd> knock_at_debugger_door(const std::string &directory);

} // namespace pmixhost
