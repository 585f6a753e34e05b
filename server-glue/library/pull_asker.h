/* Who asks for PMIx_IOF_pull or PMIx_IOF_deregister: a tool, or a process of the job; and on which connection.
 *
 * libpmix tells its host environment of neither who it is. It is in the object that iof_pull gets as callback data,
 * which is libpmix' own: it is looked at only where pmixhost was compiled with the headers of that very library
 * (configure looks for them). In C, as those headers are. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* `cbdata`: what iof_pull got, before it is answered. 1: a tool, 0: another process, -1: it is not known. In the
 * library's thread, which the upcall is in. The caller has checked that the library's version is that of the headers.
 */
int pmixhost_pull_is_of_a_tool(const void *cbdata);

/* Likewise: the descriptor of the connection that it came on, which is the library's and stays open until the upcall
 * returns; below 0: the library has closed it already, or it is not known. */
enum { PMIXHOST_PULL_CONNECTION_CLOSED = -1, PMIXHOST_PULL_CONNECTION_UNKNOWN = -2 };
int pmixhost_pull_connection(const void *cbdata);

/* Likewise: the number of that pull in the library's table, for as long as it lasts; below 0: it is not known. */
int pmixhost_pull_number(const void *cbdata);

#ifdef __cplusplus
}
#endif
