// PMIx_Log: what of a request goes where, and what its caller is told. PMIx has one status for all
// entries.
#pragma once

#include "server-glue/upcalls.h"

namespace pmixhost {

// Writes the entries that have an fd and sets every entry's status: SUCCESS, OUT_OF_RESOURCE when
// `write` gives false, or what it was. With `once`, stops at the first that succeeds.
//
// Returns SUCCESS when all succeeded (with `once`: one), PARTIAL_SUCCESS when some did, else the
// status of the first.
pmix_status_t log_entries(LogAsk &ask, const std::function<bool(int fd, const std::string &text)> &write);

} // namespace pmixhost
