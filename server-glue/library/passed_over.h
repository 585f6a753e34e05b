/* A tool that takes nothing is left out of what is delivered, so that others get it (iof/slow_readers.h).
 *
 * PMIx_server_IOF_deliver gives a piece to all who pull it, and what one of them does not take is queued without
 * a bound; neither call nor attribute says for whom a piece is. Which channels of a pull are delivered is in the
 * library's own object: those of one that is passed over are moved out of the way, above all that there are, and
 * back.
 *
 * It is libpmix' own: it is touched only where pmixhost was compiled with the headers of that very library (configure
 * looks for them). In C, as those headers are. All of it in libpmix' progress thread; the caller has checked that the
 * library's version is that of the headers. */
#pragma once

#include <pmix_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread. False: pmixhost was compiled without the library's headers, and the others do nothing. */
int pmixhost_can_pass_over(void);

/* Nothing of that namespace's processes is for the pulls of that connection, by the descriptor that the library has; or
 * all that they want is again. What is so already stays so. */
void pmixhost_pass_over(int connection, const char *nspace);
void pmixhost_take_up(int connection, const char *nspace);

/* As PMIx_server_IOF_deliver, at once, and for those alone that are pulls of that connection; `only`: for the one
 * that has this number (pull_asker.h), below 0: for all of them. */
void pmixhost_deliver_to(int connection, int only, const pmix_proc_t *source, pmix_iof_channel_t channel,
                         const pmix_byte_object_t *bytes, const pmix_info_t *info, size_t ninfo);

#ifdef __cplusplus
}
#endif
