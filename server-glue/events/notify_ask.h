// An event that a process of this host, or a monitor of the library, notifies. When it comes it has been answered,
// and the processes of this host have it already.
#pragma once

#include "common/base/bytes.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <atomic>
#include <memory>
#include <string>

namespace pmixhost {

// How many bytes of events are under way in this daemon: counted by the library's thread, while the loop's thread
// tells what waits for the network. The upcalls have theirs from UpcallHandlers::shared().
struct EventGate {
    std::atomic<std::uint64_t> posted{0};  // not yet seen by the loop
    std::atomic<std::uint64_t> waiting{0}; // for other hosts
    std::uint64_t most = 16ull << 20;      // of both together; more is refused before it is copied
    // The namespace of this server. What it notifies itself the library hands on to its host as well, which is where it
    // comes from (_notify_client_event of pmix_event_notification.c). It does not change once there are upcalls.
    std::string server_nspace;
};
struct NotifyAsk {
    Process source;
    pmix_status_t status = 0;
    std::uint8_t range = PMIX_RANGE_UNDEF;
    std::vector<Process> custom; // for PMIX_RANGE_CUSTOM
    std::uint32_t info_count = 0;
    Bytes info;                      // as PMIx_Data_pack makes it
    std::shared_ptr<void> admission; // its place in EventGate::posted
    bool of_library = false;         // one of its monitors found it
};

} // namespace pmixhost
