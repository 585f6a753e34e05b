// Events of the library's monitors (PMIx_Process_monitor). The library tells them to the processes of this host
// alone; this listens to them, and passes each on as if a process had notified it (NotifyAsk::of_library).
#pragma once

#include <pmix_common.h>

#include <functional>

namespace pmixhost {

// Called once, when the library has started; any thread. The source of an event may be of any host. `done` comes in
// libpmix' thread.
void listen_to_monitors(std::function<void(pmix_status_t)> done);
// Is it one of the codes that monitors alone notify?
bool is_monitors(pmix_status_t code);

} // namespace pmixhost
