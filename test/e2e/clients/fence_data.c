/* A collecting fence brings every rank's data to every rank.
 * usage: fence_data BYTES [KEYS [ROUNDS]]; BYTES per key, KEYS keys per rank, new keys each round.
 * "-" before BYTES: only the lowest rank of each host contributes (for the large sizes). */
#include "client.h"

/* Nothing that libpmix could compress: limits are for what travels. */
static char pattern(uint32_t rank, unsigned key, size_t i) {
    uint32_t mixed = (uint32_t)i * 2654435761u + rank * 2246822519u + key * 3266489917u;
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    return (char)((mixed ^ mixed >> 13) >> 8);
}

int main(int argc, char **argv) {
    const char *size_arg = argc > 1 ? argv[1] : "64";
    bool one_per_host = size_arg[0] == '-';
    size_t bytes = strtoul(size_arg + one_per_host, NULL, 10);
    unsigned keys = argc > 2 ? atoi(argv[2]) : 1, rounds = argc > 3 ? atoi(argv[3]) : 1;
    begin(120);
    char *data = malloc(bytes + 1), key[64];
    for (unsigned round = 0; round < rounds; round++) {
        pmix_value_t *v;
        bool gives = true;
        if (one_per_host) {
            if (!get(me.rank, PMIX_LOCAL_RANK, &v))
                fail("no PMIX_LOCAL_RANK");
            gives = v->data.uint16 == 0;
            PMIX_VALUE_RELEASE(v);
        }
        for (unsigned k = 0; gives && k < keys; k++) {
            for (size_t i = 0; i < bytes; i++)
                data[i] = pattern(me.rank, k, i);
            snprintf(key, sizeof(key), "data-%u-%u", round, k);
            put_bytes(key, data, bytes);
        }
        must(PMIx_Commit());
        fence_collect();
        for (uint32_t p = 0; p < me.size; p++) {
            if (one_per_host) {
                if (!get(p, PMIX_LOCAL_RANK, &v))
                    fail("no PMIX_LOCAL_RANK of rank %u", p);
                bool theirs = v->data.uint16 == 0;
                PMIX_VALUE_RELEASE(v);
                if (!theirs)
                    continue;
            }
            for (unsigned k = 0; k < keys; k++) {
                snprintf(key, sizeof(key), "data-%u-%u", round, k);
                pmix_status_t rc = get_timed(p, key, 0, &v);
                if (rc != PMIX_SUCCESS)
                    fail("get %s of rank %u: %s", key, p, status_name(rc));
                if (v->type != PMIX_BYTE_OBJECT || v->data.bo.size != bytes)
                    fail("%s of rank %u: type %d, size %zu", key, p, v->type, v->data.bo.size);
                for (size_t i = 0; i < bytes; i++)
                    if (v->data.bo.bytes[i] != pattern(p, k, i))
                        fail("%s of rank %u differs at byte %zu", key, p, i);
                PMIX_VALUE_RELEASE(v);
            }
        }
    }
    pass();
}
