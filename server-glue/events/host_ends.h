// Ends of processes of one host, on their way to a debugger that has started the starter of their step (srun): the
// starter passes on lines of text that it does not read (common/start/spawn_channel.h).
//   HOST NAME TIME INDEX RANK:CODE:TERM_STATUS:EXIT_CODE:ENDS_JOB,... FIRST-LAST,...
// with "-" where there is no such end.
#pragma once

#include "common/wire/event_messages.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct HostEnds {
    std::uint32_t host = 0;                   // its index in the step
    std::string name = {};                    // not empty, without spaces
    std::uint64_t time = 0;                   // when the first of all that ended together was seen ending badly, in
                                              // microseconds of the epoch
    std::uint32_t index = 0;                  // of this part of them; lines may be heard in another order
    std::vector<wire::EndedProcess> bad = {}; // in the order in which they ended
    std::vector<wire::RankRange> well = {};   // with 0, as far as is known
};

inline constexpr std::size_t longest_host_ends = 4000; // bytes of a line; about 180 bad ends
inline constexpr std::size_t most_host_ends = 8;       // lines of those that ended together

struct HostEndLines {
    std::vector<std::string> lines; // at least one, also where none has ended
    std::size_t left_out = 0;       // bad ends, and ranges of others, for which there is no room
};
HostEndLines lines_of(const HostEnds &ends);
// Nothing when it is no such line.
std::optional<HostEnds> parse_host_ends(std::string_view line);

} // namespace pmixhost
