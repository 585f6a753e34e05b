/* PMIx_Get_credential and PMIx_Validate_credential.
 * usage: credential exchange         everybody's credential is checked by the next rank, on another
 *                                    host perhaps; forged, garbled and used ones are refused
 *        credential check TEXT UID   rank 0 checks TEXT: a process of UID made it
 *        credential check TEXT bad   or it is refused
 *        credential none             there is no munge: both calls are not supported
 *        credential late READY GO    makes READY, awaits GO, from which on munge does not answer: the timeouts of both
 *                                    calls are kept */
#include "client.h"

static pmix_status_t check(const char *bytes, size_t size, uint32_t *uid, uint32_t *gid) {
    pmix_byte_object_t credential = {.bytes = (char *)bytes, .size = size};
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    *uid = *gid = UINT32_MAX;
    me.doing = "PMIx_Validate_credential";
    pmix_status_t rc = PMIx_Validate_credential(&credential, NULL, 0, &results, &nresults);
    for (size_t i = 0; i < nresults; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_USERID))
            *uid = results[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&results[i], PMIX_GRPID))
            *gid = results[i].value.data.uint32;
    }
    if (results)
        PMIX_INFO_FREE(results, nresults);
    if (rc != PMIX_SUCCESS && (*uid != UINT32_MAX || *gid != UINT32_MAX))
        fail("a credential was refused and an identity given");
    return rc;
}

static void refused(const char *what, const char *bytes, size_t size) {
    uint32_t uid, gid;
    pmix_status_t rc = check(bytes, size, &uid, &gid);
    if (rc != PMIX_ERR_INVALID_CRED)
        fail("%s: %s", what, status_name(rc));
}

static pmix_status_t obtain(const char *type, bool required, pmix_byte_object_t *credential) {
    pmix_info_t info;
    PMIX_BYTE_OBJECT_CONSTRUCT(credential);
    if (type) {
        PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, type, PMIX_STRING);
        if (required)
            PMIX_INFO_REQUIRED(&info);
    }
    me.doing = "PMIx_Get_credential";
    pmix_status_t rc = PMIx_Get_credential(type ? &info : NULL, type ? 1 : 0, credential);
    if (type)
        PMIX_INFO_DESTRUCT(&info);
    return rc;
}

static void exchange(void) {
    pmix_byte_object_t mine, other;
    pmix_status_t rc = obtain(NULL, false, &mine);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Get_credential: %s", status_name(rc));
    if (!mine.bytes || !mine.size)
        fail("the credential is empty");
    if ((rc = obtain("sss", true, &other)) != PMIX_ERR_NOT_SUPPORTED)
        fail("a credential of type sss: %s", status_name(rc));
    if ((rc = obtain("sss,munge", true, &other)) != PMIX_SUCCESS)
        fail("a credential of type sss or munge: %s", status_name(rc));
    put_bytes("credential", mine.bytes, mine.size);
    must(PMIx_Commit());
    fence();
    pmix_value_t *v = NULL;
    rc = get_timed((me.rank + 1) % me.size, "credential", 0, &v);
    if (rc != PMIX_SUCCESS || v->type != PMIX_BYTE_OBJECT)
        fail("no credential of the next rank: %s", status_name(rc));
    size_t size = v->data.bo.size;
    char *forged = malloc(size);
    memcpy(forged, v->data.bo.bytes, size);
    forged[size / 2] = forged[size / 2] == 'A' ? 'B' : 'A';
    refused("a forged credential", forged, size);
    refused("a part of a credential", v->data.bo.bytes, size / 2);
    refused("no credential at all", "\0\377hello", 7);
    uint32_t uid, gid;
    rc = check(v->data.bo.bytes, size, &uid, &gid);
    if (rc != PMIX_SUCCESS)
        fail("the credential of the next rank: %s", status_name(rc));
    if (uid != geteuid() || gid != getegid())
        fail("the credential is of %u:%u, not %u:%u", uid, gid, geteuid(), getegid());
    refused("a credential that was used", v->data.bo.bytes, size);
    char *large = calloc(1, 1 << 20);
    memset(large, 'x', 1 << 20);
    refused("a megabyte", large, 1 << 20);
    fence();
}

static void late(const char *ready, const char *go) {
    pmix_info_t limit, *results = NULL;
    size_t nresults = 0;
    int seconds = 2;
    char text[] = "MUNGE:AAAA:";
    pmix_byte_object_t credential, forged = {.bytes = text, .size = sizeof text};
    close(open(ready, O_WRONLY | O_CREAT, 0644));
    await_file(go);
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_INFO_REQUIRED(&limit);
    me.doing = "PMIx_Get_credential with a timeout";
    double start = now();
    pmix_status_t rc = PMIx_Get_credential(&limit, 1, &credential);
    if (rc != PMIX_ERR_TIMEOUT || now() - start < 1.5)
        fail("PMIx_Get_credential: %s after %.1f s", status_name(rc), now() - start);
    me.doing = "PMIx_Validate_credential with a timeout";
    start = now();
    rc = PMIx_Validate_credential(&forged, &limit, 1, &results, &nresults);
    if (rc != PMIX_ERR_TIMEOUT || now() - start < 1.5)
        fail("PMIx_Validate_credential: %s after %.1f s", status_name(rc), now() - start);
}

int main(int argc, char **argv) {
    begin(80);
    if (argc == 2 && !strcmp(argv[1], "exchange")) {
        exchange();
    } else if (argc == 2 && !strcmp(argv[1], "none")) {
        pmix_byte_object_t credential;
        uint32_t uid, gid;
        pmix_status_t rc = obtain(NULL, false, &credential);
        if (rc != PMIX_ERR_NOT_SUPPORTED)
            fail("PMIx_Get_credential: %s", status_name(rc));
        if ((rc = check("MUNGE:AAAA:", 12, &uid, &gid)) != PMIX_ERR_NOT_SUPPORTED && rc != PMIX_ERR_INVALID_CRED)
            fail("PMIx_Validate_credential: %s", status_name(rc));
    } else if (argc == 4 && !strcmp(argv[1], "late")) {
        late(argv[2], argv[3]);
    } else if (argc == 4 && !strcmp(argv[1], "check")) {
        uint32_t uid, gid;
        if (!strcmp(argv[3], "bad")) {
            refused("what should be refused", argv[2], strlen(argv[2]));
        } else {
            pmix_status_t rc = check(argv[2], strlen(argv[2]), &uid, &gid);
            if (rc != PMIX_SUCCESS || uid != (uint32_t)atoi(argv[3]))
                fail("of uid %u: %s", uid, status_name(rc));
        }
    } else {
        fail("usage: credential exchange|none|check TEXT UID|bad|late READY GO");
    }
    pass();
}
