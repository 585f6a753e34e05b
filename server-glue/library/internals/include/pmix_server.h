/* libpmix 4.2's own src/server/pmix_server_ops.h asks for the installed header by a name of its source tree. */
#include <pmix_server.h>
