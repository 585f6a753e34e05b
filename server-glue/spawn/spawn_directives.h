// Every attribute that the installed PMIx headers have for PMIx_Spawn, and what becomes of it: the
// one table that the plan, the list of what is supported and the test of completeness read.
#pragma once

#include "common/wire/spawn_messages.h"

#include <span>
#include <string_view>

namespace pmixhost {

struct SpawnAttribute {
    enum class Treatment {
        honoured,       // it has its effect
        library,        // the PMIx library does it, or it tells the host nothing
        tools_library,  // done by the library of a tool that the output is forwarded to; otherwise missing
        missing,        // refused when required, without effect otherwise
        always_refused, // without it something else would be run than was asked for
    };
    std::string_view name; // "PMIX_WDIR"
    std::string_view key;  // "pmix.wdir"
    Treatment treatment;
};

std::span<const SpawnAttribute> spawn_attributes();
// Null for a key that is no spawn attribute.
const SpawnAttribute *find_spawn_attribute(std::string_view key);

// The channel, of pmix_iof_channel_t, that PMIX_FWD_STDIN, _STDOUT or _STDERR is about; 0: it is none of these.
std::uint8_t forwarded_channel(std::string_view key);
// All that are asked for.
std::uint8_t forwarded_channels(std::span<const wire::SpawnDirective> directives);

// Is it PMIX_IOF_OUTPUT_TO_FILE or of its kin?
bool is_about_output_files(std::string_view key);

// What is forwarded to a tool its library prints, with the marks that the tool's request names (tag, rank, time, XML):
// takes these directives from such a request, if both streams are forwarded. Nobody else makes such marks where a
// process is the caller, or the RM prints.
void leave_formats_to_library(wire::SpawnRequest &of_tool);

} // namespace pmixhost
