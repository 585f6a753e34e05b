// Whether an event says that this tool has lost its server: libpmix tells it in the server's own name. A program may
// notify that code as well, of a connection of its own.
#pragma once

#include <pmix_common.h>
#include <string_view>

namespace pmixhost {

// `server`: the namespace of the server that this process is connected to. `source`: who notifies; may be null.
inline bool is_loss_of(std::string_view server, pmix_status_t code, const pmix_proc_t *source) {
    return code == PMIX_ERR_LOST_CONNECTION && source && server == source->nspace;
}

} // namespace pmixhost
