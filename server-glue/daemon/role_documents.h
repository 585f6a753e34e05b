// What a start document would say to a daemon that is started without one: the session, desks and the lobby have it on
// their command line, and the settings in the environment. Each of these is called once, in the main thread, before
// there are others.
#pragma once

#include "common/base/result.h"
#include "common/start/start_document.h"

namespace pmixhost {

// As pmixhostd.cc says of `--session`; what follows the backend is KEY=VALUE. The step secret leaves the environment.
Result<StartDocument> session_document(int argc, char **argv);
// Of `--desk`, `--gate-desk` and `--lobby`, with as many words as these have.
Result<StartDocument> desk_document(char **argv);
Result<StartDocument> gate_desk_document(char **argv);
Result<StartDocument> lobby_document(char **argv);

} // namespace pmixhost
