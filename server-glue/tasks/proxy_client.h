// The proxy client: a short-lived process that connects to the server library in the name of a task
// that ended before it ever connected, and ends without finalizing. libpmix then counts that rank
// as lost and lets go of the collectives that wait for it. It needs only the client interface.
#pragma once

#include "common/base/result.h"

#include <string>
#include <vector>

namespace pmixhost {

// Starts one; `environment` is the rank's. Does not wait for it. The child is this process' own and needs no reaping
// (the server ignores SIGCHLD).
Result<void> send_proxy_client(const std::vector<std::string> &environment);

// What the proxy client process does: the body of `pmixhostd --proxy-client`.
int proxy_client_main();

} // namespace pmixhost
