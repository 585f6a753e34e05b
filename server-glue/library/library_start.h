// How libpmix is started: the environment that it reads, the directives of PMIx_server_init, and what is looked at
// before anybody is let in. What is asked of it afterwards is pmix_library.h.
#pragma once

#include "common/config/settings.h"
#include "server-glue/guard/listener_takeover.h"
#include "server-glue/library/pmix_library.h"

namespace pmixhost {

// Sets what the library takes from the process' environment alone: the sizes of its shared data store for jobs of
// up to so many processes, how many events it keeps for late registrants and for how long. To be called before
// the process has a second thread: a change of the environment while another thread reads it crashes that thread.
void set_library_environment(const Settings &settings, Rank ranks);
// What the store's index of so many processes takes, in bytes (rank_meta_info, dstore_base.h), at most as many as
// by default. Clients that do not know of it assume those, and must find nobody beyond it.
std::size_t store_index_bytes(Rank ranks);

// Has PMIx_server_finalize called by whoever has it, whatever it says.
struct StartedLibrary {
    // Failure (unsupported): strangers could reach it beside the guard, so it has to be ended at once. What follows is
    // empty then, but `takeover` and what is said of the topology.
    Result<void> stands_behind_guard;
    std::unique_ptr<ListenerTakeover> takeover; // has its listener
    std::string address;                        // of that; empty if it cannot be told
    std::shared_ptr<Topology> topology;         // lent to the library until its end; null: it has found its own
    std::string no_topology;                    // why, where one was to be lent
    std::string not_mended; // what to say of failed collectives that are none for all (failed_collective.h), or empty
};
// As PmixLibrary::start(), of which it is a part. In the library thread, once in a process. Fails (system) where the
// library does not start, and as ListenerTakeover::create().
Result<StartedLibrary> start_library(const PmixLibrary::Options &options, pmix_server_module_t *module,
                                     std::unique_ptr<ListenerTakeover> listening);

} // namespace pmixhost
