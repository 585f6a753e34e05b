// Stops a process at the first instruction of the program that it is about to execute, for a debugger: it is then in
// state T, as after SIGSTOP, nobody traces it, and SIGCONT lets it go on.
//
// The process has the only writing end of a pipe, which its execve(2) closes, and the other end gives a signal for that
// (fcntl(2), F_SETSIG): SIGSTOP, to the process itself. The kernel closes such descriptors, and looks for signals, on
// its way from execve(2) to the program, so that no instruction comes first. Nobody is traced: a program whose file
// gives it other privileges has them, and the kernel's rules for ptrace(2) do not matter.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace pmixhost {

// Called by the process, as its user, before it executes the program. The descriptor has to be open in another process
// until then (descriptor_message.h): there, it hangs up (poll(2)) when the program has been executed, or the process
// has ended without. A moment later it stands. Fails as pipe2(2) and fcntl(2) do.
Result<UniqueFd> arm_exec_stop();
// Could that be such a descriptor, of a process that may send anything?
bool is_armed(int fd);

} // namespace pmixhost
