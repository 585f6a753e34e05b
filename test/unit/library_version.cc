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

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(what_the_library_says)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
