/* Preloaded into a real libpmix tool, makes it say in its first message that it sends more directives than it does:
 * MISCOUNT is added to their number, or with "=" before it takes its place. libpmix' server makes room for what is said
 * before it reads them.
 *
 * The layout of the message is that of server-glue/guard/hello.h; what a tool tells the host begins with how many
 * values follow (one), and that value, each in seven bits to a byte, the lowest first (hello_directives.h). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { HEADER = 16, MOST_BYTES = 9 };

struct reader {
    const unsigned char *at, *end;
};

static void skip(struct reader *of, size_t size) {
    of->at = (size_t)(of->end - of->at) < size ? of->end : of->at + size;
}
static void skip_text(struct reader *of) {
    const unsigned char *end = memchr(of->at, 0, (size_t)(of->end - of->at));
    of->at = end ? end + 1 : of->end;
}
static size_t number(struct reader *of) { /* of four bytes */
    size_t value = 0;
    for (int i = 0; i < 4 && of->at < of->end; i++)
        value = value << 8 | *of->at++;
    return value;
}

static int is_hello(const unsigned char *message, size_t size) {
    static const unsigned char start[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    uint32_t rest;
    if (size <= HEADER || memcmp(message, start, sizeof start) != 0)
        return 0;
    memcpy(&rest, message + 8, sizeof rest);
    return rest == size - HEADER;
}

/* Where it stands, NULL if there is none: then nothing is changed. */
static const unsigned char *count_in(const unsigned char *message, size_t size) {
    struct reader of = {message + HEADER, message + size};
    skip_text(&of); /* the security module */
    skip(&of, number(&of));
    unsigned kind = of.at < of.end ? *of.at : 0;
    skip(&of, 1 + 8); /* and the user */
    if (kind == 4 || kind == 7) {
        skip_text(&of); /* its name */
        skip(&of, 4);
    }
    skip_text(&of); /* version, bfrops */
    skip_text(&of);
    skip(&of, 1);
    skip_text(&of); /* gds */
    skip(&of, 1);   /* one value */
    return of.at < of.end ? of.at : NULL;
}

static size_t write_count(unsigned char *to, uint64_t count) {
    size_t size = 0;
    for (; count > 127 && size < MOST_BYTES - 1; count >>= 7)
        to[size++] = (unsigned char)(count & 127) | 128;
    to[size++] = (unsigned char)count;
    return size;
}

ssize_t send(int socket, const void *message, size_t size, int flags) {
    ssize_t (*real)(int, const void *, size_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "send");
    const char *more = getenv("MISCOUNT");
    const unsigned char *old = message, *count = more && is_hello(message, size) ? count_in(message, size) : NULL;
    /* Those of a real tool are less than 128. */
    if (!count || *count > 127)
        return real(socket, message, size, flags);
    unsigned char *changed = malloc(size + MOST_BYTES);
    if (!changed)
        abort();
    size_t before = (size_t)(count - old);
    memcpy(changed, old, before);
    size_t length = before + write_count(changed + before, more[0] == '=' ? strtoull(more + 1, NULL, 0)
                                                                          : *count + strtoull(more, NULL, 0));
    memcpy(changed + length, count + 1, size - before - 1);
    length += size - before - 1;
    uint32_t rest = (uint32_t)(length - HEADER);
    memcpy(changed + 8, &rest, sizeof rest);
    for (size_t sent = 0; sent < length;) {
        ssize_t now = real(socket, changed + sent, length - sent, flags);
        if (now <= 0)
            abort();
        sent += (size_t)now;
    }
    free(changed);
    return (ssize_t)size;
}
