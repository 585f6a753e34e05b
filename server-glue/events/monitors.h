// What the library's monitors find (PMIx_Process_monitor) it tells the processes of this host alone. Listened to, it
// becomes an event as if a process had notified it (NotifyAsk::of_library).
#pragma once

#include <pmix_common.h>

#include <functional>

namespace pmixhost {

// Once, when the library has started; any thread. What comes is of whichever host the process is. `done` comes in
// libpmix' thread.
void listen_to_monitors(std::function<void(pmix_status_t)> done);
// Is it one of the codes that monitors alone notify?
bool is_monitors(pmix_status_t code);

} // namespace pmixhost
