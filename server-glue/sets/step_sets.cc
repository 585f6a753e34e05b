// See step_sets.h.
#include "server-glue/sets/step_sets.h"

#include "common/text/printable.h"
#include "server-glue/library/pmix_library.h"

#include <pmix.h>

namespace pmixhost {

void StepSets::define_set(const std::string &name, const Bytes &nspace, const std::vector<Rank> &ranks) {
    context_.library->define_process_set(name, nspace, ranks, [this, name](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            context_.log.warning("the PMIx library does not take the process set {}: {}", printable(name),
                                 PMIx_Error_string(status));
    });
}

void StepSets::delete_set(const std::string &name) {
    context_.library->delete_process_set(name);
}

void StepSets::name_taken(const std::string &name, const Bytes &nspace) {
    context_.log.warning("the process set {} of {} is not known here: there is another of that name", printable(name),
                         printable(nspace));
}

} // namespace pmixhost
