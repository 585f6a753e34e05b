// A starter (srun) that a debugger has started, with PMIX_LAUNCHER_RNDZ_URI in its environment: indirect launch (PMIx
// standard, "Launching Applications with Tools"). The program pmixhost-indirect beside it speaks with the debugger
// (server-glue/indirect/), and says when the starter may go on (common/start/indirect_words.h). The debugger waits two
// seconds for it, and the starter perhaps hours for an allocation: so it is begun before that.
//
// Between the two calls there may be no memory of this process, where an RM unloads plugins: the environment has the
// descriptor.
#pragma once

#include "common/base/unique_fd.h"
#include "common/start/indirect_words.h"

#include <chrono>
#include <functional>
#include <string_view>

namespace pmixhost::kit {

inline constexpr auto debugger_uri_variable = "PMIX_LAUNCHER_RNDZ_URI";
inline constexpr std::string_view indirect_fd_variable = "PMIXHOST_INDIRECT_FD";
// "1": the starter is in no allocation, and asks for one of its own.
inline constexpr std::string_view own_allocation_variable = "PMIXHOST_INDIRECT_ALLOCATES";

// One of those by which the debugger's library tells this process of itself. They are not for the job.
bool is_debuggers(std::string_view variable);

// The program that this starter has where it is there for the debugger to spawn by (holder_variable); else empty.
std::string holder_of_starter();
// Starts `program` and changes this process' environment; before there are threads. `allocates`: the starter will ask
// for an allocation of its own. Fails as posix_spawn(3).
Result<void> begin_indirect_launch(const std::string &program, bool allocates);

// The socket, close-on-exec, once; empty: no debugger has started this process.
UniqueFd take_indirect_channel();
// Was it in no allocation when it began? Once.
bool take_own_allocation();
// Is it there for the debugger to spawn by? What was spawned ends with it then. Once.
bool take_holder();
// The starter has made an allocation of its own, for a job of this namespace.
void say_allocated(int channel, const Allocated &allocation);
// Waits as long as the debugger does, who may be a person, and as long as `goes_on`, asked each `look_again`, does not
// fail. Fails with what the user should know: there is to be no job.
Result<Released> await_release(int channel, std::chrono::milliseconds look_again,
                               const std::function<Result<void>()> &goes_on);

// When this process exits, its exit code is said there; to be called once. From then on the library that this is in
// cannot be unloaded.
void tell_exit_code(int channel);

} // namespace pmixhost::kit
