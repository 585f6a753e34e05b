// The Slurm backend's table (server-glue/rm/rm_backend.h): what each of its entries is made of is in a file of its own.
#include "common/process/program_beside.h"
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/call_step.h"
#include "plugins/slurm/backend/lobby.h"
#include "plugins/slurm/backend/own_steps.h"
#include "plugins/slurm/backend/session_contact.h"
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/backend/srun_starter.h"
#include "plugins/slurm/backend/step_backend.h"
#include "plugins/slurm/base/contacts_directory.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost::slurm {

namespace {

Result<void> call_running_step(const Settings &settings, const std::string &step, const std::string &message) {
    if (auto found = find_slurm(); !found)
        return found;
    return call_step(step, {settings.directory_base, contacts_directory}, {running_steps, forward_to_node}, message);
}

Result<std::vector<std::string>> own_running_steps() {
    if (auto found = find_slurm(); !found)
        return found.failure();
    return own_steps({running_jobs, running_steps, all_running_steps});
}

Result<uid_t> owner_of_job(const std::string &name) {
    auto wish = parse_step_wish(name);
    if (!wish)
        return wish.failure();
    if (auto found = find_slurm(); !found)
        return found.failure();
    return owner_of(wish->job);
}

Result<std::unique_ptr<RmBackend>> create_lobby_here(BackendContext context) {
    return create_lobby(context, {initialise_slurm, {steps_that_hold_hosts, forward_to_node}, [] {
                                      return program_beside("pmixhostd");
                                  }});
}

Result<void> give_back(const std::string &allocation) {
    initialise_slurm();
    return end_allocation(allocation);
}

} // namespace

} // namespace pmixhost::slurm

extern "C" __attribute__((visibility("default"))) const pmixhost::BackendModule pmixhost_backend = {
    pmixhost::BackendModule::current_abi,
    "slurm",
    pmixhost::facets(pmixhost::Facet::questions, pmixhost::Facet::allocations, pmixhost::Facet::job_record,
                     pmixhost::Facet::user_notes, pmixhost::Facet::roles, pmixhost::Facet::spawned_step,
                     pmixhost::Facet::step_output),
    pmixhost::slurm::create_step_backend,
    pmixhost::slurm::session_invitations,
    pmixhost::slurm::create_starter,
    pmixhost::slurm::call_running_step,
    pmixhost::slurm::own_running_steps,
    pmixhost::slurm::owner_of_job,
    pmixhost::slurm::create_lobby_here,
    pmixhost::slurm::give_back};
