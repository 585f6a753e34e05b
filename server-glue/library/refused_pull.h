/* A PMIx_IOF_pull that the host environment has refused takes no output.
 *
 * libpmix notes who pulls what before it asks the host, and where that refuses at once it leaves the note where it is
 * (pmix_server_iofreg of src/server/pmix_server_ops.c; its master branch takes it away): whoever was refused gets what
 * the host delivers for others. The note is found by what iof_pull gets as callback data.
 *
 * It is libpmix' own: it is touched only where pmixhost was compiled with the headers of that very library (configure
 * looks for them). In C, as those headers are. */
#pragma once

#include <pmix_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `data`: what iof_pull got, with so many processes and these channels, before it is refused. The note stays, and is of
 * no channel any more, so that a library that takes it away itself may do so. False: nothing was done. In the library's
 * thread, which the upcall is in. The caller has checked that the library's version is that of the headers. */
int pmixhost_void_refused_pull(void *data, size_t count, pmix_iof_channel_t channels);

#ifdef __cplusplus
}
#endif
