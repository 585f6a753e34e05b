// Proofs by munge where munged is not there at first. In place of libmunge's function is one that says so.
#include "common/transport/authenticator.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <munge.h>
#include <optional>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;

namespace {

std::atomic<int> away{0}; // so often munged is not there

} // namespace

extern "C" __attribute__((visibility("default"))) munge_err_t munge_decode(const char *, munge_ctx_t, void **payload,
                                                                           int *length, uid_t *uid, gid_t *gid) {
    if (away-- > 0)
        return EMUNGE_SOCKET;
    *payload = strdup("said");
    *length = 4;
    *uid = geteuid();
    *gid = getegid();
    return EMUNGE_SUCCESS;
}

namespace {

Result<Bytes> verified(uid_t by) {
    auto loop = make_loop();
    auto authenticator = make_munge_authenticator(*loop, by);
    std::optional<Result<Bytes>> result;
    authenticator->verify("proof", [&](Result<Bytes> done) { result = std::move(done); });
    run_until(*loop, [&] { return result.has_value(); });
    return *result;
}

void a_proof_is_looked_at_when_munged_is_back(void **) {
    away = 3;
    auto said = verified(geteuid());
    assert_true(said.ok());
    assert_string_equal(said->c_str(), "said");
}

void another_user_proves_nothing(void **) {
    away = 0;
    assert_true(verified(geteuid() + 1).failure().kind == ErrorKind::denied);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(a_proof_is_looked_at_when_munged_is_back),
                                cmocka_unit_test(another_user_proves_nothing)};
    return cmocka_run_group_tests_name("munge_authenticator", tests, nullptr, nullptr);
}
