// The part of StepServer that knows of process sets.
#include "server-glue/step_server.h"

#include "common/config_options.h"

#include <pmix.h>

namespace pmixhost {

void StepServer::define_set(const std::string &name, const Bytes &nspace, const std::vector<Rank> &ranks) {
    library_->define_process_set(name, nspace, ranks, [this, name](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            log_.warning("the PMIx library does not take the process set {}: {}", printable(name),
                         PMIx_Error_string(status));
    });
}

void StepServer::delete_set(const std::string &name) { library_->delete_process_set(name); }

void StepServer::name_taken(const std::string &name, const Bytes &nspace) {
    log_.warning("the process set {} of {} is not known here: there is another of that name",
                 printable(name), printable(nspace));
}

} // namespace pmixhost
