// What a user says at the door of a gate (gate.door) who wants to come to a job of another user, and hears. The door
// is a socket of this host (AF_UNIX, SOCK_SEQPACKET), so the kernel says who that is. The gate asks the site's rules
// whether that user may do everything there, and hands the connection to the desk of the job's user.
//
//     visit UID JOB         to the gate: whose job, by number, and which, as the resource manager's users call it
//     serving RENDEZVOUS    from the desk: where tools of who asks may come, in the text of a rendezvous file
//     failed KIND TEXT      from either (desk_word.h)
//
// It serves for as long as the connection is open.
#pragma once

#include "common/base/result.h"
#include "common/text/printable.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// A user, and a job: at the door whose it is, on the way to the desk who asks.
struct Visit {
    uid_t user = 0;
    std::string job;
};
// `directory`: gate.door.
inline std::string gate_door_path(const std::string &directory) {
    return directory + "/door";
}
inline constexpr std::size_t longest_visited_job = 128; // bytes

inline std::string visit_word(const Visit &visit) {
    return fmt::format("visit {} {}", visit.user, visit.job);
}

// Fails (invalid).
inline Result<Visit> parse_visit(std::string_view word) {
    constexpr std::string_view begin = "visit ";
    auto fail = [word] { return error(ErrorKind::invalid, "'{}' is no wish of a visitor", printable(word)); };
    if (!word.starts_with(begin))
        return fail();
    std::string_view rest = word.substr(begin.size());
    Visit visit;
    auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), visit.user);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    auto harmless = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
    if (code != std::errc() || visit.user == static_cast<uid_t>(-1) || !rest.starts_with(' ') || rest.size() == 1 ||
        rest.size() > 1 + longest_visited_job || !std::all_of(rest.begin() + 1, rest.end(), harmless))
        return fail();
    visit.job = rest.substr(1);
    return visit;
}

} // namespace pmixhost
