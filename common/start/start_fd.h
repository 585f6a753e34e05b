// What pmixhostd gets in files without a name (contrib/doc/start-document.md): the start document, and the status page.
#pragma once

#include "common/base/unique_fd.h"
#include "common/start/start_document.h"
#include "common/start/status_page.h"

namespace pmixhost {

// Close-on-exec. Fails (limit) where the document is larger than pmixhostd takes.
Result<UniqueFd> open_start_document(const StartDocument &document);

// `status_fd`: a status page, close-on-exec, and mapped until the caller takes that back. Sealed: the user's processes
// have the descriptor, and a page cut short would kill a reader.
Result<StatusPage *> make_status_page(UniqueFd &fd);

} // namespace pmixhost
