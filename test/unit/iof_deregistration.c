/* What PMIx_IOF_deregister is answered with: that libpmix leaves it to chance, and that pmixhost does not; who asks.
   With the library's own headers, as what it mends has. */
#include "server-glue/library/iof_deregistration.h"
#include "server-glue/library/pull_asker.h"

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

#include "src/server/pmix_server_ops.h"

#include <string.h>

/* As PMIx_IOF_deregister finds the object in memory that was used before. */
static void the_status_is_set_by_us_alone(void **state) {
    static pmix_setup_caddy_t caddy;
    (void)state;
    memset(&caddy, 0x5a, sizeof caddy);
    PMIX_CONSTRUCT(&caddy, pmix_setup_caddy_t);
    if (PMIX_NUMERIC_VERSION < 0x00060100)
        assert_int_equal(caddy.status, 0x5a5a5a5a); /* else this is needed no longer */
    assert_true(pmixhost_mend_iof_deregistration(&caddy));
    assert_int_equal(caddy.status, PMIX_SUCCESS);
    PMIX_DESTRUCT(&caddy);
}

static void who_asks_is_in_the_request(void **state) {
    static pmix_setup_caddy_t caddy;
    static pmix_server_caddy_t request;
    static pmix_peer_t peer;
    (void)state;
    assert_int_equal(pmixhost_pull_is_of_a_tool(&caddy), -1);
    assert_int_equal(pmixhost_pull_connection(&caddy), PMIXHOST_PULL_CONNECTION_UNKNOWN);
    caddy.cbdata = &request;
    assert_int_equal(pmixhost_pull_is_of_a_tool(&caddy), -1);
    assert_int_equal(pmixhost_pull_connection(&caddy), PMIXHOST_PULL_CONNECTION_UNKNOWN);
    request.peer = &peer;
    peer.sd = 77;
    assert_int_equal(pmixhost_pull_connection(&caddy), 77);
    peer.sd = -1;
    assert_int_equal(pmixhost_pull_connection(&caddy), PMIXHOST_PULL_CONNECTION_CLOSED);
    peer.proc_type.type = PMIX_PROC_CLIENT;
    assert_int_equal(pmixhost_pull_is_of_a_tool(&caddy), 0);
    peer.proc_type.type = PMIX_PROC_TOOL;
    assert_int_equal(pmixhost_pull_is_of_a_tool(&caddy), 1);
}

#else

static void who_asks_is_in_the_request(void **state) {
    (void)state;
    assert_int_equal(pmixhost_pull_is_of_a_tool(NULL), -1);
    assert_int_equal(pmixhost_pull_connection(NULL), PMIXHOST_PULL_CONNECTION_UNKNOWN);
    skip();
}

static void the_status_is_set_by_us_alone(void **state) {
    (void)state;
    assert_false(pmixhost_mend_iof_deregistration(NULL));
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_status_is_set_by_us_alone),
                                       cmocka_unit_test(who_asks_is_in_the_request)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
