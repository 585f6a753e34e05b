// The table of what a backend may have beside its core. A backend's module says which facets the backends of steps
// have (BackendModule::facets), so that `pmixhost version` can show them without a job; a backend that does not have
// exactly these is not used (backend_loader.h). What the module itself can do is known by its functions. A new facet is
// a header in this folder, a function of RmBackend or of BackendModule, a bit and a row here, and a term of one of the
// two facets_of() (backend_loader.cc).
#pragma once

#include <cstdint>

namespace pmixhost {

class RmBackend;
struct BackendModule;

enum class Facet : std::uint32_t {
    questions = 1u << 0,
    allocations = 1u << 1,
    job_record = 1u << 2,
    user_notes = 1u << 3,
    roles = 1u << 4,
    spawned_step = 1u << 5,
    step_output = 1u << 6,
    // Of modules.
    session_invitations = 1u << 7,
    starter = 1u << 8,
    call_step = 1u << 9,
    own_steps = 1u << 10,
    owner_of = 1u << 11,
    lobby = 1u << 12, // of a module that makes lobbies, and of the backends of these
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
    {Facet::session_invitations, "session-door", "a session that finds its invitations by itself"},
    {Facet::starter, "starter", "the jobs that PMIx_Spawn starts"},
    {Facet::call_step, "calls", "tools on hosts where their user's job has no daemon"},
    {Facet::own_steps, "job-list", "all jobs of a user, on all hosts"},
    {Facet::owner_of, "owners", "jobs of other users, by their number alone"},
    {Facet::lobby, "lobby", "tools that have no job, and start some"},
};

// The facets that `backend` gives a pointer to.
Facets facets_of(RmBackend &backend);
// Those of the module itself, beside BackendModule::facets.
Facets facets_of(const BackendModule &module);

} // namespace pmixhost
