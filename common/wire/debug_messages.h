// Where the processes of a job have stopped for a debugger (server-glue/debug/).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/names.h"

namespace pmixhost::wire {

struct RanksStopped {
    static constexpr std::uint8_t type = 210;
    static constexpr const char *name = "RanksStopped";
    static constexpr const char *text =
        "to the first host that has processes which shall stop there: those of this host have stopped, or have ended";
    std::uint8_t place = 0;
    Bytes breakpoint;
    std::vector<RankRange> ranks;
    static constexpr void fields(auto &&field) {
        field(&RanksStopped::place, "place", "0 first instruction, 1 PMIx_Init, 2 a place of the program's own");
        field(&RanksStopped::breakpoint, "breakpoint", "PMIX_BREAKPOINT");
        field(&RanksStopped::ranks, "ranks", "of this host, which have stopped there");
    }
};

} // namespace pmixhost::wire
