// Calls of libpmix as a tool, each in a process of its own: libpmix speaks with one server per process, prints what it
// thinks, and may wait for ever. That process is ended when its time is up.
#pragma once

#include "tools/view/server_list.h"

#include <chrono>
#include <functional>

namespace pmixhost {

// Connects to the server, calls `ask` and gives what it returned. `ask` must not touch what this process has open.
// Blocks for `patience` at most. Fails (timeout; system, with what libpmix said of the connection; invalid, with the
// text behind the exclamation mark, when what `ask` returned begins with one).
Result<std::string> as_tool(const ListedServer &server, std::chrono::seconds patience,
                            const std::function<std::string()> &ask);

} // namespace pmixhost
