/* What comes to a tool from processes that it has spawned.
 *
 * libpmix (4.2.2 and 5.0.7) prints it: a callback can be given with PMIx_IOF_pull alone, which is too late for what
 * they write first, and then has all but that twice. The request by which it prints is one as those of PMIx_IOF_pull,
 * with number 0 and no callback.
 *
 * It is touched only where pmixhost was compiled with the headers of that very library. In C, as those are. */
#pragma once

#include <pmix_tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on `callback` gets it, in libpmix' progress thread. In that thread, after PMIx_tool_init. False if pmixhost
 * was compiled without the library's headers, or there is no such request: then nothing was done. The caller has
 * checked that the library's version is that of the headers. */
int pmixhost_take_default_output(pmix_iof_cbfunc_t callback);

#ifdef __cplusplus
}
#endif
