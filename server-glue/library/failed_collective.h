/* A collective that fails fails for all its processes.
 *
 * libpmix 4.2.3 to 6.1 answers a failed fence or connect with the host environment's status to the first local
 * process, and to the others with what its data store has said of the first answer: success (_mdxcbfunc of
 * src/server/pmix_server.c). Nothing that the host environment may answer avoids it. The store is asked through a
 * table of functions; this puts a function of its own before the one that is asked there. Its list of namespaces is
 * empty exactly where the collective has failed: then the status of the first answer becomes that of the others.
 *
 * The table is libpmix' own: it is touched only where pmixhost was compiled with the headers of that very library
 * (configure looks for them), and when it looks as expected. In C, as those headers are. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or why it cannot be done (static). To be called after PMIx_server_init and before clients are admitted. A
 * second call does nothing. The caller has checked that the library's version is that of the headers. */
const char *pmixhost_mend_failed_collectives(void);

#ifdef __cplusplus
}
#endif
