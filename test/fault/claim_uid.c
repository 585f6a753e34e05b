/* Preloaded into a real libpmix client, makes it say that it is somebody else: libpmix' security module
 * "native" sends what geteuid() and getegid() return, and its server believes it. CLAIM_UID and
 * CLAIM_GID say who. Nothing of the process itself changes: the kernel still knows whose it is. */
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned number(const char *name) {
    const char *text = getenv(name);
    return text ? (unsigned)atoi(text) : 0;
}

uid_t geteuid(void) {
    return number("CLAIM_UID");
}
gid_t getegid(void) {
    return number("CLAIM_GID");
}
uid_t getuid(void) {
    return number("CLAIM_UID");
}
gid_t getgid(void) {
    return number("CLAIM_GID");
}
