// Stops a process at the first instruction of the program that it is about to execute, for a debugger: it is then in
// state T, as after SIGSTOP, nobody traces it, and SIGCONT lets it go on.
//
// Nothing but ptrace(2) sees that instruction, so a helper of a moment traces the process while it executes the
// program. The helper is no child of the process, for whose program an unknown child would be a surprise. Where it
// ends untimely the process is killed, so that no program runs on that was to be stopped. For pmixhost-task: no
// library but libc's.
#pragma once

#include <string>

namespace pmixhost {

// Called just before execve(`file`). Empty: the helper waits for that, and writes "=" to `fd` when the process has
// stopped (-1: nowhere); it holds `fd`, and none of the other descriptors, until then. Otherwise why it is not
// possible, with errno in `error_number`.
std::string stop_on_exec(const std::string &file, int fd, int &error_number);

} // namespace pmixhost
