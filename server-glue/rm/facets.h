// The table of what a backend may have beside its core. A backend's module says which facets it has
// (BackendModule::facets), so that `pmixhost version` can show them without a job; a backend that does not have
// exactly these is not used (backend_loader.h). A new facet is a header here, a function of RmBackend and a row.
#pragma once

#include <cstdint>

namespace pmixhost {

class RmBackend;

enum class Facet : std::uint32_t {
    questions = 1u << 0,
    allocations = 1u << 1,
    job_record = 1u << 2,
    user_notes = 1u << 3,
    roles = 1u << 4,
    spawned_step = 1u << 5,
    step_output = 1u << 6,
};

// A set of facets, one bit for each.
using Facets = std::uint32_t;
template <typename... Some> constexpr Facets facets(Some... some) {
    return (0u | ... | static_cast<std::uint32_t>(some));
}
constexpr bool has(Facets facets, Facet one) {
    return (facets & static_cast<std::uint32_t>(one)) != 0;
}

struct FacetRow {
    Facet facet;
    const char *name;  // one word, for people
    const char *gives; // what programs have of it
};
inline constexpr FacetRow facet_table[] = {
    {Facet::questions, "questions", "PMIx_Query_info of queues, allocations and the time that is left"},
    {Facet::allocations, "allocations", "PMIx_Allocation_request"},
    {Facet::job_record, "job-record", "PMIx_Log to the job's record"},
    {Facet::user_notes, "user-notes", "lines for the user while the job goes on"},
    {Facet::roles, "session", "PMIx_Publish and _Lookup, PMIx_Connect between jobs"},
    {Facet::spawned_step, "spawn", "PMIx_Spawn"},
    {Facet::step_output, "output", "PMIx_IOF_pull of jobs without io.capture"},
};

// The facets that `backend` gives a pointer to.
Facets facets_of(RmBackend &backend);

} // namespace pmixhost
