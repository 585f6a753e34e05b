/* Fences of some of the ranks.
 * usage: fence_sub groups      fences of subsets, one after another, lists in any order
 *        fence_sub concurrent  several at once with different participants, begun in any order
 *        fence_sub mixed       the hosts name the same participants differently: as a wildcard,
 *                              as a list, as a list backwards */
#include "client.h"

enum { EVEN, LOWER, UPPER, ALL, SELF, PAIR, KINDS };

static bool is_member(int kind, uint32_t rank) {
    switch (kind) {
    case EVEN:
        return rank % 2 == 0;
    case LOWER:
        return rank <= me.size / 2;
    case UPPER:
        return rank >= me.size / 2;
    case SELF:
        return rank == me.rank;
    case PAIR: /* first and last */
        return rank == 0 || rank == me.size - 1;
    default:
        return true;
    }
}

/* The list of a kind's members, turned by `turn` so that it is not sorted. */
static size_t list(int kind, uint32_t turn, pmix_proc_t *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < me.size; i++) {
        uint32_t r = (i + turn) % me.size;
        if (is_member(kind, r)) {
            out[n] = me.proc;
            out[n++].rank = r;
        }
    }
    return n;
}

static void groups(pmix_proc_t *procs) {
    char key[32];
    for (int round = 0; round < 10; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            if (!is_member(kind, me.rank))
                continue;
            size_t n = list(kind, me.rank + round, procs);
            snprintf(key, sizeof(key), "sub-%d-%d", round, kind);
            put_u64(key, me.rank * 1000 + round);
            must(PMIx_Commit());
            pmix_status_t rc = fence_with(procs, n, COLLECT, 0);
            if (rc != PMIX_SUCCESS)
                fail("group %d round %d: %s", kind, round, status_name(rc));
            for (size_t i = 0; i < n; i++)
                if (get_u64(procs[i].rank, key) != procs[i].rank * 1000 + round)
                    fail("group %d round %d: wrong value of rank %u", kind, round, procs[i].rank);
        }
}

static void concurrent(pmix_proc_t *procs) {
    need(4); /* with fewer some kinds are the same set, and a set has one fence at a time */
    for (int round = 0; round < 20; round++) {
        struct answer answers[KINDS];
        bool begun[KINDS] = {false};
        for (int i = 0; i < KINDS; i++) {
            int kind = (i + me.rank + round) % KINDS;
            if (!is_member(kind, me.rank))
                continue;
            size_t n = list(kind, me.rank, procs);
            answer_init(&answers[kind]);
            must(PMIx_Fence_nb(procs, n, NULL, 0, answer_op, &answers[kind]));
            begun[kind] = true;
        }
        for (int kind = 0; kind < KINDS; kind++)
            if (begun[kind] && answer_wait(&answers[kind], "PMIx_Fence_nb") != PMIX_SUCCESS)
                fail("round %d fence %d: %s", round, kind, status_name(answers[kind].status));
        fence();
    }
}

static void mixed(pmix_proc_t *procs) {
    pmix_value_t *v;
    if (!get(me.rank, PMIX_NODEID, &v))
        fail("no PMIX_NODEID");
    uint32_t node = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    char key[32];
    for (uint32_t round = 0; round < 9; round++) {
        size_t n = 0;
        /* all ranks of one host use the same form: the library cannot match them otherwise */
        switch ((node + round) % 3) {
        case 0:
            break;
        case 1:
            n = list(ALL, 0, procs);
            break;
        case 2:
            for (uint32_t i = 0; i < me.size; i++) {
                procs[n] = me.proc;
                procs[n++].rank = me.size - 1 - i;
            }
            break;
        }
        snprintf(key, sizeof(key), "mixed-%u", round);
        put_u64(key, me.rank + round);
        must(PMIx_Commit());
        pmix_status_t rc = fence_with(n ? procs : NULL, n, COLLECT, 20);
        if (rc != PMIX_SUCCESS)
            fail("round %u: %s", round, status_name(rc));
        for (uint32_t p = 0; p < me.size; p++)
            if (get_u64(p, key) != p + round)
                fail("round %u: wrong value of rank %u", round, p);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "groups";
    begin(90);
    need(2);
    pmix_proc_t *procs = calloc(me.size, sizeof(*procs));
    if (!strcmp(what, "groups"))
        groups(procs);
    else if (!strcmp(what, "concurrent"))
        concurrent(procs);
    else
        mixed(procs);
    fence();
    pass();
}
