// The starter: the one process of the gate that may become users (CAP_SETUID, CAP_SETGID), and does nothing else. It
// has no socket but the one to the gate, reads no configuration, and is asked for one thing: a desk of a user, one
// fixed program with fixed arguments. So who has taken the gate over, which speaks with everybody, can have desks made
// and no more. For root none is made.
//
// Of each user there is one desk: one that does not leave when it is told to is killed for the next one. A desk ends
// with its channel, whose other end the gate alone has; one that its user keeps from that, with the control group of
// the service. The kernel's signal at a parent's death (PR_SET_PDEATHSIG) would not reach another user's process.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>
#include <sys/types.h>

namespace pmixhost {

// Makes it from this process, which must have one thread and what keep_setuid_alone() leaves. `program` is pmixhostd.
// Returns the socket to it, as the gate has it.
Result<UniqueFd> make_starter(const std::string &program);
// By the gate: a desk of this user with `channel` (desk_channel.h), which stays the caller's. How it went, the desk
// says, or the starter in its place. Fails as sendmsg(2) does.
Result<void> ask_for_desk(int starter, uid_t user, int channel);

} // namespace pmixhost
