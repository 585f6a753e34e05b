// Whose the debugger is that libpmix has connected this process to: the kernel says. libpmix proves this process to the
// debugger and asks for no proof, and whoever has taken the address of one that has ended would be obeyed.
#pragma once

#include "common/base/result.h"

#include <string_view>

namespace pmixhost::indirect {

// `uri`: PMIX_LAUNCHER_RNDZ_URI, "NAMESPACE.RANK;tcp4://ADDRESS:PORT". Each connection of this process to that port
// must lead to a process of this user or of root on this host. Fails (invalid, denied; unreachable: there is none). Any
// thread.
Result<void> check_debugger(std::string_view uri);

// Is there such a connection? libpmix tells its host of none that ended in order.
bool debugger_is_connected(std::string_view uri);

} // namespace pmixhost::indirect
