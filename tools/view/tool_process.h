// Calls of libpmix as a tool, each in a process of its own: libpmix speaks with one server per process, prints what it
// thinks, and may wait for ever. That process is ended when its time is up.
#pragma once

#include "tools/view/server_list.h"

#include <chrono>
#include <functional>

namespace pmixhost {

// A variable of the environment by which a tool takes itself for a task, or another server for the one that is meant: a
// task has them, and what it starts.
bool leads_tools_elsewhere(std::string_view variable);

// Connects to the server, calls `ask` and gives what it returned. `ask` must not touch what this process has open.
// Blocks for `patience` at most. Fails (timeout; system, with what libpmix said of the connection, with the text behind
// the exclamation mark when what `ask` returned begins with one, and when the asking process did not live to answer).
Result<std::string> as_tool(const ListedServer &server, std::chrono::seconds patience,
                            const std::function<std::string()> &ask);

} // namespace pmixhost
