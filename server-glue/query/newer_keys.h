// Keys of queries that only headers of libpmix 5 have: a client that has them may ask a
// host that was built with older ones.
#pragma once

#include <pmix_common.h>

#ifndef PMIX_QUERY_ALLOCATION
#define PMIX_QUERY_ALLOCATION "pmix.query.allc"
#endif
#ifndef PMIX_QUERY_AVAILABLE_SLOTS
#define PMIX_QUERY_AVAILABLE_SLOTS "pmix.qry.aslots"
#endif
#ifndef PMIX_QUERY_RESOLVE_PEERS
#define PMIX_QUERY_RESOLVE_PEERS "pmix.qry.peers"
#endif
#ifndef PMIX_QUERY_RESOLVE_NODE
#define PMIX_QUERY_RESOLVE_NODE "pmix.qry.node"
#endif
