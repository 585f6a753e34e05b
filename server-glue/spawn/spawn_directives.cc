// See spawn_directives.h.
#include "server-glue/spawn/spawn_directives.h"

#include "server-glue/spawn/spawn_request.h"

#include <algorithm>
#include <pmix.h>

// Of newer headers; a client may have these.
#ifndef PMIX_DISPLAY_PROCESSORS
#define PMIX_DISPLAY_PROCESSORS "pmix.dispcpus"
#endif
#ifndef PMIX_DISPLAY_PARSEABLE_OUTPUT
#define PMIX_DISPLAY_PARSEABLE_OUTPUT "pmix.dispparse"
#endif
#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif
#ifndef PMIX_REPORT_PHYSICAL_CPUS
#define PMIX_REPORT_PHYSICAL_CPUS "pmix.repphys.cpus"
#endif
#ifndef PMIX_FWD_ENVIRONMENT
#define PMIX_FWD_ENVIRONMENT "pmix.fwdenv"
#endif
#ifndef PMIX_SPAWN_PTY
#define PMIX_SPAWN_PTY "pmix.spawn.pty"
#endif
#ifndef PMIX_PTY_TERMIO
#define PMIX_PTY_TERMIO "pmix.pty.termio"
#endif
#ifndef PMIX_PTY_WSIZE
#define PMIX_PTY_WSIZE "pmix.pty.wsize"
#endif
#ifndef PMIX_SPAWN_TARGET
#define PMIX_SPAWN_TARGET "pmix.spwn.tgt"
#endif
#ifndef PMIX_SPAWN_ALLOC
#define PMIX_SPAWN_ALLOC "pmix.spwn.alloc"
#endif

namespace pmixhost {

namespace {

using enum SpawnAttribute::Treatment;

#define PMIXHOST_SPAWN(macro, treatment)                                                                               \
    SpawnAttribute {                                                                                                   \
#macro, macro, treatment                                                                                       \
    }

// clang-format off
constexpr SpawnAttribute attributes[] = {
    // Where.
    PMIXHOST_SPAWN(PMIX_HOST, honoured),
    PMIXHOST_SPAWN(PMIX_HOSTFILE, honoured),
    PMIXHOST_SPAWN(PMIX_ADD_HOST, honoured),      // of hosts that the allocation has already
    PMIXHOST_SPAWN(PMIX_ADD_HOSTFILE, honoured),  // the same
    PMIXHOST_SPAWN(PMIX_MAPBY, honoured),
    PMIXHOST_SPAWN(PMIX_RANKBY, honoured),
    PMIXHOST_SPAWN(PMIX_BINDTO, honoured),
    PMIXHOST_SPAWN(PMIX_PPR, honoured),
    PMIXHOST_SPAWN(PMIX_MAPPER, missing),
    PMIXHOST_SPAWN(PMIX_CPUS_PER_PROC, honoured),
    PMIXHOST_SPAWN(PMIX_CPU_LIST, missing),
    PMIXHOST_SPAWN(PMIX_NO_PROCS_ON_HEAD, honoured),
    PMIXHOST_SPAWN(PMIX_NO_OVERSUBSCRIBE, honoured),
    PMIXHOST_SPAWN(PMIX_COLOCATE_PROCS, missing),
    PMIXHOST_SPAWN(PMIX_COLOCATE_NPERPROC, missing),
    PMIXHOST_SPAWN(PMIX_COLOCATE_NPERNODE, missing),
    PMIXHOST_SPAWN(PMIX_SPAWN_TARGET, missing),
    PMIXHOST_SPAWN(PMIX_SPAWN_ALLOC, missing),
    // What.
    PMIXHOST_SPAWN(PMIX_PERSONALITY, library),    // all programs get the same here
    PMIXHOST_SPAWN(PMIX_PREFIX, honoured),
    PMIXHOST_SPAWN(PMIX_WDIR, honoured),
    PMIXHOST_SPAWN(PMIX_WDIR_USER_SPECIFIED, library),
    PMIXHOST_SPAWN(PMIX_SET_SESSION_CWD, missing),
    PMIXHOST_SPAWN(PMIX_INDEX_ARGV, honoured),
    PMIXHOST_SPAWN(PMIX_APP_ARGV, library),
    PMIXHOST_SPAWN(PMIX_CMD_LINE, library),
    PMIXHOST_SPAWN(PMIX_PRELOAD_BIN, missing),
    PMIXHOST_SPAWN(PMIX_PRELOAD_FILES, missing),
    PMIXHOST_SPAWN(PMIX_SET_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_ADD_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_UNSET_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_PREPEND_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_APPEND_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_FIRST_ENVAR, honoured),
    PMIXHOST_SPAWN(PMIX_ENVARS_HARVESTED, library),
    PMIXHOST_SPAWN(PMIX_FWD_ENVIRONMENT, missing),
    PMIXHOST_SPAWN(PMIX_SETUP_APP_ENVARS, library),
    PMIXHOST_SPAWN(PMIX_NON_PMI, honoured),       // whoever never calls PMIx_Init is fine
    PMIXHOST_SPAWN(PMIX_DEBUGGER_DAEMONS, honoured),
    PMIXHOST_SPAWN(PMIX_SPAWN_TOOL, library),     // all processes may be tools, too
    PMIXHOST_SPAWN(PMIX_COSPAWN_APP, honoured),
    PMIXHOST_SPAWN(PMIX_FORKEXEC_AGENT, honoured),
    PMIXHOST_SPAWN(PMIX_EXEC_AGENT, honoured),
    PMIXHOST_SPAWN(PMIX_LAUNCHER_DAEMON, always_refused),
    PMIXHOST_SPAWN(PMIX_RUNTIME_OPTIONS, missing),
    PMIXHOST_SPAWN(PMIX_PARENT_ID, library),      // the caller is the parent; a tool's word is not taken
    PMIXHOST_SPAWN(PMIX_REQUESTOR_IS_TOOL, library),
    PMIXHOST_SPAWN(PMIX_REQUESTOR_IS_CLIENT, library),
    PMIXHOST_SPAWN(PMIX_PSET_NAME, honoured),
    // Input and output.
    PMIXHOST_SPAWN(PMIX_STDIN_TGT, honoured),
    PMIXHOST_SPAWN(PMIX_FWD_STDIN, honoured),
    PMIXHOST_SPAWN(PMIX_FWD_STDOUT, honoured),
    PMIXHOST_SPAWN(PMIX_FWD_STDERR, honoured),
    PMIXHOST_SPAWN(PMIX_FWD_STDDIAG, missing),    // no process has such a channel
    PMIXHOST_SPAWN(PMIX_MERGE_STDERR_STDOUT, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_MERGE_STDERR_STDOUT, honoured),
    PMIXHOST_SPAWN(PMIX_TAG_OUTPUT, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_TAG_OUTPUT, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_RANK_OUTPUT, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_TAG_DETAILED_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_TAG_FULLNAME_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_TIMESTAMP_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_TIMESTAMP_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_XML_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_OUTPUT_RAW, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_LOCAL_OUTPUT, tools_library),
    PMIXHOST_SPAWN(PMIX_IOF_BUFFERING_SIZE, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_BUFFERING_TIME, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_CACHE_SIZE, library), // nothing that is forwarded is dropped: who writes waits
    PMIXHOST_SPAWN(PMIX_IOF_DROP_OLDEST, library),
    PMIXHOST_SPAWN(PMIX_IOF_DROP_NEWEST, library),
    PMIXHOST_SPAWN(PMIX_OUTPUT_TO_FILE, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_OUTPUT_TO_FILE, honoured),
    PMIXHOST_SPAWN(PMIX_OUTPUT_TO_DIRECTORY, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_OUTPUT_TO_DIRECTORY, honoured),
    PMIXHOST_SPAWN(PMIX_OUTPUT_NOCOPY, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_FILE_ONLY, honoured),
    PMIXHOST_SPAWN(PMIX_IOF_FILE_PATTERN, honoured),
    PMIXHOST_SPAWN(PMIX_SPAWN_PTY, missing),
    PMIXHOST_SPAWN(PMIX_PTY_TERMIO, missing),
    PMIXHOST_SPAWN(PMIX_PTY_WSIZE, missing),
    // What is shown.
    PMIXHOST_SPAWN(PMIX_DISPLAY_MAP, missing),
    PMIXHOST_SPAWN(PMIX_DISPLAY_MAP_DETAILED, missing),
    PMIXHOST_SPAWN(PMIX_DISPLAY_ALLOCATION, missing),
    PMIXHOST_SPAWN(PMIX_DISPLAY_TOPOLOGY, missing),
    PMIXHOST_SPAWN(PMIX_REPORT_BINDINGS, missing),
    PMIXHOST_SPAWN(PMIX_SHOW_LAUNCH_PROGRESS, missing),
    PMIXHOST_SPAWN(PMIX_DISPLAY_PROCESSORS, missing),
    PMIXHOST_SPAWN(PMIX_DISPLAY_PARSEABLE_OUTPUT, missing),
    PMIXHOST_SPAWN(PMIX_REPORT_PHYSICAL_CPUS, missing),
    PMIXHOST_SPAWN(PMIX_AGGREGATE_HELP, missing),
    // While it runs, and when it ends.
    PMIXHOST_SPAWN(PMIX_TIMEOUT, honoured),
    PMIXHOST_SPAWN(PMIX_SPAWN_TIMEOUT, honoured),
    PMIXHOST_SPAWN(PMIX_JOB_TIMEOUT, honoured),
    PMIXHOST_SPAWN(PMIX_TIMEOUT_STACKTRACES, missing),
    PMIXHOST_SPAWN(PMIX_TIMEOUT_REPORT_STATE, missing),
    PMIXHOST_SPAWN(PMIX_JOB_RECOVERABLE, missing),
    PMIXHOST_SPAWN(PMIX_JOB_CONTINUOUS, missing),
    PMIXHOST_SPAWN(PMIX_MAX_RESTARTS, missing),
    PMIXHOST_SPAWN(PMIX_ABORT_NON_ZERO_TERM, honoured),
    PMIXHOST_SPAWN(PMIX_DO_NOT_LAUNCH, missing),
    PMIXHOST_SPAWN(PMIX_NOHUP, honoured),
    PMIXHOST_SPAWN(PMIX_NOTIFY_COMPLETION, honoured),
    PMIXHOST_SPAWN(PMIX_NOTIFY_JOB_EVENTS, honoured),
    PMIXHOST_SPAWN(PMIX_EVENT_SILENT_TERMINATION, honoured),
    PMIXHOST_SPAWN(PMIX_NOTIFY_PROC_TERMINATION, honoured),
    PMIXHOST_SPAWN(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, honoured),
    PMIXHOST_SPAWN(PMIX_LOG_PROC_TERMINATION, honoured),
    PMIXHOST_SPAWN(PMIX_LOG_PROC_ABNORMAL_TERMINATION, honoured),
    PMIXHOST_SPAWN(PMIX_LOG_JOB_EVENTS, honoured),
    PMIXHOST_SPAWN(PMIX_LOG_COMPLETION, honoured),
    PMIXHOST_SPAWN(PMIX_REPORT_CHILD_SEP, missing),
    PMIXHOST_SPAWN(PMIX_SPAWN_CHILD_SEP, missing),
    // Debuggers.
    PMIXHOST_SPAWN(PMIX_DEBUG_STOP_ON_EXEC, honoured),
    PMIXHOST_SPAWN(PMIX_DEBUG_STOP_IN_INIT, honoured),
    PMIXHOST_SPAWN(PMIX_DEBUG_STOP_IN_APP, honoured),
    PMIXHOST_SPAWN(PMIX_DEBUG_TARGET, honoured),
    PMIXHOST_SPAWN(PMIX_DEBUG_DAEMONS_PER_PROC, honoured),
    PMIXHOST_SPAWN(PMIX_DEBUG_DAEMONS_PER_NODE, honoured),
};
// clang-format on
#undef PMIXHOST_SPAWN

} // namespace

std::uint8_t forwarded_channel(std::string_view key) {
    return key == PMIX_FWD_STDIN    ? PMIX_FWD_STDIN_CHANNEL
           : key == PMIX_FWD_STDOUT ? PMIX_FWD_STDOUT_CHANNEL
           : key == PMIX_FWD_STDERR ? PMIX_FWD_STDERR_CHANNEL
                                    : 0;
}

// PMIX_FWD_STDIN has a rank (SpawnPlan::pushed_rank).
std::uint8_t forwarded_channels(std::span<const wire::SpawnDirective> directives) {
    std::uint8_t channels = 0;
    for (const auto &directive : directives) {
        bool is_rank = directive.kind == static_cast<std::uint8_t>(SpawnValue::number) &&
                       directive.key == PMIX_FWD_STDIN &&
                       static_cast<std::uint32_t>(directive.number) != PMIX_RANK_INVALID; // nobody, as launchers say it
        bool is_yes = directive.kind == static_cast<std::uint8_t>(SpawnValue::flag) && directive.number != 0;
        if (is_rank || is_yes)
            channels |= forwarded_channel(directive.key);
    }
    return channels;
}

bool is_about_output_files(std::string_view key) {
    static constexpr std::string_view keys[] = {
        PMIX_OUTPUT_TO_FILE, PMIX_IOF_OUTPUT_TO_FILE, PMIX_OUTPUT_TO_DIRECTORY, PMIX_IOF_OUTPUT_TO_DIRECTORY,
        PMIX_OUTPUT_NOCOPY,  PMIX_IOF_FILE_ONLY,      PMIX_IOF_FILE_PATTERN,
    };
    return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

void leave_formats_to_library(wire::SpawnRequest &of_tool) {
    constexpr std::uint8_t output = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
    if ((forwarded_channels(of_tool.directives) & output) != output)
        return;
    static constexpr std::string_view formats[] = {
        PMIX_TAG_OUTPUT,      PMIX_IOF_TAG_OUTPUT,   PMIX_IOF_TAG_DETAILED_OUTPUT, PMIX_IOF_TAG_FULLNAME_OUTPUT,
        PMIX_IOF_RANK_OUTPUT, PMIX_TIMESTAMP_OUTPUT, PMIX_IOF_TIMESTAMP_OUTPUT,    PMIX_IOF_XML_OUTPUT,
        PMIX_IOF_OUTPUT_RAW,  PMIX_IOF_LOCAL_OUTPUT,
    };
    std::erase_if(of_tool.directives, [](const auto &directive) {
        return std::find(std::begin(formats), std::end(formats), directive.key) != std::end(formats);
    });
}

std::span<const SpawnAttribute> spawn_attributes() {
    return attributes;
}

const SpawnAttribute *find_spawn_attribute(std::string_view key) {
    auto found = std::find_if(std::begin(attributes), std::end(attributes),
                              [&](const SpawnAttribute &entry) { return entry.key == key; });
    return found == std::end(attributes) ? nullptr : found;
}

} // namespace pmixhost
