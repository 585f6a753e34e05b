// What processes of other jobs had posted: used once, gone with a disconnect, and no more than so much of it.
#include "server-glue/cross_job/cross_job_posted.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void each_is_used_once(void **) {
    CrossJobPosted posted;
    posted.keep("a", 1, "one");
    posted.keep("a", 1, "newer");
    posted.keep("a", 2, "two");
    assert_int_equal(posted.size(), 2);
    assert_int_equal(posted.bytes(), 5 + 3);
    assert_string_equal(posted.take("a", 1)->c_str(), "newer");
    assert_false(posted.take("a", 1).has_value());
    assert_false(posted.take("b", 2).has_value());
    assert_int_equal(posted.bytes(), 3);
}

void a_disconnect_forgets_a_job(void **) {
    CrossJobPosted posted;
    for (const char *nspace : {"a", "b", "c"}) {
        posted.keep(nspace, 0, "first");
        posted.keep(nspace, UINT32_MAX, "last");
    }
    posted.forget("b");
    posted.forget("nobody");
    assert_int_equal(posted.size(), 4);
    assert_int_equal(posted.bytes(), 2 * (5 + 4));
    assert_false(posted.take("b", UINT32_MAX).has_value());
    assert_true(posted.take("a", UINT32_MAX).has_value() && posted.take("c", 0).has_value());
}

// A task that connects with one job after the other makes its host keep no more than that.
void no_more_than_so_much(void **) {
    CrossJobPosted posted;
    const Bytes large(CrossJobPosted::max_bytes / 4, 'x');
    for (Rank rank = 0; rank < 9; ++rank)
        posted.keep("a", rank, large);
    assert_int_equal(posted.size(), 4);
    assert_int_equal(posted.bytes(), 4 * large.size());
    assert_false(posted.take("a", 4).has_value()); // the oldest have gone
    assert_true(posted.take("a", 5).has_value());
    posted.keep("b", 0, Bytes(CrossJobPosted::max_bytes + 1, 'x'));
    assert_false(posted.take("b", 0).has_value());
    assert_int_equal(posted.size(), 3); // nor has anything gone for it
    for (Rank rank = 0; rank < CrossJobPosted::max_processes; ++rank)
        posted.keep("c", rank, "");
    assert_int_equal(posted.size(), CrossJobPosted::max_processes);
    assert_int_equal(posted.bytes(), 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_is_used_once),
        cmocka_unit_test(a_disconnect_forgets_a_job),
        cmocka_unit_test(no_more_than_so_much),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
