// What the failure of a call is to the user of a command. For the functions that as_tool() runs (tool_process.h).
#pragma once

#include <pmix.h>

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace pmixhost {

// `call`: its name. `action`: of the rules for tools, what it needs. Begins with '!'.
inline std::string failed_call(std::string_view call, pmix_status_t status, std::string_view action) {
    if (status == PMIX_ERR_NO_PERMISSIONS)
        return fmt::format(
            "!the rules for tools refuse it; next: `pmixhost policy explain --action {}` shows which one "
            "does",
            action);
    const char *next =
        status == PMIX_ERR_TIMEOUT         ? "; next: more time (--timeout), or pmixhost doctor --job JOB"
        : status == PMIX_ERR_NOT_SUPPORTED ? "; next: pmixhost version shows what can be done here"
        : status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION
            ? "; next: pmixhost servers shows whether the job is still there, and pmixhost doctor why not"
            : "";
    return fmt::format("!{}: {}{}", call, PMIx_Error_string(status), next);
}

} // namespace pmixhost
