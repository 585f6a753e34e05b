// See host_support.h.
#include "server-glue/query/host_support.h"

#include "server-glue/spawn/spawn_directives.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

namespace {

constexpr Facets always = 0;

struct HostAttribute {
    const char *name, *key;
    Facets needs = always;
};
struct FunctionRow {
    const char *name;
    Facets needs;
    std::vector<HostAttribute> attributes;
};

#define PMIXHOST_ATTRIBUTE(macro)                                                                                      \
    { #macro, macro }

const std::vector<FunctionRow> &function_rows() {
    constexpr Facets session = facets(Facet::roles), allocations = facets(Facet::allocations),
                     record = facets(Facet::job_record);
    // clang-format off
    static const std::vector<FunctionRow> rows = {
        {"PMIx_Abort", always, {}},
        {"PMIx_Fence", always, {PMIXHOST_ATTRIBUTE(PMIX_COLLECT_DATA), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Get", always, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Publish", session,
         {PMIXHOST_ATTRIBUTE(PMIX_RANGE), PMIXHOST_ATTRIBUTE(PMIX_PERSISTENCE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Lookup", session,
         {PMIXHOST_ATTRIBUTE(PMIX_RANGE), PMIXHOST_ATTRIBUTE(PMIX_WAIT), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Unpublish", session, {PMIXHOST_ATTRIBUTE(PMIX_RANGE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Connect", session, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Disconnect", session, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Register_event_handler", always, {}},
        {"PMIx_Notify_event", always, {PMIXHOST_ATTRIBUTE(PMIX_EVENT_CUSTOM_RANGE)}},
        {"PMIx_Log", always,
         {PMIXHOST_ATTRIBUTE(PMIX_LOG_STDOUT), PMIXHOST_ATTRIBUTE(PMIX_LOG_STDERR),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_SYSLOG), PMIXHOST_ATTRIBUTE(PMIX_LOG_LOCAL_SYSLOG),
          {"PMIX_LOG_JOB_RECORD", PMIX_LOG_JOB_RECORD, record}, PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_ONCE), PMIXHOST_ATTRIBUTE(PMIX_LOG_TIMESTAMP),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_TIMESTAMP_OUTPUT), PMIXHOST_ATTRIBUTE(PMIX_LOG_TAG_OUTPUT)}},
        {"PMIx_Allocation_request", allocations,
         {PMIXHOST_ATTRIBUTE(PMIX_ALLOC_REQ_ID), PMIXHOST_ATTRIBUTE(PMIX_ALLOC_ID),
          PMIXHOST_ATTRIBUTE(PMIX_ALLOC_NUM_NODES), PMIXHOST_ATTRIBUTE(PMIX_ALLOC_NODE_LIST),
          PMIXHOST_ATTRIBUTE(PMIX_ALLOC_NUM_CPUS), PMIXHOST_ATTRIBUTE(PMIX_ALLOC_MEM_SIZE),
          PMIXHOST_ATTRIBUTE(PMIX_ALLOC_TIME), PMIXHOST_ATTRIBUTE(PMIX_ALLOC_QUEUE),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Job_control", always,
         {PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_ID), PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_PAUSE),
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_RESUME), PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_KILL),
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_TERMINATE), PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_SIGNAL),
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_CHECKPOINT), PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_CHECKPOINT_EVENT),
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_CHECKPOINT_SIGNAL), PMIXHOST_ATTRIBUTE(PMIX_RANGE),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Group_construct", always,
         {PMIXHOST_ATTRIBUTE(PMIX_GROUP_ASSIGN_CONTEXT_ID), PMIXHOST_ATTRIBUTE(PMIX_GROUP_OPTIONAL),
          PMIXHOST_ATTRIBUTE(PMIX_GROUP_FT_COLLECTIVE), PMIXHOST_ATTRIBUTE(PMIX_GROUP_NOTIFY_TERMINATION),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Group_destruct", always, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Get_credential", always, {PMIXHOST_ATTRIBUTE(PMIX_CRED_TYPE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Validate_credential", always, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_tool_init", always, {}},
    };
    // clang-format on
    return rows;
}
#undef PMIXHOST_ATTRIBUTE

bool is_there(Facets needs, Facets facets) {
    return (needs & facets) == needs;
}

template <typename Each> void each_spawn_attribute(Each each) {
    for (const auto &attribute : spawn_attributes()) {
        using enum SpawnAttribute::Treatment;
        if (attribute.treatment != missing && attribute.treatment != always_refused)
            each(attribute);
    }
}

} // namespace

std::vector<HostFunction> host_functions(Facets facets) {
    std::vector<HostFunction> out;
    for (const auto &row : function_rows()) {
        if (!is_there(row.needs, facets))
            continue;
        HostFunction &function = out.emplace_back();
        function.name = row.name;
        for (const auto &attribute : row.attributes) {
            if (is_there(attribute.needs, facets))
                function.attributes.push_back({attribute.name, attribute.key, PMIX_UNDEF});
        }
    }
    if (has(facets, Facet::spawned_step)) {
        HostFunction &spawn = out.emplace_back();
        spawn.name = "PMIx_Spawn";
        each_spawn_attribute([&](const SpawnAttribute &attribute) {
            spawn.attributes.push_back({std::string(attribute.name), std::string(attribute.key), PMIX_UNDEF});
        });
    }
    return out;
}

std::vector<std::string> spawn_keys() {
    std::vector<std::string> out;
    each_spawn_attribute([&](const SpawnAttribute &attribute) { out.emplace_back(attribute.key); });
    return out;
}

std::vector<std::string> debug_keys() {
    std::vector<std::string> out;
    each_spawn_attribute([&](const SpawnAttribute &attribute) {
        if (attribute.name.starts_with("PMIX_DEBUG"))
            out.emplace_back(attribute.key);
    });
    return out;
}

} // namespace pmixhost
