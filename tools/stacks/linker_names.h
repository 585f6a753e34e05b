// The names under which the dynamic linker of a process has its libraries. gdb opens them by these, and takes what it
// knows of a file only for one of the same name; /proc/PID/maps has others, behind all symbolic links ("libc.so.6" of
// /lib where that is /usr/lib, "libz.so.1" that is libz.so.1.2.13).
#pragma once

#include <map>
#include <string>
#include <sys/types.h>

namespace pmixhost {

// By the name in /proc/PID/maps: the absolute name that the linker has. It is read in the memory of the process, which
// goes on meanwhile, so what makes no sense is left out, and any text may be in it. Empty where it cannot be read, as
// of a static program or one of another word size. No file is looked at but those of /proc/PID, where a read may hang
// in the kernel.
std::map<std::string, std::string> linker_names(pid_t pid);

} // namespace pmixhost
