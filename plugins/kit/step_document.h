// The description of a step in a start document, for a backend whose RM has no words of its own for it (the local
// backend, a new one). The keys begin with the backend's name:
//
//   NAME.nspace      the PMIx namespace; it is the job's name for its users and the step's key too, so it must be
//                    unique among all jobs whose daemons could ever meet
//   NAME.secret      64 hex digits (common/start/step_secret.h), new for each job: with it the daemons know each other.
//                    Nobody else may read it
//   NAME.host_name   repeated: the hosts, in order. `host` says which of them this is
//   NAME.ranks       repeated, one per host, in order: its ranks, comma separated (may be empty)
//   NAME.app_ranks   repeated: APP RANKS, APP counted from 0
//   NAME.app_arg     repeated: APP ARGUMENT, in order; a line break is \n and a backslash is two of them
//                    (common/local/local_text.h)
//   NAME.map_by, NAME.process_sets, NAME.parent   optional (contrib/doc/start-document.md, `local`)
#pragma once

#include "common/start/start_document.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost::kit {

inline constexpr std::uint64_t max_apps = 10'000;

// For the writer of a document, which adds the optional keys itself.
struct StepDescription {
    std::string nspace, secret;
    std::vector<std::string> hosts;
    std::vector<std::vector<Rank>> ranks_by_host;
    std::vector<App> apps; // at least one
};
// Adds the description to `document`, under keys that begin with `backend`. Fails as StartDocument::add() does.
Result<void> describe_step(StartDocument &document, std::string_view backend, const StepDescription &step);

// What the document says of the step. Fails (invalid, not_found) with a text that names the key.
Result<StepInfo> read_step(const StartDocument &document, std::string_view backend);

// Takes the word up to the next space off the front of `rest`.
std::string_view next_word(std::string_view &rest);
Error garbled(std::string_view key, std::string_view value);

} // namespace pmixhost::kit
