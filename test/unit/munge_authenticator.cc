// Proofs by munge where munged is not there at first. In place of libmunge's function is one that says so.
#include "common/transport/authenticator.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <munge.h>
#include <mutex>
#include <optional>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;

namespace {

std::atomic<int> away{0}; // so often munged is not there

// Whoever is asked waits for a second one to be asked.
struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    int asked = 0;
    bool have_met = true;
    void come() {
        std::unique_lock lock(mutex);
        ++asked;
        changed.notify_all();
        have_met &= changed.wait_for(lock, std::chrono::seconds(10), [this] { return asked >= 2; });
    }
};
std::atomic<Meeting *> meeting{nullptr};

} // namespace

extern "C" __attribute__((visibility("default"))) munge_err_t munge_decode(const char *, munge_ctx_t, void **payload,
                                                                           int *length, uid_t *uid, gid_t *gid) {
    if (away-- > 0)
        return EMUNGE_SOCKET;
    if (Meeting *here = meeting)
        here->come();
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

// munged has two threads by default.
void two_proofs_are_looked_at_at_once(void **) {
    away = 0;
    Meeting here;
    meeting = &here;
    auto loop = make_loop();
    auto authenticator = make_munge_authenticator(*loop, geteuid());
    int looked_at = 0;
    for (int i = 0; i < 2; ++i) {
        authenticator->verify("proof", [&](Result<Bytes> done) {
            assert_true(done.ok());
            ++looked_at;
        });
    }
    run_until(*loop, [&] { return looked_at == 2; });
    meeting = nullptr;
    std::lock_guard lock(here.mutex);
    assert_true(here.have_met);
    assert_int_equal(here.asked, 2);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(a_proof_is_looked_at_when_munged_is_back),
                                cmocka_unit_test(another_user_proves_nothing),
                                cmocka_unit_test(two_proofs_are_looked_at_at_once)};
    return cmocka_run_group_tests_name("munge_authenticator", tests, nullptr, nullptr);
}
