// PMIX_QUERY_ATTRIBUTE_SUPPORT goes to the host: PMIx_Query_info_nb() in libpmix' own name, which its server (to 5.0.6)
// calls in its progress thread for what its clients ask. The library would answer by itself, and before 4.2.5 it takes
// one of its structures for another one then: any process or tool that asks crashes the server, and with it the step
// (contrib/doc/decisions/libpmix.md, "Queries"). So does a question without a key, in any version.
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include "server-glue/library/host_query.h"
#include "server-glue/library/library_version.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) pmix_status_t
PMIx_Query_info_nb(pmix_query_t queries[], std::size_t count, pmix_info_cbfunc_t callback, void *data) {
    static const auto next = reinterpret_cast<decltype(&PMIx_Query_info_nb)>(dlsym(RTLD_NEXT, "PMIx_Query_info_nb"));
    if (!queries || count == 0)
        return PMIX_ERR_BAD_PARAM;
    auto has_no_key = [](const pmix_query_t &query) { return !query.keys || !query.keys[0]; };
    auto wants_attributes = [](const pmix_query_t &query) {
        return std::strcmp(query.keys[0], PMIX_QUERY_ATTRIBUTE_SUPPORT) == 0;
    };
    if (std::any_of(queries, queries + count, has_no_key))
        return PMIX_ERR_BAD_PARAM;
    auto host = pmixhost::host_query().load();
    if (host && pmixhost::library_answers_attributes_astray() &&
        std::any_of(queries, queries + count, wants_attributes))
        return host(nullptr, queries, count, callback, data);
    return next(queries, count, callback, data);
}
