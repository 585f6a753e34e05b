// A start document as pmixhostd gets it: in a file without a name.
#pragma once

#include "common/base/unique_fd.h"
#include "common/start/start_document.h"

namespace pmixhost {

// Close-on-exec. Fails (limit) where the document is larger than pmixhostd takes.
Result<UniqueFd> open_start_document(const StartDocument &document);

} // namespace pmixhost
