// Which functions of PMIx this host has its part in, with the attributes of each that it obeys: for
// PMIX_HOST_FUNCTIONS and PMIX_HOST_ATTRIBUTES. True for the RM that it runs under: what the RM's backend has
// no facet for is not there (contrib/doc/new-backend.md). What the PMIx library does by itself is not the host's, and
// the library says it. A row that is added to a capability's upcall is added here. Pure.
#pragma once

#include "server-glue/library/info_list.h"
#include "server-glue/rm/facets.h"

#include <string>
#include <vector>

namespace pmixhost {

// What decides.
struct HostAbilities {
    Facets facets = 0;               // of the RM's backend
    bool output_is_read = false;     // tools can have what the tasks of this job write
    bool streams_are_held = false;   // by the daemon, which stands between them and the RM: they can be taken over
    bool tools_library_marks = true; // what is forwarded to a tool: SpawnAttribute::Treatment::tools_library
};

struct HostFunction {
    std::string name; // "PMIx_Spawn"; the blocking form stands for both
    std::vector<InfoList::Attribute> attributes;
};
// Without PMIx_Query_info, whose attributes are its keys (query_keys.h).
std::vector<HostFunction> host_functions(const HostAbilities &abilities);

// Those attributes for debuggers that PMIx_Spawn obeys: their keys.
std::vector<std::string> debug_keys(const HostAbilities &abilities);
// All that it obeys.
std::vector<std::string> spawn_keys(const HostAbilities &abilities);

} // namespace pmixhost
