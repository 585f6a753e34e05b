// See unmended_faults.h.
#include "server-glue/library/unmended_faults.h"

#include "config.h"
#include "server-glue/library/library_version.h"

#include <fmt/format.h>
#include <pmix_version.h>

namespace pmixhost {

LibraryHeaders LibraryHeaders::here() {
    LibraryHeaders headers;
    headers.of_this_library = library_is_of_headers();
#ifdef PMIXHOST_HAVE_PMIX_STORE_TABLE
    headers.store_table = true;
#endif
#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY
    headers.objects = true;
#endif
    return headers;
}

std::vector<std::string> unmended_faults(const LibraryHeaders &headers) {
    std::vector<std::string> all;
    auto add = [&](bool there, bool compiled, std::string_view what) {
        if (!there || (headers.of_this_library && compiled))
            return;
        std::string why = headers.of_this_library ? "without the library's own headers"
                                                  : fmt::format("for {}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR,
                                                                PMIX_VERSION_RELEASE);
        all.push_back(
            fmt::format("with libpmix {} {} (pmixhost was compiled {})", text_of(library_version()), what, why));
    };
    add(library_hides_failed_collectives(), headers.store_table,
        "a fence or connect that fails is a success for some processes");
    add(library_answers_iof_deregistrations_astray(), headers.objects,
        "a tool's PMIx_IOF_deregister may fail although it is done");
    add(library_keeps_refused_pulls(), headers.objects,
        "a tool that may not read output gets what spawned jobs write for others");
    add(library_drops_refusals_of_connected_servers(), headers.objects,
        "a question that a debugged job's server refuses is not found, and not refused");
    add(library_prints_output_for_tools(), headers.objects,
        "what jobs write that a debugger has its launcher spawn comes as the launcher's output");
    return all;
}

} // namespace pmixhost
