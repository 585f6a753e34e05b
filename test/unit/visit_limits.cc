// What one user who asks may have at the gate on jobs of others, at all desks together.
#include "server-glue/gate/visit_limits.h"

#include "test/unit/check.h"

#include <cstring>

using namespace pmixhost;

namespace {

void one_user_has_a_part_of_all_desks(void **) {
    VisitLimits limits(64);
    assert_int_equal(limits.of_one(), 16);
    VisitLimits::Id id = 0;
    for (uid_t owner = 1; owner <= 16; ++owner) // each at another desk
        assert_true(limits.come(++id, 1000, owner).ok());
    auto refused = limits.come(++id, 1000, 99);
    assert_false(refused.ok());
    assert_int_equal(static_cast<int>(refused.failure().kind), static_cast<int>(ErrorKind::limit));
    assert_non_null(std::strstr(refused.failure().text.c_str(), "16 commands and visits of yours"));
    assert_non_null(std::strstr(refused.failure().text.c_str(), "next: end one"));
    assert_int_equal(limits.size(), 16);          // that one does not count
    assert_true(limits.come(++id, 1001, 1).ok()); // nor do they for others
    limits.gone(3);
    assert_true(limits.come(++id, 1000, 99).ok());
    assert_false(limits.come(++id, 1000, 98).ok());
}

void all_users_have_a_bound(void **) {
    VisitLimits limits(2);
    assert_int_equal(limits.of_one(), 2);
    for (VisitLimits::Id id = 1; id <= 8; ++id)
        assert_true(limits.come(id, 1000 + static_cast<uid_t>(id), 1).ok());
    auto refused = limits.come(9, 2000, 1);
    assert_false(refused.ok());
    assert_non_null(std::strstr(refused.failure().text.c_str(), "all users"));
    limits.gone(1);
    assert_true(limits.come(9, 2000, 1).ok());
}

void a_desk_that_goes_takes_its_own_along(void **) {
    VisitLimits limits(64);
    assert_true(limits.come(1, 1000, 7).ok());
    assert_true(limits.come(2, 1000, 7).ok()); // waits for the desk
    assert_true(limits.come(3, 1000, 8).ok());
    limits.handed_over(1);
    limits.handed_over(3);
    limits.handed_over(4); // nobody
    auto gone = limits.at_desk_of(7);
    assert_int_equal(gone.size(), 1);
    assert_int_equal(gone[0], 1);
    limits.gone(gone[0]);
    limits.gone(gone[0]);
    assert_true(limits.at_desk_of(7).empty());
    assert_int_equal(limits.of(1000).size(), 2);
    assert_true(limits.of(1001).empty());
}

void fewer_desks_send_nobody_away(void **) {
    VisitLimits limits(64);
    for (VisitLimits::Id id = 1; id <= 10; ++id)
        assert_true(limits.come(id, 1000, 1).ok());
    limits.set_desks(16);
    assert_int_equal(limits.size(), 10);
    assert_false(limits.come(11, 1000, 1).ok());
    for (VisitLimits::Id id = 1; id <= 6; ++id)
        limits.gone(id);
    assert_false(limits.come(11, 1000, 1).ok());
    limits.gone(7);
    assert_true(limits.come(11, 1000, 1).ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_user_has_a_part_of_all_desks),
        cmocka_unit_test(all_users_have_a_bound),
        cmocka_unit_test(a_desk_that_goes_takes_its_own_along),
        cmocka_unit_test(fewer_desks_send_nobody_away),
    };
    return cmocka_run_group_tests_name("visit limits", tests, nullptr, nullptr);
}
