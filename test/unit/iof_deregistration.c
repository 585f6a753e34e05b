/* What PMIx_IOF_deregister is answered with: that libpmix leaves it to chance, and that pmixhost does not. With the
   library's own headers, as what it mends has. */
#include "server-glue/library/iof_deregistration.h"

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

#else

static void the_status_is_set_by_us_alone(void **state) {
    (void)state;
    assert_false(pmixhost_mend_iof_deregistration(NULL));
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_status_is_set_by_us_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
