/* A server that has connected to a tool (PMIX_LAUNCHER_RNDZ_URI) answers queries that its host refuses.
 *
 * libpmix before 5.0.7 would ask the server that it is connected to itself, then, and does not even that (finalstep of
 * src/common/pmix_query.c): who asked waits for ever. Nothing that the host may answer later avoids it; but libpmix
 * remembers in a flag of its own whether it is connected, which is of no other use to such a server.
 *
 * The flag is touched only where pmixhost was compiled with the headers of that very library. In C, as those are. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* In libpmix' progress thread, once PMIx_server_init has returned. False if pmixhost was compiled without the library's
 * headers: then nothing was done. The caller has checked that the library's version is that of the headers. */
int pmixhost_forget_connection(void);

#ifdef __cplusplus
}
#endif
