// Hands a message of the simulated network to the collectives of its host, for the parts of bench_scale that have some.
#pragma once

#include "server-glue/collective/collective.h"

namespace pmixhost {

// False: it is none of theirs.
inline bool take_collective(Collectives &collectives, TimePoint now, HostIndex from, std::uint8_t type,
                            const SharedBytes &payload) {
    if (type == wire::CollectiveUp::type)
        collectives.on_up(now, from, *wire::decode<wire::CollectiveUp>(*payload));
    else if (type == wire::CollectiveDown::type)
        collectives.on_down(from, *wire::decode<wire::CollectiveDown>(*payload), payload);
    else if (type == wire::CollectiveComplete::type)
        collectives.on_complete(now, from, *wire::decode<wire::CollectiveComplete>(*payload));
    else if (type == wire::CollectivePiece::type)
        collectives.on_piece(now, from, *wire::decode<wire::CollectivePiece>(*payload), payload);
    else if (type == wire::CollectiveTaken::type)
        collectives.on_taken(from, *wire::decode<wire::CollectiveTaken>(*payload));
    else if (type == wire::CollectiveProbe::type)
        collectives.on_probe(now, from, *wire::decode<wire::CollectiveProbe>(*payload));
    else
        return false;
    return true;
}

} // namespace pmixhost
