/* PMIx_IOF_deregister is answered with the host environment's status.
 *
 * libpmix before 6.1 answers it with a status that it sets nowhere (iofdereg of src/server/pmix_server.c reads it from
 * a pmix_setup_caddy_t, whose constructor leaves it out): the tool gets what stood in that memory before. Nothing that
 * the host environment may answer avoids it; but the object is what its iof_pull gets as callback data.
 *
 * The object is libpmix' own: it is touched only where pmixhost was compiled with the headers of that very library
 * (configure looks for them). In C, as those headers are. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* `cbdata`: what iof_pull got with PMIX_IOF_STOP, before it is answered; its answer will be PMIX_SUCCESS. False if
 * pmixhost was compiled without the library's headers: then nothing was done. Any thread. The caller has checked that
 * the library's version is that of the headers, and that it needs this. */
int pmixhost_mend_iof_deregistration(void *cbdata);

#ifdef __cplusplus
}
#endif
