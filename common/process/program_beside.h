// Where the other programs of this installation, or of this build, are: beside the one that runs. So what a process
// starts is of its own build, and after an upgrade of the package of the newer one. What the kernel calls this program
// itself (/proc/self/exe) is no path then: it says "(deleted)" at the end.
#pragma once

#include <string>

namespace pmixhost {

// The path of `name` (pmixhostd, for one) in this program's directory; where that cannot be told, in the one of the
// installation. Any thread.
std::string program_beside(const std::string &name);

} // namespace pmixhost
