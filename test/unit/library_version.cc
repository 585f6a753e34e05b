// The version of libpmix, as it says it itself.
#include "server-glue/library/library_version.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void what_the_library_says(void **) {
    assert_true(
        (parse_library_version("OpenPMIx 5.0.7, repo rev: v5.0.7 (PMIx Standard: 4.2)") == LibraryVersion{5, 0, 7}));
    assert_true((parse_library_version("OpenPMIx 4.2.2, repo rev: v4.2.2") == LibraryVersion{4, 2, 2}));
    assert_true((parse_library_version("6.1.1rc2") == LibraryVersion{6, 1, 1}));
    assert_true((parse_library_version("7.0") == LibraryVersion{7, 0, 0}));
    assert_true((parse_library_version("no number") == LibraryVersion{}));
    assert_true((parse_library_version("99999999999.1") == LibraryVersion{}));
    assert_true((LibraryVersion{4, 2, 9} < LibraryVersion{5, 0, 0}));
    assert_true(library_version() >= (LibraryVersion{4, 2, 0}));
}

void versions_that_write_of_groups_alike(void **) {
    auto kind = [](unsigned major, unsigned minor, unsigned release) {
        return group_writing({major, minor, release}).kind;
    };
    assert_int_equal(kind(4, 2, 2), kind(4, 1, 3));
    assert_int_equal(kind(4, 2, 2), kind(4, 2, 3));
    assert_int_not_equal(kind(4, 2, 3), kind(4, 2, 4));
    assert_int_equal(kind(4, 2, 4), kind(5, 0, 7));
    assert_int_not_equal(kind(5, 0, 11), kind(6, 0, 0));
    assert_string_equal(text_of({5, 0, 7}).c_str(), "5.0.7");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(what_the_library_says),
                                cmocka_unit_test(versions_that_write_of_groups_alike)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
