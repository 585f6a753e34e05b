/* Shows a program version 2 of the kernel's cgroups alone, where version 1 is mounted as well: Slurm's cgroup/v2 does
 * not start there. For LD_PRELOAD in slurmd of a test cluster (cluster, --cgroup2): of what /proc/PID/cgroup says, only
 * the line of version 2 is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_list_of_cgroups(const char *path) {
    size_t length = strlen(path);
    return strncmp(path, "/proc/", 6) == 0 && length > 7 && strcmp(path + length - 7, "/cgroup") == 0;
}

static int without_version_1(int fd) {
    char text[8192], *rest = text, *line;
    ssize_t length = 0, more;
    while ((more = read(fd, text + length, sizeof text - 1 - (size_t)length)) > 0)
        length += more;
    text[length] = '\0';
    close(fd);
    fd = memfd_create("cgroup", MFD_CLOEXEC);
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (strncmp(line, "0::", 3) == 0)
            dprintf(fd, "%s\n", line);
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        static int (*real)(const char *, int, ...);                                                                    \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        int mode = va_arg(arguments, int);                                                                             \
        va_end(arguments);                                                                                             \
        if (!real)                                                                                                     \
            real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                                           \
        int fd = real(path, flags, mode);                                                                              \
        return fd >= 0 && is_list_of_cgroups(path) ? without_version_1(fd) : fd;                                       \
    }
OPEN(open)
OPEN(open64)
