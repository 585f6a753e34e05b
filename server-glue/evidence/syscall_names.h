// Names of the system calls in which a daemon is likely to be found.
#pragma once

#include <string_view>

namespace pmixhost {

// Empty when it is none of them. The numbers are those of the machine that this is built for.
std::string_view syscall_name(long number);

} // namespace pmixhost
