// The jobs that processes of this host have spawned.
#pragma once

#include "server-glue/core/recent_names.h"

#include <set>

namespace pmixhost {

struct Children {
    std::set<Bytes> running;
    RecentNames ended{10'000};
};

} // namespace pmixhost
