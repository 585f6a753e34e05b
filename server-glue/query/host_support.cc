// See host_support.h.
#include "server-glue/query/host_support.h"

#include "server-glue/spawn/spawn_directives.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

namespace {

struct HostAttribute {
    const char *name, *key;
    bool there = true;
};
struct FunctionRow {
    const char *name;
    bool there;
    std::vector<HostAttribute> attributes;
};

#define PMIXHOST_ATTRIBUTE(macro)                                                                                      \
    { #macro, macro }

std::vector<FunctionRow> function_rows(const HostAbilities &host) {
    constexpr bool always = true;
    const bool session = has(host.facets, Facet::roles), allocations = has(host.facets, Facet::allocations),
               record = has(host.facets, Facet::job_record);
    // Who has spawned a job can have its streams forwarded, whatever becomes of those of the own one.
    const bool spawns = has(host.facets, Facet::spawned_step), held = host.streams_are_held;
    // clang-format off
    return {
        {"PMIx_Abort", always, {}},
        {"PMIx_Fence", always, {PMIXHOST_ATTRIBUTE(PMIX_COLLECT_DATA), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Get", always,
         {PMIXHOST_ATTRIBUTE(PMIX_GET_REFRESH_CACHE), PMIXHOST_ATTRIBUTE(PMIX_REQUIRED_KEY),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Publish", session,
         {PMIXHOST_ATTRIBUTE(PMIX_USERID), PMIXHOST_ATTRIBUTE(PMIX_GRPID), PMIXHOST_ATTRIBUTE(PMIX_RANGE),
          PMIXHOST_ATTRIBUTE(PMIX_EVENT_CUSTOM_RANGE), PMIXHOST_ATTRIBUTE(PMIX_PERSISTENCE),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Lookup", session,
         {PMIXHOST_ATTRIBUTE(PMIX_USERID), PMIXHOST_ATTRIBUTE(PMIX_GRPID), PMIXHOST_ATTRIBUTE(PMIX_RANGE),
          PMIXHOST_ATTRIBUTE(PMIX_EVENT_CUSTOM_RANGE), PMIXHOST_ATTRIBUTE(PMIX_WAIT),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Unpublish", session,
         {PMIXHOST_ATTRIBUTE(PMIX_USERID), PMIXHOST_ATTRIBUTE(PMIX_RANGE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Connect", session, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Disconnect", session, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Register_event_handler", always, {}},
        {"PMIx_Notify_event", always, {PMIXHOST_ATTRIBUTE(PMIX_EVENT_CUSTOM_RANGE)}},
        {"PMIx_Log", always,
         {PMIXHOST_ATTRIBUTE(PMIX_LOG_STDOUT), PMIXHOST_ATTRIBUTE(PMIX_LOG_STDERR),
          {"PMIX_LOG_JOB_RECORD", PMIX_LOG_JOB_RECORD, record}, PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL_ADDR), PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL_SENDER_ADDR),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL_SUBJECT), PMIXHOST_ATTRIBUTE(PMIX_LOG_EMAIL_MSG),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_ONCE), PMIXHOST_ATTRIBUTE(PMIX_LOG_TIMESTAMP),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_TIMESTAMP_OUTPUT), PMIXHOST_ATTRIBUTE(PMIX_LOG_TAG_OUTPUT),
          PMIXHOST_ATTRIBUTE(PMIX_LOG_XML_OUTPUT)}},
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
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_CHECKPOINT_SIGNAL), PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_CHECKPOINT_METHOD),
          PMIXHOST_ATTRIBUTE(PMIX_JOB_CTRL_PREEMPTIBLE), PMIXHOST_ATTRIBUTE(PMIX_RANGE),
          PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Group_construct", always,
         {PMIXHOST_ATTRIBUTE(PMIX_GROUP_ASSIGN_CONTEXT_ID), PMIXHOST_ATTRIBUTE(PMIX_GROUP_OPTIONAL),
          PMIXHOST_ATTRIBUTE(PMIX_GROUP_FT_COLLECTIVE), PMIXHOST_ATTRIBUTE(PMIX_GROUP_NOTIFY_TERMINATION),
          PMIXHOST_ATTRIBUTE(PMIX_GROUP_ENDPT_DATA), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Group_destruct", always, {PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Get_credential", always, {PMIXHOST_ATTRIBUTE(PMIX_CRED_TYPE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_Validate_credential", always, {PMIXHOST_ATTRIBUTE(PMIX_CRED_TYPE), PMIXHOST_ATTRIBUTE(PMIX_TIMEOUT)}},
        {"PMIx_tool_init", always, {}},
        {"PMIx_IOF_pull", host.output_is_read || spawns,
         {PMIXHOST_ATTRIBUTE(PMIX_IOF_CACHE_SIZE), PMIXHOST_ATTRIBUTE(PMIX_IOF_DROP_OLDEST),
          PMIXHOST_ATTRIBUTE(PMIX_IOF_DROP_NEWEST), PMIXHOST_ATTRIBUTE(PMIX_IOF_BUFFERING_SIZE),
          PMIXHOST_ATTRIBUTE(PMIX_IOF_BUFFERING_TIME), PMIXHOST_ATTRIBUTE(PMIX_IOF_COPY),
          {"PMIX_IOF_REDIRECT", PMIX_IOF_REDIRECT, held}}},
        {"PMIx_IOF_deregister", host.output_is_read || spawns, {}},
        {"PMIx_IOF_push", held || spawns, {PMIXHOST_ATTRIBUTE(PMIX_IOF_COMPLETE)}},
    };
    // clang-format on
}
#undef PMIXHOST_ATTRIBUTE

template <typename Each> void each_spawn_attribute(const HostAbilities &abilities, Each each) {
    for (const auto &attribute : spawn_attributes()) {
        using enum SpawnAttribute::Treatment;
        if (attribute.treatment != missing && attribute.treatment != always_refused &&
            (attribute.treatment != tools_library || abilities.tools_library_marks))
            each(attribute);
    }
}

} // namespace

std::vector<HostFunction> host_functions(const HostAbilities &abilities) {
    std::vector<HostFunction> out;
    for (const auto &row : function_rows(abilities)) {
        if (!row.there)
            continue;
        HostFunction &function = out.emplace_back();
        function.name = row.name;
        for (const auto &attribute : row.attributes) {
            if (attribute.there)
                function.attributes.push_back({attribute.name, attribute.key, PMIX_UNDEF});
        }
    }
    if (has(abilities.facets, Facet::spawned_step)) {
        HostFunction &spawn = out.emplace_back();
        spawn.name = "PMIx_Spawn";
        each_spawn_attribute(abilities, [&](const SpawnAttribute &attribute) {
            spawn.attributes.push_back({std::string(attribute.name), std::string(attribute.key), PMIX_UNDEF});
        });
    }
    return out;
}

std::vector<std::string> spawn_keys(const HostAbilities &abilities) {
    std::vector<std::string> out;
    each_spawn_attribute(abilities, [&](const SpawnAttribute &attribute) { out.emplace_back(attribute.key); });
    return out;
}

std::vector<std::string> debug_keys(const HostAbilities &abilities) {
    std::vector<std::string> out;
    each_spawn_attribute(abilities, [&](const SpawnAttribute &attribute) {
        if (attribute.name.starts_with("PMIX_DEBUG"))
            out.emplace_back(attribute.key);
    });
    return out;
}

} // namespace pmixhost
