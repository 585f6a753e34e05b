/* A stranger at the door: connects, says something, and prints what it gets.
 * usage: knock tcp HOST PORT BYTES      BYTES of rubbish
 *        knock door NAME RANK           asks the task door, an abstract socket, for RANK's
 *                                       environment (contrib/doc/task-door.md)
 *        knock flood HOST PORT COUNT    COUNT connections that say nothing; what is closed is made
 *                                       anew, until the port is gone or this is ended
 * Prints "no connection", or "got N bytes: TEXT" after the other side closed or 8 silent seconds; of a
 * flood, "N at once" when all have been made, and "N in all" when the port is gone. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int no_connection(void) {
    printf("no connection: %s\n", strerror(errno));
    return 0;
}

static int connect_tcp(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return -1;
    int fd = -1;
    for (struct addrinfo *a = list; a; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
        fd = -1;
    }
    return fd;
}

static int connect_abstract(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(name);
    if (n > sizeof(address.sun_path) - 1)
        return -1;
    memcpy(address.sun_path + 1, name, n);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    return connect(fd, (struct sockaddr *)&address, size) == 0 ? fd : -1;
}

static int flood(const char *host, const char *port, int count) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int *fds = malloc((size_t)count * sizeof *fds);
    if (!fds)
        return 1;
    for (int i = 0; i < count; i++)
        fds[i] = -1;
    for (long made = 0, round = 0;; round++) {
        for (int i = 0; i < count; i++) {
            char byte;
            if (fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
                continue;
            if (fds[i] >= 0)
                close(fds[i]);
            fds[i] = connect_tcp(host, port);
            if (fds[i] < 0 && made > 0 && errno == ECONNREFUSED) {
                printf("%ld in all\n", made);
                return 0;
            }
            if (fds[i] < 0)
                return no_connection();
            made++;
        }
        if (round == 0) {
            printf("%d at once\n", count);
            fflush(stdout);
        }
        usleep(1000);
    }
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    int fd;
    if (argc == 5 && !strcmp(argv[1], "tcp")) {
        if ((fd = connect_tcp(argv[2], argv[3])) < 0)
            return no_connection();
        unsigned seed = 1;
        for (long left = atol(argv[4]); left > 0;) {
            char bytes[4096];
            for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char)rand_r(&seed);
            ssize_t n = write(fd, bytes, left < 4096 ? (size_t)left : sizeof(bytes));
            if (n <= 0)
                break;
            left -= n;
        }
    } else if (argc == 4 && !strcmp(argv[1], "door")) {
        if ((fd = connect_abstract(argv[2])) < 0)
            return no_connection();
        unsigned request[3] = {htonl(0x504d4832), htonl((unsigned)atoi(argv[3])), 0};
        if (write(fd, request, sizeof(request)) < 0)
            printf("not even heard; ");
    } else if (argc == 5 && !strcmp(argv[1], "flood")) {
        return flood(argv[2], argv[3], atoi(argv[4]));
    } else {
        fprintf(stderr, "usage: see knock.c\n");
        return 2;
    }
    char got[65536];
    size_t n = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (n < sizeof(got) && poll(&p, 1, 8000) > 0) {
        ssize_t r = read(fd, got + n, sizeof(got) - n);
        if (r <= 0)
            break;
        n += (size_t)r;
    }
    printf("got %zu bytes: ", n);
    for (size_t i = 0; i < n; i++)
        putchar(isprint((unsigned char)got[i]) ? got[i] : '.');
    putchar('\n');
    return 0;
}
