// What the command `pmixhost debug` and its part on each host say to each other: lines of JSON of less than 1024 bytes,
// as srun mixes what comes from several hosts in pieces of that size. Pure. Both sides bound what they take.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "tools/debug/gdb_dialogue.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

namespace pmixhost {

// Is it among these? They are sorted; nothing: all are.
inline bool is_among(const std::optional<std::vector<Rank>> &ranks, Rank rank) {
    return !ranks || std::binary_search(ranks->begin(), ranks->end(), rank);
}

// To a host. Each host takes what is for its ranks.
struct DebugCommand {
    std::uint64_t id = 0;
    std::optional<std::vector<Rank>> ranks; // sorted; nothing: all
    std::string text;
    GdbLanguage language = GdbLanguage::console;
};
struct DebugInterrupt {
    std::optional<std::vector<Rank>> ranks;
};
struct DebugAlive {}; // the command is there; a host that hears nothing for longest_silence lets all go
struct DebugLeave {}; // let all go, and end
using ToHost = std::variant<DebugCommand, DebugInterrupt, DebugAlive, DebugLeave>;

std::string line_of(const ToHost &message);
// Fails (invalid).
Result<ToHost> parse_to_host(std::string_view line);
inline constexpr std::size_t longest_debug_command = 2000; // bytes of a command's text

// From a host: what happened to a rank, in pieces. refused: no debugger could look at it; the text says why.
struct RankEvent {
    Rank rank = 0;
    GdbEvent event;
    bool refused = false;
};
std::string lines_of(const RankEvent &event);
// A host begins by naming its ranks.
std::string hello_line(const std::string &host, const std::vector<Rank> &ranks);
struct HostHello {
    std::string host;
    std::vector<Rank> ranks;
};
using FromHost = std::variant<RankEvent, HostHello>;

// Puts the pieces together. Lines that are none are left out, and counted: a host's shell or a library may say
// something.
class DebugAssembly {
  public:
    std::optional<FromHost> add(std::string_view line);
    std::size_t strange() const { return strange_; }

  private:
    std::map<std::pair<Rank, std::uint64_t>, std::string> begun_;
    std::map<std::string, std::vector<Rank>> greetings_; // that are not complete
    std::size_t strange_ = 0;
};

} // namespace pmixhost
