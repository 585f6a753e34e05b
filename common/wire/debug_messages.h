// Where the processes of a job have stopped for a debugger (server-glue/debug/).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/names.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

struct RanksStopped {
    static constexpr std::uint8_t type = 210;
    static constexpr const char *name = "RanksStopped";
    static constexpr const char *text =
        "to the first host that has processes which shall stop there: those of this host have stopped, or have ended";
    std::uint8_t place = 0;
    Bytes breakpoint;
    std::vector<RankRange> ranks;
    std::uint32_t round = 0;
    static constexpr void fields(auto &&field) {
        field(&RanksStopped::place, "place", "0 first instruction, 1 PMIx_Init, 2 a place of the program's own");
        field(&RanksStopped::breakpoint, "breakpoint", "PMIX_BREAKPOINT");
        field(&RanksStopped::ranks, "ranks", "of this host, which have stopped there");
        field(&RanksStopped::round, "round",
              "how often each of them has, at least, counting from 1; 4294967295: none is left");
    }
};

// Between a job and who waits for its end, by way of the session: the debugger daemons beside it, and the host that has
// spawned it when the launcher has gone.
struct JobEndRequest {
    static constexpr std::uint8_t type = 211;
    static constexpr const char *name = "JobEndRequest";
    static constexpr const char *text =
        "to the session, and from it to a daemon of that namespace: tell when all of its processes have ended";
    std::uint64_t id = 0;
    Bytes nspace;
    static constexpr void fields(auto &&field) {
        field(&JobEndRequest::id, "id", "chosen by who sends it");
        field(&JobEndRequest::nspace, "nspace", "its name");
    }
};
struct JobEndReply {
    static constexpr std::uint8_t type = 212;
    static constexpr const char *name = "JobEndReply";
    static constexpr const char *text = "they have, or why it cannot be told";
    using Answers = JobEndRequest;
    static constexpr Relayed relayed{.waits_for_people = true, .ends = true};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::int32_t exit_code = 0;
    static constexpr void fields(auto &&field) {
        field(&JobEndReply::id, "id", "as in JobEndRequest");
        field(
            &JobEndReply::status, "status",
            "0 or a PMIx status; PMIX_ERR_NOT_FOUND: there is no such job any more; PMIX_ERR_LOST_CONNECTION: who was "
            "asked leaves");
        field(&JobEndReply::exit_code, "exit_code",
              "of the first that ended badly, as a shell reports it; -1: not known");
    }
};

} // namespace pmixhost::wire
