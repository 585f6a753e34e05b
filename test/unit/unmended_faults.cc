// Which faults of libpmix are left where pmixhost was compiled for another one, or without the library's own headers.
#include "server-glue/library/unmended_faults.h"

#include "test/unit/check.h"

using namespace pmixhost;

// One that has them all.
extern "C" const char *PMIx_Get_version(void) {
    return "OpenPMIx 5.0.3, repo rev: v5.0.3";
}

namespace {

bool is_told(const std::vector<std::string> &faults, const char *what, const char *why) {
    for (const auto &fault : faults) {
        if (fault.find(what) != std::string::npos && fault.find(why) != std::string::npos)
            return fault.starts_with("with libpmix 5.0.3 ");
    }
    return false;
}

void headers_of_another_library(void **) {
    auto faults = unmended_faults({false, true, true});
    assert_int_equal(faults.size(), 5);
    for (const char *what : {"a fence or connect that fails", "PMIx_IOF_deregister", "may not read output",
                             "server refuses", "the launcher's output"})
        assert_true(is_told(faults, what, "compiled for "));
}

void without_the_librarys_own_headers(void **) {
    LibraryHeaders headers{true, false, true};
    auto faults = unmended_faults(headers);
    assert_int_equal(faults.size(), 1);
    assert_true(is_told(faults, "a fence or connect that fails", "without the library's own headers"));
    headers = {true, true, false};
    assert_int_equal(unmended_faults(headers).size(), 4);
    headers = {true, false, false};
    assert_int_equal(unmended_faults(headers).size(), 5);
}

void with_them_all_are_mended(void **) {
    assert_true(unmended_faults({true, true, true}).empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_another_library),
        cmocka_unit_test(without_the_librarys_own_headers),
        cmocka_unit_test(with_them_all_are_mended),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
