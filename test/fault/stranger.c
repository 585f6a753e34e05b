/* A stranger who attacks the sockets of a job's daemons.
 *
 * Why it exists: what pmixhost promises about strangers (contrib/doc/security.md) is only worth what
 * an attacker could not do. This one knows the protocol of libpmix' first message from its
 * description alone - it uses neither libpmix nor anything of pmixhost - and so says what no real
 * library would say.
 *
 * usage: stranger TARGET ... [OPTION ...]
 * TARGET   tcp:ADDRESS:PORT; abstract:NAME, unix:PATH: a stream socket; env: the server that a PMIx
 *          process is told by its environment (and its namespace and rank); uid:UID: whatever that
 *          user listens at on the loopback interface, looked up again and again
 * OPTION
 *   but=A-B    uid:UID leaves ports A to B in peace
 *   mode=M     hello     a whole first message (the default)
 *              sweep     hellos with every claim of user, namespace, rank, module and kind of process
 *              silent    nothing
 *              drip      a hello, one byte a second
 *              half      half a hello
 *              lies      a hello whose lengths are wrong, each connection another lie
 *              rubbish   64 KiB of noise
 *              cut       half a hello, then closes
 *              reset     a whole hello, then resets the connection at once
 *              deaf      a hello, then more and more, and reads nothing
 *              all       each connection the next of these
 *   times=N    connections in all [1]; sweep: as many as there are claims
 *   at_once=N  so many at a time at most [256]
 *   pace=N     new ones a second at most [as fast as it goes]
 *   seconds=S  goes on for so long instead of a number of times
 *   until=FILE and ends at once when there is such a file
 *   wait=S     how long a connection waits for the other side [5]
 *   psec=NAME cred=UID:GID|none|=TEXT flag=N nspace=NAME rank=N uid=N gid=N
 *              what a hello claims; rank=all is the wildcard; cred: what psec native takes for the
 *              proof, or any text
 *   victim=UID whom a sweep claims to be
 *   ready=FILE makes FILE when the first `at_once` connections (or all) have been made; with uid:UID as
 *              soon as it looks around
 * Prints one line for each of the first ten connections that got something, "GOT N bytes HEX: CLAIM",
 * and at the end "tried N: X refused, C closed, O open to the end, R answered; slowest close S s".
 * Exit code 0: no byte came back; 1: some did; 2: wrong usage. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum mode { HELLO, SILENT, DRIP, HALF, LIES, RUBBISH, CUT, RESET, DEAF, MODES, ALL = MODES, SWEEP };
static const char *const mode_names[] = {"hello", "silent", "drip", "half", "lies", "rubbish",
                                         "cut",   "reset",  "deaf", "all",  "sweep"};

enum { FLAGS = 11, WILDCARD_RANK = -2, NOISE = 65536, MOST_TARGETS = 256 };

struct claim {
    const char *psec;
    char cred[4096]; /* bytes */
    size_t cred_size;
    unsigned flag;
    const char *nspace;
    uint32_t rank, uid, gid;
};

struct target {
    struct sockaddr_storage address;
    socklen_t size;
};

struct connection {
    int fd; /* -1: free */
    enum mode mode;
    unsigned number;
    char *out;
    size_t size, sent, got;
    unsigned char first[16];
    double opened, next_byte;
    bool finished_sending;
};

static struct {
    struct target targets[MOST_TARGETS];
    size_t target_count, fixed;
    unsigned hunted[16], spared_first, spared_last;
    size_t hunted_count;
    enum mode mode;
    unsigned long times, at_once, pace;
    double seconds, wait;
    unsigned victim;
    const char *ready, *until;
    struct claim claim;
} ask = {.mode = HELLO, .spared_first = 1, .at_once = 256, .wait = 5};

static struct {
    unsigned long tried, refused, closed, open, answered;
    double slowest;
} found;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "stranger: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(2);
}

/* --- the first message ------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t size;
};

static void add(struct text *t, const void *bytes, size_t size) {
    t->bytes = realloc(t->bytes, t->size + size + 1);
    if (!t->bytes)
        die("no memory");
    if (size)
        memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}
static void add_string(struct text *t, const char *s) {
    add(t, s, strlen(s) + 1);
}
static void add_number(struct text *t, uint32_t n) {
    n = htonl(n);
    add(t, &n, sizeof n);
}
static void add_byte(struct text *t, unsigned n) {
    unsigned char b = (unsigned char)n;
    add(t, &b, 1);
}

/* Header: int32 index -1, uint32 tag, uint32 length of what follows, four unused bytes, in the
 * machine's own byte order. Then: security module, credential, kind of process, who it is (uid and
 * gid of anything but a client; name and rank of all that have one), version, codec, kind of buffer,
 * kind of store. `lie` (0: none) says what is wrong with the lengths. */
static struct text hello(const struct claim *c, unsigned lie) {
    struct text body = {NULL, 0}, out = {NULL, 0};
    add_string(&body, c->psec);
    add_number(&body, lie == 1 ? UINT32_MAX : lie == 2 ? 1u << 20 : (uint32_t)c->cred_size);
    add(&body, c->cred, c->cred_size);
    add_byte(&body, c->flag);
    if (c->flag != 0) {
        add_number(&body, c->uid);
        add_number(&body, c->gid);
    }
    if (c->flag != 3 && c->flag != 6 && c->flag != 1 && c->flag != 2) {
        if (lie == 3) { /* a name without an end, and longer than any may be */
            for (int i = 0; i < 2000; i++)
                add_byte(&body, 'n');
        } else {
            add_string(&body, c->nspace);
        }
        add_number(&body, c->rank);
    }
    if (lie != 4) { /* ends in the middle */
        add_string(&body, "4.2.2");
        add_string(&body, "v41");
        add_byte(&body, 1);
        add_string(&body, "hash");
    }
    if (lie == 5) { /* an info list that is none */
        for (int i = 0; i < 64; i++)
            add_byte(&body, 0xff);
    }
    const uint32_t lengths[] = {UINT32_MAX, 131073, 131072, 0, 1};
    uint32_t length = (uint32_t)body.size;
    if (lie >= 6 && lie < 11)
        length = lengths[lie - 6];
    if (lie == 11)
        length += 1;
    if (lie == 12)
        length -= 1;
    int32_t index = -1;
    uint32_t tag = UINT32_MAX, nothing = 0;
    add(&out, &index, sizeof index);
    add(&out, &tag, sizeof tag);
    add(&out, &length, sizeof length);
    add(&out, &nothing, sizeof nothing);
    add(&out, body.bytes, body.size);
    free(body.bytes);
    return out;
}
enum { LIE_KINDS = 12 };

/* psec native: uid and gid as the machine has them */
static void claim_native(struct claim *c, uint32_t uid, uint32_t gid) {
    memcpy(c->cred, &uid, 4);
    memcpy(c->cred + 4, &gid, 4);
    c->cred_size = 8;
}

/* The claim with this number of a sweep; false when there are no more. The kinds of process that name
 * nobody are not asked for every name. */
static bool swept(unsigned number, struct claim *c) {
    const char *const modules[] = {"native", "munge", "none", "unknown", ""};
    uint32_t uids[] = {(uint32_t)getuid(), ask.victim, 0};
    uint32_t ranks[] = {0, 1, (uint32_t)WILDCARD_RANK};
    const char *names[] = {ask.claim.nspace, "somebody.else", NULL};
    char *server = getenv("PMIX_SERVER_NSPACE");
    names[2] = server ? server : "";
    *c = ask.claim;
    c->psec = modules[number % 5], number /= 5;
    uint32_t uid = uids[number % 3];
    c->uid = c->gid = uid, number /= 3;
    claim_native(c, uid, uid);
    if (!strcmp(c->psec, "munge") && ask.claim.cred_size) {
        memcpy(c->cred, ask.claim.cred, ask.claim.cred_size);
        c->cred_size = ask.claim.cred_size;
    }
    c->flag = number % FLAGS, number /= FLAGS;
    c->rank = ranks[number % 3], number /= 3;
    c->nspace = names[number % 3], number /= 3;
    return number == 0;
}
enum { SWEPT = 5 * 3 * FLAGS * 3 * 3 };

/* --- targets ----------------------------------------------------------------------------------- */

static void add_target(const void *address, size_t size) {
    for (size_t i = 0; i < ask.target_count; i++)
        if (ask.targets[i].size == size && !memcmp(&ask.targets[i].address, address, size))
            return;
    if (ask.target_count == MOST_TARGETS)
        return;
    memcpy(&ask.targets[ask.target_count].address, address, size);
    ask.targets[ask.target_count++].size = (socklen_t)size;
}

static void add_tcp(const char *host, unsigned port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
        add_target(&four, sizeof four);
    else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
        add_target(&six, sizeof six);
    else
        die("'%s' is no address", host);
}

static void add_unix(const char *name, bool abstract) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(name), skip = abstract ? 1 : 0;
    if (n + 1 > sizeof address.sun_path)
        die("'%s' is too long", name);
    memcpy(address.sun_path + skip, name, n);
    add_target(&address, offsetof(struct sockaddr_un, sun_path) + n + 1);
}

/* Everybody may ask whose a listening socket is. Not by /proc/net/tcp, for which the kernel walks over its
 * table of all connections: that would be an attack on the machine. */
static void hunt(int family, unsigned uid) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {.header = {.nlmsg_len = sizeof question,
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .request = {.sdiag_family = (uint8_t)family,
                              .sdiag_protocol = IPPROTO_TCP,
                              .idiag_states = 1u << 10}}; /* those that listen */
    static union {
        struct nlmsghdr header;
        char bytes[65536];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || send(fd, &question, sizeof question, 0) < 0)
        die("the kernel does not tell who listens: %s", strerror(errno));
    for (bool done = false; !done;) {
        ssize_t size = recv(fd, &answer, sizeof answer, 0);
        if (size <= 0)
            break;
        unsigned left = (unsigned)size;
        for (struct nlmsghdr *h = &answer.header; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                done = true;
                break;
            }
            const struct inet_diag_msg *found_one = NLMSG_DATA(h);
            /* whatever address it is: the loopback one leads there, or nowhere */
            unsigned port = ntohs(found_one->id.idiag_sport);
            if (found_one->idiag_uid == uid && (port < ask.spared_first || port > ask.spared_last))
                add_tcp(family == AF_INET6 ? "::1" : "127.0.0.1", port);
        }
    }
    close(fd);
}

static void look_around(void) {
    if (!ask.hunted_count)
        return;
    ask.target_count = ask.fixed;
    for (size_t i = 0; i < ask.hunted_count; i++) {
        hunt(AF_INET, ask.hunted[i]);
        hunt(AF_INET6, ask.hunted[i]);
    }
}

/* PMIX_SERVER_URI*: NSPACE.RANK;tcp4://ADDRESS:PORT */
static void target_of_environment(void) {
    const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                 "PMIX_SERVER_URI2"};
    const char *uri = NULL;
    for (size_t i = 0; i < 5 && !uri; i++)
        uri = getenv(names[i]);
    const char *address = uri ? strstr(uri, "://") : NULL, *colon = address ? strrchr(address, ':') : NULL;
    if (!colon)
        die("the environment names no PMIx server");
    char host[64] = "";
    snprintf(host, sizeof host, "%.*s", (int)(colon - address - 3), address + 3);
    add_tcp(host, (unsigned)atoi(colon + 1));
    if (getenv("PMIX_NAMESPACE"))
        ask.claim.nspace = getenv("PMIX_NAMESPACE");
    if (getenv("PMIX_RANK"))
        ask.claim.rank = (uint32_t)atoi(getenv("PMIX_RANK"));
}

/* --- connections ------------------------------------------------------------------------------- */

static char noise[NOISE];

static void describe(const struct connection *c) {
    struct claim claim = ask.claim;
    if (ask.mode == SWEEP)
        swept(c->number, &claim);
    printf("GOT %zu bytes ", c->got);
    for (size_t i = 0; i < c->got && i < sizeof c->first; i++)
        printf("%02x", c->first[i]);
    printf(": %s psec=%s flag=%u nspace=%s rank=%d uid=%u\n", mode_names[c->mode], claim.psec, claim.flag, claim.nspace,
           (int)claim.rank, claim.uid);
    fflush(stdout);
}

static void over(struct connection *c, bool by_them) {
    double took = now() - c->opened;
    if (by_them) {
        found.closed++;
        if (took > found.slowest)
            found.slowest = took;
    } else {
        found.open++;
    }
    if (c->got && ++found.answered <= 10)
        describe(c);
    close(c->fd);
    c->fd = -1;
    free(c->out);
    c->out = NULL;
}

static void open_one(struct connection *c, unsigned number) {
    memset(c, 0, sizeof *c);
    c->number = number;
    c->mode = ask.mode == ALL ? (enum mode)(number % MODES) : ask.mode == SWEEP ? HELLO : ask.mode;
    const struct target *t = &ask.targets[number / (ask.mode == ALL ? MODES : 1) % ask.target_count];
    found.tried++;
    c->opened = c->next_byte = now();
    c->fd = socket(t->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0 || (connect(c->fd, (const struct sockaddr *)&t->address, t->size) != 0 && errno != EINPROGRESS)) {
        found.refused++;
        if (c->fd >= 0)
            close(c->fd);
        c->fd = -1;
        return;
    }
    struct claim claim = ask.claim;
    if (ask.mode == SWEEP)
        swept(number, &claim);
    else if (ask.mode == ALL && c->mode == HELLO) /* as many different ones as come along */
        swept(number * 7919 % SWEPT, &claim);
    struct text text = {NULL, 0};
    switch (c->mode) {
    case SILENT:
        break;
    case RUBBISH:
        add(&text, noise, sizeof noise);
        break;
    case LIES:
        text = hello(&claim, 1 + number / (ask.mode == ALL ? MODES : 1) % LIE_KINDS);
        break;
    default:
        text = hello(&claim, 0);
    }
    if (c->mode == HALF || c->mode == CUT)
        text.size /= 2;
    c->out = text.bytes;
    c->size = text.size;
}

static void write_some(struct connection *c) {
    size_t size = c->size - c->sent;
    if (c->mode == DRIP && size > 1)
        size = 1;
    ssize_t n = 0;
    if (size) {
        n = send(c->fd, c->out + c->sent, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            over(c, true);
            return;
        }
        c->sent += n > 0 ? (size_t)n : 0;
    }
    c->next_byte = now() + (c->mode == DRIP ? 1 : 0);
    if (c->sent < c->size)
        return;
    c->finished_sending = true;
    if (c->mode == RESET) {
        struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        over(c, false);
    } else if (c->mode == CUT) {
        over(c, false);
    } else if (c->mode == DEAF) {
        n = send(c->fd, noise, sizeof noise, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            over(c, true);
        c->finished_sending = false;
        c->next_byte = now() + 0.1;
    }
}

static void read_some(struct connection *c) {
    unsigned char bytes[4096];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n > 0) {
        if (c->got < sizeof c->first)
            memcpy(c->first + c->got, bytes,
                   (size_t)n < sizeof c->first - c->got ? (size_t)n : sizeof c->first - c->got);
        c->got += (size_t)n;
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 && errno == ECONNREFUSED) {
        found.refused++;
        close(c->fd);
        c->fd = -1;
        free(c->out);
        return;
    }
    over(c, true);
}

/* --- the attack -------------------------------------------------------------------------------- */

static void attack(void) {
    struct connection *all = calloc(ask.at_once, sizeof *all);
    struct pollfd *polled = calloc(ask.at_once, sizeof *polled);
    if (!all || !polled)
        die("no memory");
    for (size_t i = 0; i < ask.at_once; i++)
        all[i].fd = -1;
    double begin = now(), end = ask.seconds > 0 ? begin + ask.seconds : 0, looked = 0;
    unsigned long started = 0;
    for (;;) {
        double t = now();
        bool more = end > 0 ? t < end : started < ask.times;
        if (t - looked > 0.01) {
            look_around();
            looked = t;
            if (ask.until && access(ask.until, F_OK) == 0)
                end = t, more = false;
        }
        size_t held = 0;
        double next = t + 0.25;
        for (size_t i = 0; i < ask.at_once; i++) {
            struct connection *c = &all[i];
            if (c->fd >= 0 && (t - c->opened > ask.wait || (end > 0 && !more)))
                over(c, false);
            bool slow = ask.pace && started >= (unsigned long)((t - begin) * (double)ask.pace) + 1;
            if (c->fd < 0 && more && ask.target_count && !slow) {
                open_one(c, (unsigned)started++);
                more = end > 0 || started < ask.times;
            }
            polled[i].fd = c->fd;
            polled[i].events = 0;
            if (c->fd < 0)
                continue;
            held++;
            if (c->mode != DEAF)
                polled[i].events |= POLLIN;
            if (!c->finished_sending && c->next_byte <= t)
                polled[i].events |= POLLOUT;
            else if (!c->finished_sending && c->next_byte < next)
                next = c->next_byte;
        }
        if (ask.ready && (started >= ask.at_once || !more || ask.hunted_count)) {
            int fd = open(ask.ready, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
            if (fd >= 0)
                close(fd);
            ask.ready = NULL;
        }
        if (!held && !more)
            break;
        if (more && (ask.pace || ask.hunted_count || held < ask.at_once) && next > t + 0.02)
            next = t + 0.02;
        poll(polled, ask.at_once, (int)((next - t) * 1000) + 1);
        for (size_t i = 0; i < ask.at_once; i++) {
            struct connection *c = &all[i];
            if (c->fd >= 0 && polled[i].fd == c->fd && polled[i].revents & POLLOUT)
                write_some(c);
            if (c->fd >= 0 && polled[i].fd == c->fd && polled[i].revents & (POLLIN | POLLERR | POLLHUP))
                read_some(c);
        }
    }
    free(all);
    free(polled);
}

/* --- the command line -------------------------------------------------------------------------- */

static const char *value_of(const char *word, const char *key) {
    size_t n = strlen(key);
    return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static void credential(const char *text) {
    unsigned uid, gid;
    if (*text == '=') {
        ask.claim.cred_size = strlen(text + 1) + 1;
        if (ask.claim.cred_size > sizeof ask.claim.cred)
            die("the credential is too long");
        memcpy(ask.claim.cred, text + 1, ask.claim.cred_size);
    } else if (sscanf(text, "%u:%u", &uid, &gid) == 2) {
        claim_native(&ask.claim, uid, gid);
    } else {
        ask.claim.cred_size = 0;
    }
}

static void target_of(const char *word) {
    char host[64];
    unsigned port;
    const char *colon = strrchr(word, ':');
    if (!strcmp(word, "env")) {
        target_of_environment();
    } else if (!strncmp(word, "tcp:", 4) && colon > word + 4) {
        port = (unsigned)atoi(colon + 1);
        snprintf(host, sizeof host, "%.*s", (int)(colon - word - 4), word + 4);
        add_tcp(host, port);
    } else if (!strncmp(word, "abstract:", 9)) {
        add_unix(word + 9, true);
    } else if (!strncmp(word, "unix:", 5)) {
        add_unix(word + 5, false);
    } else if (!strncmp(word, "uid:", 4) && ask.hunted_count < 16) {
        ask.hunted[ask.hunted_count++] = (unsigned)atoi(word + 4);
    } else {
        die("'%s' is neither a target nor an option", word);
    }
}

static void option(const char *word) {
    const char *v;
    if ((v = value_of(word, "mode"))) {
        int m = 0;
        while (m <= SWEEP && strcmp(v, mode_names[m]) != 0)
            m++;
        if (m > SWEEP)
            die("there is no mode '%s'", v);
        ask.mode = (enum mode)m;
    } else if ((v = value_of(word, "times"))) {
        ask.times = strtoul(v, NULL, 10);
    } else if ((v = value_of(word, "at_once"))) {
        ask.at_once = strtoul(v, NULL, 10);
    } else if ((v = value_of(word, "pace"))) {
        ask.pace = strtoul(v, NULL, 10);
    } else if ((v = value_of(word, "seconds"))) {
        ask.seconds = atof(v);
    } else if ((v = value_of(word, "wait"))) {
        ask.wait = atof(v);
    } else if ((v = value_of(word, "but"))) {
        if (sscanf(v, "%u-%u", &ask.spared_first, &ask.spared_last) != 2)
            die("'%s' is no range of ports", v);
    } else if ((v = value_of(word, "until"))) {
        ask.until = v;
    } else if ((v = value_of(word, "victim"))) {
        ask.victim = (unsigned)atoi(v);
    } else if ((v = value_of(word, "ready"))) {
        ask.ready = v;
    } else if ((v = value_of(word, "psec"))) {
        ask.claim.psec = v;
    } else if ((v = value_of(word, "cred"))) {
        credential(v);
    } else if ((v = value_of(word, "flag"))) {
        ask.claim.flag = (unsigned)atoi(v);
    } else if ((v = value_of(word, "nspace"))) {
        ask.claim.nspace = v;
    } else if ((v = value_of(word, "rank"))) {
        ask.claim.rank = strcmp(v, "all") ? (uint32_t)atoi(v) : (uint32_t)WILDCARD_RANK;
    } else if ((v = value_of(word, "uid"))) {
        ask.claim.uid = (uint32_t)atoi(v);
    } else if ((v = value_of(word, "gid"))) {
        ask.claim.gid = (uint32_t)atoi(v);
    } else {
        target_of(word);
    }
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    ask.claim = (struct claim){.psec = "native", .nspace = "nobody", .uid = getuid(), .gid = getgid()};
    claim_native(&ask.claim, getuid(), getgid());
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)rand_r(&seed);
    for (int i = 1; i < argc; i++)
        option(argv[i]);
    if (!ask.target_count && !ask.hunted_count)
        die("whom? usage: see stranger.c");
    ask.fixed = ask.target_count;
    if (ask.mode == SWEEP)
        ask.times = SWEPT;
    else if (!ask.times)
        ask.times = 1;
    if (ask.at_once > ask.times && ask.seconds <= 0)
        ask.at_once = ask.times;
    if (!ask.at_once)
        die("at_once=0 makes no connection");
    attack();
    printf("tried %lu: %lu refused, %lu closed, %lu open to the end, %lu answered; slowest close %.2f s\n", found.tried,
           found.refused, found.closed, found.open, found.answered, found.slowest);
    return found.answered ? 1 : 0;
}
