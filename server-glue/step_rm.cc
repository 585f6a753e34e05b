// The part of StepServer that brings processes' wishes to the RM and its news to them.
#include "server-glue/step_server.h"

#include "common/config_options.h"

#include <pmix.h>

namespace pmixhost {

void StepServer::allocate(AllocationAsk request) {
    if (request.refused == PMIX_SUCCESS) {
        for (const auto &key : request.unsupported)
            log_.info("rank {} asked for an allocation with {}, which has no effect", request.caller.rank,
                      printable(key));
    }
    allocations_.request(loop_.now(), std::move(request));
}

void StepServer::allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                          std::function<void(Result<RmAllocated>)> done) {
    backend_.allocate(id, std::move(request), deadline, std::move(done));
}

void StepServer::abandon_allocation(std::uint64_t id) { backend_.abandon_allocation(id); }

void StepServer::refused(const Process &caller, pmix_status_t status, const std::string &why) {
    log_.info("an allocation request of rank {} is answered {}: {}", caller.rank,
              PMIx_Error_string(status), printable(why));
}

} // namespace pmixhost
