// What a user says at the door of a gate (gate.door) who wants something of a job of another user, and hears. The door
// is a socket of this host (AF_UNIX, SOCK_SEQPACKET), so the kernel says who that is. The gate asks the site's rules,
// and hands the connection to the desk of the job's user, with the word that it has judged.
//
//     visit UID JOB         to the gate: whose job, by number, and which, as the resource manager's users call it. For
//                           who may do everything there; of a desk, UID is who asks
//     run UID JOB           the same, with a command (asked_run.h) and its words, a line each. Who may do everything
//     COMMAND               visits; for who may do what the command takes, the desk runs it
//     WORD ...
//     serving RENDEZVOUS    from the desk, of a visit: where tools of who asks may come, in the text of a rendezvous
//                           file. It serves for as long as the connection is open
//     ready                 from the desk, of a run: it waits for two pipes
//     pipes                 to the desk, with two descriptors: where the command's output and its errors go
//     ended CODE            from the desk: so the command has ended. It is ended when the connection goes before
//     failed KIND TEXT      from either (desk_word.h)
//     refusals              to the gate: has it refused tools of mine? For whom the kernel says, and nobody else
//     refused COUNT FIRST LAST TEXT
//                           from the gate: so often, the first time and the last so many seconds ago, and why then; or
//                           "refused 0"
#pragma once

#include "common/base/result.h"
#include "common/rendezvous/asked_run.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// A user, and a job: at the door whose it is, on the way to the desk who asks.
struct Visit {
    uid_t user = 0;
    std::string job;
    // Nothing: for who may do everything. Else what is to be run; at the door, for who may not.
    std::optional<AskedRun> run = std::nullopt;
};
// `directory`: gate.door.
inline std::string gate_door_path(const std::string &directory) {
    return directory + "/door";
}
inline constexpr std::size_t longest_visited_job = 128; // bytes

std::string visit_word(const Visit &visit);
// Fails (invalid). What a run's words mean is not looked at, but they are within AskedRun's bounds, and printable.
Result<Visit> parse_visit(std::string_view word);

inline constexpr std::string_view run_ready = "ready", run_pipes = "pipes";
std::string run_ended(int code);
// The code. Fails as parse_desk_word() does.
Result<int> parse_run_ended(std::string_view word);

inline constexpr std::string_view asks_for_refusals = "refusals";
// What the gate has refused of one user's tools. libpmix hands a tool no reason (contrib/doc/decisions/gate.md).
struct Refusals {
    std::uint64_t count = 0;
    std::chrono::seconds first{0}, last{0}; // ago; 0 where there are none
    std::string why;                        // the last time; one line
};
std::string refusals_word(const Refusals &refusals);
// Fails as parse_desk_word() does: an earlier gate does not know what it is asked.
Result<Refusals> parse_refusals(std::string_view word);

} // namespace pmixhost
