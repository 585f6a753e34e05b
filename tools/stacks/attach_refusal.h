// What to tell the user of a process of which a debugger takes no hold, and what to do: mostly it is the kernel's word,
// and Yama's where that is there (kernel.yama.ptrace_scope), whose numbers nobody knows by heart.
#pragma once

#include <string>
#include <sys/types.h>

namespace pmixhost {

inline constexpr auto yama_scope_file = "/proc/sys/kernel/yama/ptrace_scope";

// `said`: by the debugger, when it was to attach. `scope_file`: of this host; where it cannot be read there is no Yama.
std::string why_not_attached(std::string said, pid_t pid, const std::string &scope_file = yama_scope_file);

} // namespace pmixhost
