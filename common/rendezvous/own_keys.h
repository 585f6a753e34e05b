// Attributes of pmixhost's own, by which its commands and daemons say what PMIx has no attribute for.
#pragma once

namespace pmixhost::own_key {

// Of PMIx_IOF_pull (uint32_t): of what was written before, only what was written in the last so many seconds; 0:
// nothing. Where it is required and others have had what was written before it is refused (PMIX_ERR_RESOURCE_BUSY).
inline constexpr const char *output_since = "pmixhost.iof.since";
// Of what a pull with output_since is given first, without bytes: what was written before has no times there, and
// comes all the same.
inline constexpr const char *output_undated = "pmixhost.iof.undated";
// Of what a pull is given first of a stream: what its process wrote before that is kept no more (io.kept).
inline constexpr const char *output_cut = "pmixhost.iof.cut";
// Of what is given (uint64_t): so many bytes that the process wrote before it are missing, since tools here have not
// taken in time what was given before (io.cache).
inline constexpr const char *output_missing = "pmixhost.iof.missing";

// Of PMIX_READY_FOR_DEBUG (uint32_t): for the how manieth time all have stopped there, for hosts that have not told it.
inline constexpr const char *stop_round = "pmixhost.debug.round";

} // namespace pmixhost::own_key
