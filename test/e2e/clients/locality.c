/* How near two ranks are, from PMIX_LOCALITY_STRING and PMIx_Get_relative_locality, against what
 * the kernel says about their CPUs. Prints "near A B: core|package|node|none" for each pair.
 * usage: locality [WANT]; WANT is what ranks 0 and 1 must be to each other. */
#define _GNU_SOURCE
#include <sched.h>

#include "client.h"

/* Grows a set of CPUs to all that share a core with one of them. */
static void whole_cores(cpu_set_t *set) {
    cpu_set_t grown = *set;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set))
            continue;
        char path[128];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        FILE *f = fopen(path, "r");
        int from, to;
        char sep = ',';
        while (f && sep == ',' && fscanf(f, "%d", &from) == 1) {
            to = from;
            if (fscanf(f, "%c", &sep) == 1 && sep == '-' && fscanf(f, "%d%c", &to, &sep) < 1)
                break;
            for (; from <= to; from++)
                CPU_SET(from, &grown);
        }
        if (f)
            fclose(f);
    }
    *set = grown;
}

static const char *name_of(pmix_locality_t l) {
    if (l & PMIX_LOCALITY_SHARE_CORE)
        return "core";
    if (l & PMIX_LOCALITY_SHARE_PACKAGE)
        return "package";
    return l & PMIX_LOCALITY_SHARE_NODE ? "node" : "none";
}

static const char *near(uint32_t a, uint32_t b) {
    pmix_value_t *va = NULL, *vb = NULL, *na, *nb;
    if (!get(a, PMIX_HOSTNAME, &na) || !get(b, PMIX_HOSTNAME, &nb))
        fail("no PMIX_HOSTNAME");
    bool same_node = !strcmp(na->data.string, nb->data.string);
    PMIX_VALUE_RELEASE(na);
    PMIX_VALUE_RELEASE(nb);
    if (!same_node)
        return "none";
    if (!get(a, PMIX_LOCALITY_STRING, &va) || !get(b, PMIX_LOCALITY_STRING, &vb))
        return "node"; /* a process that is bound to nothing has no locality string */
    pmix_locality_t l = 0;
    me.doing = "PMIx_Get_relative_locality";
    pmix_status_t rc = PMIx_Get_relative_locality(va->data.string, vb->data.string, &l);
    if (l == 0) /* not by rc: libpmix 4.2 says TAKE_NEXT_OPTION even when it has the answer */
        fail("relative locality of '%s' and '%s': %s", va->data.string, vb->data.string, status_name(rc));
    PMIX_VALUE_RELEASE(va);
    PMIX_VALUE_RELEASE(vb);
    return name_of(l);
}

int main(int argc, char **argv) {
    begin(30);
    need(2);
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof(mine), &mine))
        fail("sched_getaffinity: %s", strerror(errno));
    bool bound = CPU_COUNT(&mine) < sysconf(_SC_NPROCESSORS_ONLN);
    whole_cores(&mine);
    put_bytes("cpus", &mine, sizeof(mine));
    put_u64("bound", bound);
    must(PMIx_Commit());
    fence_collect();
    for (uint32_t p = 0; p < me.size; p++) {
        if (p == me.rank)
            continue;
        const char *got = near(me.rank, p);
        say("near %u %u: %s", me.rank, p, got);
        pmix_value_t *v;
        cpu_set_t theirs, both;
        if (!get(p, "cpus", &v))
            fail("no cpus of rank %u", p);
        memcpy(&theirs, v->data.bo.bytes, sizeof(theirs));
        PMIX_VALUE_RELEASE(v);
        CPU_AND(&both, &mine, &theirs);
        if (strcmp(got, "none") && bound && get_u64(p, "bound")) {
            if (!strcmp(got, "node"))
                fail("both are bound but not known where (rank %u)", p);
            if ((CPU_COUNT(&both) > 0) != !strcmp(got, "core"))
                fail("rank %u is said to be at '%s', the kernel says they share %d CPUs", p, got, CPU_COUNT(&both));
        }
        if (me.rank + p == 1 && argc > 1 && strcmp(got, argv[1]))
            fail("rank %u is at '%s' instead of '%s'", p, got, argv[1]);
    }
    fence();
    pass();
}
