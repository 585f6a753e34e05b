/* Publish, lookup and unpublish, as pmix.h has them.
 *
 *   publish rules             ranges, persistence, duplicates, waiting, unpublishing within one job;
 *                             the last rank should be on another host than rank 0
 *   publish types             a value of each common type comes back as it was
 *   publish more              custom range, data of the application's and of indefinite life, and too much
 *   publish owner             the owner's user and group come along and are checked
 *   publish put KEY TEXT [PERSISTENCE]   for another job to find
 *   publish find KEY TEXT [SECONDS]      what another job has put; waits so long for it
 *   publish none KEY          nobody has put it
 *   publish hold KEY TEXT     finds it, says "there", and waits for another one until the session dies
 *   publish speed N           round trips per second of rank 0
 */
#include "client.h"

static pmix_status_t publish(const char *key, const char *text, pmix_data_range_t range,
                             pmix_persistence_t persistence) {
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], key, text, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    me.doing = "PMIx_Publish";
    pmix_status_t rc = PMIx_Publish(info, 3);
    PMIX_INFO_DESTRUCT(&info[0]);
    return rc;
}

/* `wait`: -1 not at all. `text` NULL: whatever it is. */
static pmix_status_t find(const char *key, const char *text, int wait, int timeout) {
    pmix_info_t info[2];
    size_t n = 0;
    pmix_pdata_t data;
    if (wait >= 0) {
        PMIX_INFO_LOAD(&info[n], PMIX_WAIT, &wait, PMIX_INT);
        n++;
    }
    if (timeout > 0) {
        PMIX_INFO_LOAD(&info[n], PMIX_TIMEOUT, &timeout, PMIX_INT);
        n++;
    }
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    me.doing = "PMIx_Lookup";
    pmix_status_t rc = PMIx_Lookup(&data, 1, n ? info : NULL, n);
    if (rc == PMIX_SUCCESS && (data.value.type != PMIX_STRING || (text && strcmp(data.value.data.string, text) != 0)))
        fail("%s is not '%s'", key, text);
    PMIX_PDATA_DESTRUCT(&data);
    return rc;
}

static pmix_status_t take_back(const char *key) {
    char *keys[] = {(char *)key, NULL};
    me.doing = "PMIx_Unpublish";
    return PMIx_Unpublish(keys, NULL, 0);
}

#define expect(call, wanted)                                                                                           \
    do {                                                                                                               \
        pmix_status_t got_ = (call);                                                                                   \
        if (got_ != (wanted))                                                                                          \
            fail("%s: %s, not %s", #call, status_name(got_), status_name(wanted));                                     \
    } while (0)

static void rules(void) {
    need(3);
    bool first = me.rank == 0, last = me.rank == me.size - 1;
    if (first) {
        expect(publish("a", "one", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
        expect(publish("mine", "me", PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
        expect(publish("here", "host", PMIX_RANGE_LOCAL, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
        expect(publish("job", "ours", PMIX_RANGE_NAMESPACE, PMIX_PERSIST_APP), PMIX_SUCCESS);
        expect(publish("once", "gone", PMIX_RANGE_GLOBAL, PMIX_PERSIST_FIRST_READ), PMIX_SUCCESS);
        expect(publish("a", "two", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_ERR_DUPLICATE_KEY);
        expect(find("mine", "me", -1, 0), PMIX_SUCCESS);
    }
    fence();
    expect(find("a", "one", -1, 0), PMIX_SUCCESS);
    expect(find("job", "ours", -1, 0), PMIX_SUCCESS);
    if (!first)
        expect(find("mine", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    if (last) {
        expect(find("here", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
        expect(publish("a", "three", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_ERR_DUPLICATE_KEY);
        expect(take_back("a"), PMIX_ERR_NOT_FOUND); /* not its own */
        expect(find("once", "gone", -1, 0), PMIX_SUCCESS);
        expect(find("once", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
        double begin = now();
        expect(find("nothing", NULL, 0, 1), PMIX_ERR_TIMEOUT);
        if (now() - begin > 30)
            fail("a timeout of 1 s took %.1f s", now() - begin);
    }
    fence();
    if (first) {
        expect(find("here", "host", -1, 0), PMIX_SUCCESS);
        expect(take_back("a"), PMIX_SUCCESS);
    }
    fence();
    expect(find("a", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    fence();
    /* the last one waits before it is there, and is answered when it is */
    if (last)
        expect(find("later", "came", 0, 20), PMIX_SUCCESS);
    else if (first)
        expect(publish("later", "came", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
    fence();
    if (first) {
        me.doing = "PMIx_Unpublish of all";
        expect(PMIx_Unpublish(NULL, NULL, 0), PMIX_SUCCESS);
        expect(find("later", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    }
    fence();
    /* one of two keys is enough for PMIX_WAIT 1 */
    if (last) {
        int one = 1;
        pmix_info_t info;
        pmix_pdata_t data[2];
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &one, PMIX_INT);
        PMIX_PDATA_CONSTRUCT(&data[0]);
        PMIX_PDATA_CONSTRUCT(&data[1]);
        PMIX_LOAD_KEY(data[0].key, "k0");
        PMIX_LOAD_KEY(data[1].key, "k1");
        must(PMIx_Lookup(data, 2, &info, 1));
        if (data[0].value.type != PMIX_STRING || data[1].value.type != PMIX_UNDEF)
            fail("PMIX_WAIT 1 gave something else");
    } else if (first) {
        expect(publish("k0", "v", PMIX_RANGE_SESSION, PMIX_PERSIST_PROC), PMIX_SUCCESS);
    }
    fence();
}

static void types(void) {
    pmix_proc_t proc = me.proc;
    char bytes[] = "a\0b";
    pmix_info_t info[6];
    uint64_t big = UINT64_MAX;
    double real = 0.1;
    bool yes = true;
    pmix_byte_object_t object = {.bytes = bytes, .size = sizeof(bytes)};
    pmix_pdata_t data[6];
    static const char *keys[] = {"t.u64", "t.real", "t.bool", "t.bytes", "t.proc", "t.text"};
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = 0;
    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info[0], keys[0], &big, PMIX_UINT64);
        PMIX_INFO_LOAD(&info[1], keys[1], &real, PMIX_DOUBLE);
        PMIX_INFO_LOAD(&info[2], keys[2], &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[3], keys[3], &object, PMIX_BYTE_OBJECT);
        PMIX_INFO_LOAD(&info[4], keys[4], &proc, PMIX_PROC);
        PMIX_INFO_LOAD(&info[5], keys[5], text, PMIX_STRING);
        must(PMIx_Publish(info, 6));
    }
    fence();
    for (int i = 0; i < 6; i++) {
        PMIX_PDATA_CONSTRUCT(&data[i]);
        PMIX_LOAD_KEY(data[i].key, keys[i]);
    }
    must(PMIx_Lookup(data, 6, NULL, 0));
    for (int i = 0; i < 6; i++)
        if (data[i].proc.rank != 0 || strcmp(data[i].proc.nspace, me.proc.nspace) != 0)
            fail("%s is of %s.%u", keys[i], data[i].proc.nspace, data[i].proc.rank);
    if (data[0].value.data.uint64 != big || data[1].value.data.dval != real || !data[2].value.data.flag ||
        data[3].value.data.bo.size != sizeof(bytes) || memcmp(data[3].value.data.bo.bytes, bytes, sizeof(bytes)) != 0 ||
        data[4].value.data.proc->rank != 0 || strcmp(data[5].value.data.string, text) != 0)
        fail("a value is not what was published");
    fence();
}

/* The bytes of a value on the wire: two are equal when these are. */
static pmix_byte_object_t packed(pmix_value_t *value) {
    pmix_data_buffer_t buffer;
    pmix_byte_object_t object;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    must(PMIx_Data_pack(NULL, &buffer, value, 1, PMIX_VALUE));
    must(PMIx_Data_unload(&buffer, &object));
    return object;
}

static void all_types(void) {
    int32_t numbers[] = {1, -2, 3};
    pmix_data_array_t list = {.type = PMIX_INT32, .size = 3, .array = numbers};
    pmix_value_t values[] = {
        {.type = PMIX_BYTE, .data.byte = 200},
        {.type = PMIX_SIZE, .data.size = SIZE_MAX},
        {.type = PMIX_PID, .data.pid = 4711},
        {.type = PMIX_INT, .data.integer = -5},
        {.type = PMIX_INT8, .data.int8 = -6},
        {.type = PMIX_INT16, .data.int16 = -7},
        {.type = PMIX_INT32, .data.int32 = -8},
        {.type = PMIX_INT64, .data.int64 = INT64_MIN},
        {.type = PMIX_UINT, .data.uint = 9},
        {.type = PMIX_UINT8, .data.uint8 = 10},
        {.type = PMIX_UINT16, .data.uint16 = 11},
        {.type = PMIX_UINT32, .data.uint32 = UINT32_MAX},
        {.type = PMIX_FLOAT, .data.fval = 0.5f},
        {.type = PMIX_TIMEVAL, .data.tv = {12, 13}},
        {.type = PMIX_TIME, .data.time = 14},
        {.type = PMIX_STATUS, .data.status = PMIX_ERR_TIMEOUT},
        {.type = PMIX_PROC_RANK, .data.rank = PMIX_RANK_WILDCARD},
        {.type = PMIX_PERSIST, .data.persist = PMIX_PERSIST_APP},
        {.type = PMIX_SCOPE, .data.scope = PMIX_GLOBAL},
        {.type = PMIX_DATA_RANGE, .data.range = PMIX_RANGE_LOCAL},
        {.type = PMIX_PROC_STATE, .data.state = PMIX_PROC_STATE_CONNECTED},
        {.type = PMIX_ALLOC_DIRECTIVE, .data.adir = PMIX_ALLOC_EXTEND},
        {.type = PMIX_ENVAR, .data.envar = {"NAME", "value", ':'}},
        {.type = PMIX_DATA_ARRAY, .data.darray = &list},
    };
    size_t count = sizeof(values) / sizeof(*values);
    char key[32];
    for (size_t i = 0; me.rank == 0 && i < count; i++) {
        pmix_info_t info;
        snprintf(key, sizeof(key), "type.%d", values[i].type);
        PMIX_INFO_CONSTRUCT(&info);
        PMIX_LOAD_KEY(info.key, key);
        info.value = values[i];
        me.doing = key;
        must(PMIx_Publish(&info, 1));
    }
    fence();
    for (size_t i = 0; i < count; i++) {
        pmix_pdata_t data;
        PMIX_PDATA_CONSTRUCT(&data);
        snprintf(key, sizeof(key), "type.%d", values[i].type);
        PMIX_LOAD_KEY(data.key, key);
        me.doing = key;
        must(PMIx_Lookup(&data, 1, NULL, 0));
        pmix_byte_object_t mine = packed(&values[i]), its = packed(&data.value);
        if (mine.size != its.size || memcmp(mine.bytes, its.bytes, mine.size) != 0)
            fail("a value of type %d is not what was published", values[i].type);
        free(mine.bytes);
        free(its.bytes);
        PMIX_PDATA_DESTRUCT(&data);
    }
    fence();
}

/* For rank 1 alone. */
static void more(void) {
    need(3);
    if (me.rank == 0) {
        pmix_info_t info[3];
        pmix_data_range_t range = PMIX_RANGE_CUSTOM;
        pmix_proc_t who = me.proc;
        who.rank = 1;
        PMIX_INFO_LOAD(&info[0], "secret", "for one", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
        must(PMIx_Publish(info, 2) == PMIX_ERR_BAD_PARAM ? PMIX_SUCCESS : PMIX_ERROR); /* for whom? */
        PMIX_INFO_LOAD(&info[2], PMIX_EVENT_CUSTOM_RANGE, &who, PMIX_PROC);
        must(PMIx_Publish(info, 3));
        expect(publish("ours", "app", PMIX_RANGE_SESSION, PMIX_PERSIST_APP), PMIX_SUCCESS);
        expect(publish("kept", "for ever", PMIX_RANGE_SESSION, PMIX_PERSIST_INDEF), PMIX_SUCCESS);
        size_t size = 100 << 20;
        char *large = malloc(size);
        memset(large, 'x', size - 1);
        large[size - 1] = 0;
        expect(publish("large", large, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_ERR_OUT_OF_RESOURCE);
        free(large);
    }
    fence();
    expect(find("secret", "for one", -1, 0), me.rank < 2 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    expect(find("ours", "app", -1, 0), PMIX_SUCCESS);
    expect(find("large", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    fence();
}

static pmix_status_t publish_for(const char *key, const char *directive, uint32_t id) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], key, "owned", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], directive, &id, PMIX_UINT32);
    me.doing = "PMIx_Publish with an owner";
    return PMIx_Publish(info, 2);
}

/* The owner of `key` must be this user; returns its group. */
static uint32_t owner_of(const char *key) {
    pmix_pdata_t data[3];
    const char *keys[] = {key, PMIX_USERID, PMIX_GRPID};
    for (int i = 0; i < 3; i++) {
        PMIX_PDATA_CONSTRUCT(&data[i]);
        PMIX_LOAD_KEY(data[i].key, keys[i]);
    }
    me.doing = "PMIx_Lookup of an owner";
    must(PMIx_Lookup(data, 3, NULL, 0));
    if (data[0].value.type != PMIX_STRING || data[1].value.type != PMIX_UINT32 || data[2].value.type != PMIX_UINT32)
        fail("%s came without its owner", key);
    if (data[1].value.data.uint32 != geteuid())
        fail("%s is of user %u", key, data[1].value.data.uint32);
    return data[2].value.data.uint32;
}

static pmix_status_t find_of(const char *key, const char *directive, uint32_t id) {
    pmix_info_t info;
    pmix_pdata_t data;
    PMIX_INFO_LOAD(&info, directive, &id, PMIX_UINT32);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    me.doing = "PMIx_Lookup by owner";
    return PMIx_Lookup(&data, 1, &info, 1);
}

static void owner(void) {
    gid_t groups[64];
    int count = getgroups(64, groups), other = -1;
    uint32_t nobodys = 4242;
    for (int i = 0; i < count; i++)
        if (groups[i] != getegid())
            other = (int)groups[i];
    if (me.rank == 0) {
        expect(publish("plain", "mine", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
        expect(publish_for("foreign", PMIX_USERID, geteuid() + 1), PMIX_ERR_NO_PERMISSIONS);
        expect(publish_for("foreign", PMIX_GRPID, nobodys), PMIX_ERR_NO_PERMISSIONS);
        if (other >= 0)
            expect(publish_for("team", PMIX_GRPID, (uint32_t)other), PMIX_SUCCESS);
    }
    fence();
    if (owner_of("plain") != getegid())
        fail("the group of what was published is not the publisher's");
    expect(find("foreign", NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    expect(find_of("plain", PMIX_USERID, geteuid()), PMIX_SUCCESS);
    expect(find_of("plain", PMIX_USERID, geteuid() + 1), PMIX_ERR_NO_PERMISSIONS);
    expect(find_of("plain", PMIX_GRPID, getegid()), PMIX_SUCCESS);
    expect(find_of("plain", PMIX_GRPID, nobodys), PMIX_ERR_NOT_FOUND);
    if (other >= 0) {
        if (owner_of("team") != (uint32_t)other)
            fail("the group of what was published for another one is wrong");
        expect(find_of("team", PMIX_GRPID, getegid()), PMIX_ERR_NOT_FOUND);
        expect(find("team", "owned", -1, 0), PMIX_SUCCESS);
        say("group %d", other);
    }
    fence();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "rules";
    begin(90);
    if (!strcmp(what, "rules"))
        rules();
    else if (!strcmp(what, "types")) {
        types();
        all_types();
    } else if (!strcmp(what, "more"))
        more();
    else if (!strcmp(what, "owner"))
        owner();
    else if (!strcmp(what, "put") && argc > 3)
        expect(publish(argv[2], argv[3], PMIX_RANGE_SESSION,
                       argc > 4 && !strcmp(argv[4], "proc") ? PMIX_PERSIST_PROC : PMIX_PERSIST_SESSION),
               PMIX_SUCCESS);
    else if (!strcmp(what, "find") && argc > 3)
        expect(find(argv[2], argv[3], argc > 4 ? 0 : -1, argc > 4 ? atoi(argv[4]) : 0), PMIX_SUCCESS);
    else if (!strcmp(what, "none") && argc > 2) {
        /* what ends with a step goes when the session has heard of its end */
        for (double limit = now() + 20; find(argv[2], NULL, -1, 0) == PMIX_SUCCESS && now() < limit;)
            rest();
        expect(find(argv[2], NULL, -1, 0), PMIX_ERR_NOT_FOUND);
    } else if (!strcmp(what, "hold") && argc > 3) {
        expect(find(argv[2], argv[3], -1, 0), PMIX_SUCCESS);
        say("there");
        expect(find("what nobody puts", NULL, 0, 60), PMIX_ERR_UNREACH);
    } else if (!strcmp(what, "speed") && argc > 2) {
        if (me.rank == 0) {
            expect(publish("speed", "x", PMIX_RANGE_SESSION, PMIX_PERSIST_PROC), PMIX_SUCCESS);
            int rounds = atoi(argv[2]);
            double begin = now();
            for (int i = 0; i < rounds; i++)
                expect(find("speed", "x", -1, 0), PMIX_SUCCESS);
            say("speed %.0f lookups per second", rounds / (now() - begin));
        }
        fence();
    } else
        fail("what is '%s'?", what);
    pass();
}
