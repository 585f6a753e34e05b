// What a program that was started for PMIx_Spawn (srun, pmixhost run) tells the launcher that started
// it, and srun `pmixhost debug`: the descriptor in PMIXHOST_SPAWN_FD, a stream of lines.
//   processes COUNT       so many will the job have
//   created NSPACE        the job has a name; from now on its errors are its own to show
//   started               the first of its programs runs
//   launched STATUS TEXT  every program of it runs (0), or one could not be started (a PMIx status)
//   over TEXT             it has ended before that
//   ends TEXT             processes of one of its hosts have ended, where that was asked for: for a debugger that has
//                         started the program (server-glue/events/host_ends.h). There may be many; who does not read
//                         them misses some
// The end of the stream is the end of the program. The launcher says one thing there, if anything, before the program
// runs: "secret " and the step secret (common/start/step_secret.h) that the job shall have.
//
// The program's standard error leads to the launcher until `created`, because srun says only there why no job could
// be made. PMIXHOST_SPAWN_STDERR is the descriptor of the standard error from then on.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pmixhost {

inline constexpr std::string_view spawn_fd_variable = "PMIXHOST_SPAWN_FD";
inline constexpr std::string_view spawn_stderr_variable = "PMIXHOST_SPAWN_STDERR";
// Tells the job's daemons which process asked for it: a ParentWord.
inline constexpr std::string_view parent_variable = "PMIXHOST_PARENT";

// "NSPACE RANK", behind it " debugs NSPACE RANK" where the job's processes are debugger daemons,
// " tells BITS" where the parent is told of ends and of the start,
// " forwards CHANNELS HOST" where standard streams go by way of that host of the parent's job, " holds BYTES SECONDS"
// where their output shall be gathered to larger pieces, " fate" where the two jobs live and die together while they
// are connected, and " stops " and a text where processes shall stop for a debugger.
struct ParentWord {
    std::string nspace;
    std::uint32_t rank = 0;
    bool shares_fate = false;
    std::string stops;         // common/job/debug_stops.h
    std::uint8_t forwards = 0; // bits of pmix_iof_channel_t: PMIX_FWD_STDIN, _STDOUT, _STDERR
    std::uint32_t host = 0;
    std::string debugs = {}; // namespace of what they debug; empty: nothing
    std::uint32_t debugged_rank = 0;
    std::uint8_t tells = 0;                                   // of what the parent is to hear: bits
    static constexpr std::uint8_t all_ends = 1, bad_ends = 2; // as events
    static constexpr std::uint8_t first_bad = 4;              // with the end of the job
    static constexpr std::uint8_t log_all = 8, log_bad = 16;  // as lines for the user
    static constexpr std::uint8_t first_start = 32;           // at once when the first program runs
    // Of a forwarded stream so much is gathered, or for so long (PMIX_IOF_BUFFERING_SIZE and _TIME); 0: nothing is.
    std::uint32_t held_bytes = 0, held_seconds = 0;

    std::string text() const;
    // Nothing when `text` is no such word. A namespace has 1 to 255 bytes.
    static std::optional<ParentWord> parse(std::string_view text);
};

// The descriptor that this process' environment names, close-on-exec from then on; empty if it was
// not started for PMIx_Spawn.
UniqueFd take_spawn_channel();
// What the launcher has written there before; empty: nothing, or what is no secret. Does not wait.
std::string take_spawn_secret(int fd);
// For the launcher, before it starts the program: `fd` is its own end. False: the program would not get it.
bool give_spawn_secret(int fd, std::string_view secret);
// What became of a line. Behind one that was cut nothing may be said any more.
enum class Said { whole, not_at_all, cut };
// Each waits so long where whoever reads stands still.
inline constexpr std::chrono::milliseconds channel_patience{2000};
// Says `processes` and `created`, and gives the standard error back.
void say_created(int fd, std::string_view nspace, std::size_t processes);
Said say_started(int fd);
Said say_launched(int fd, int status, std::string_view text);
Said say_over(int fd, std::string_view text);
Said say_ends(int fd, std::string_view text, std::chrono::milliseconds patience);
inline constexpr std::string_view ends_word = "ends ";

struct SpawnEvent {
    enum class Kind { created, started, launched, over };
    Kind kind = Kind::over;
    int status = 0;
    std::string text; // the namespace of `created`
};
// `line` comes without its line break. Nothing when it is no such line.
std::optional<SpawnEvent> parse_spawn_event(std::string_view line);
// The same for `processes`, which is no event.
std::optional<std::uint32_t> parse_process_count(std::string_view line);

} // namespace pmixhost
