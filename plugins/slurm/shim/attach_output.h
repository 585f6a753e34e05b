// A reader of what slurmstepd's tasks write, as an sattach is one, made in slurmstepd itself: the call is root's alone
// there, and has advantages over the way through slurmd that sattach goes. Nobody need listen to slurmstepd's messages
// of tasks that have ended; a reader that does not answer these delays the step's end by seconds.
//
// slurmstepd connects to the reader by TCP. The listener is this process's own, on the loopback, and gone when
// slurmstepd has come.
#pragma once

#include "plugins/slurm/shim/identity.h"
#include "plugins/slurm/shim/output_offer.h"

#include <chrono>
#include <memory>
#include <string_view>

namespace pmixhost::slurm {

// Null where this Slurm has no such reader. `attach` fails (unreachable, denied) also while no task runs yet, and
// (limit) when slurmstepd could not be told from strangers several times: each time costs slurmstepd a little memory.
std::unique_ptr<OutputSource> output_of_slurmstepd(const OwnStep &step);

// Of those who connect to `listener`, the one that greets with `key` as slurmstepd does, its greeting taken: a
// stranger may be before it. slurmstepd has sent its own by then. Fails (unreachable) where none has come after
// `patience`, or the listener is shut down.
Result<UniqueFd> accept_greeting(int listener, std::string_view key, std::chrono::milliseconds patience);

} // namespace pmixhost::slurm
