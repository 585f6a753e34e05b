/* A directive that the host does not know: refused where it is required, ignored where not; one
 * that the host knows may be required. The refused fence leaves nothing behind. */
#include "client.h"

static pmix_status_t fence_directive(const char *key, const char *text, bool required) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
    if (required)
        PMIX_INFO_REQUIRED(&info);
    me.doing = key;
    pmix_status_t rc = PMIx_Fence(NULL, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return rc;
}

#ifdef PMIX_COLLECTIVE_ALGO_REQD
static pmix_status_t fence_algorithm(bool mandatory) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECTIVE_ALGO, "nosuch", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_COLLECTIVE_ALGO_REQD, &mandatory, PMIX_BOOL);
    me.doing = PMIX_COLLECTIVE_ALGO_REQD;
    pmix_status_t rc = PMIx_Fence(NULL, 0, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    return rc;
}
#endif

static void expect(pmix_status_t got, pmix_status_t want, const char *what) {
    if (got != want)
        fail("%s: %s instead of %s", what, status_name(got), status_name(want));
}

int main(void) {
    begin(30);
    expect(fence_directive("test.no.such", "x", false), PMIX_SUCCESS, "optional unknown");
    expect(fence_directive("test.no.such", "x", true), PMIX_ERR_NOT_SUPPORTED, "required unknown");
    expect(fence_directive(PMIX_COLLECTIVE_ALGO, "nosuch", false), PMIX_SUCCESS, "optional algo");
    expect(fence_directive(PMIX_COLLECTIVE_ALGO, "nosuch", true), PMIX_ERR_NOT_SUPPORTED, "required algo");
#ifdef PMIX_COLLECTIVE_ALGO_REQD
    expect(fence_algorithm(false), PMIX_SUCCESS, "an algorithm that is no must");
    expect(fence_algorithm(true), PMIX_ERR_NOT_SUPPORTED, "one that is a must");
#endif
    put_u64("reqd", me.rank);
    must(PMIx_Commit());
    expect(fence_with(NULL, 0, COLLECT | REQUIRED, 0), PMIX_SUCCESS, "required collect");
    for (uint32_t p = 0; p < me.size; p++)
        if (get_u64(p, "reqd") != p)
            fail("wrong value of rank %u", p);
    fence();
    pass();
}
