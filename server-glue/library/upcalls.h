// The boundary that libpmix calls, in its own thread. Each callback of the module (a capability's *_upcall.cc, put
// together in daemon/module_table.h) copies what it was given into a request and posts it to the event loop, or takes
// the loop's turn for it (upcall_tools.h); whoever takes it answers there, exactly once. The answer is given to libpmix
// in the library thread, for it takes locks of libpmix, or later in its own. The module has no user pointer, so one
// file-scope pointer (in upcalls.cc) leads from it to the Upcalls object.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/library/library_thread.h"
#include "server-glue/library/upcall_handlers.h"

namespace pmixhost {

class Upcalls {
  public:
    // `loop` and `library` outlive it.
    Upcalls(EventLoop &loop, LibraryThread &library);
    // To be destroyed after PMIx_server_finalize: no upcall may come any more.
    ~Upcalls();
    Upcalls(const Upcalls &) = delete;

    EventLoop &loop;
    LibraryThread &library;
    UpcallHandlers handlers;
};

} // namespace pmixhost
