// What is asked of libpmix for what processes have posted so far: once of each, whoever asks, and nobody waits for
// those that have posted nothing.
#include "server-glue/library/posted_now.h"

#include <optional>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

using Data = std::map<Rank, Bytes>;

struct Asker {
    std::optional<Data> found;
    PostedNow::Done done() {
        return [this](Data data) {
            assert_false(found.has_value()); // once
            found = std::move(data);
        };
    }
};

void who_has_posted_is_found(void **) {
    PostedNow posted;
    Asker asker;
    auto [look, unasked] = posted.begin("job", {3, 4}, asker.done());
    assert_true((unasked == std::vector<Rank>{3, 4}));
    const Bytes data = "card";
    posted.on_answer("job", 4, &data);
    posted.on_answer("other", 3, &data);
    assert_false(asker.found.has_value());
    PostedNow::end(*look);
    assert_true((*asker.found == Data{{4, "card"}}));
}

// The library keeps the request of the first one.
void one_request_is_enough_for_all(void **) {
    PostedNow posted;
    Asker first, second;
    auto early = posted.begin("job", {1}, first.done());
    auto late = posted.begin("job", {1, 2}, second.done());
    assert_true((late.second == std::vector<Rank>{2}));
    const Bytes data = "card";
    posted.on_answer("job", 1, &data);
    PostedNow::end(*early.first);
    PostedNow::end(*late.first);
    assert_true((*first.found == Data{{1, "card"}}));
    assert_true((*second.found == Data{{1, "card"}}));
    Asker third;
    assert_true((posted.begin("job", {1, 2}, third.done()).second == std::vector<Rank>{1})); // it was answered
}

void what_comes_after_the_end_is_nobodys(void **) {
    PostedNow posted;
    Asker asker;
    const Bytes data = "card";
    auto look = posted.begin("job", {1, 2}, asker.done()).first;
    PostedNow::end(*look);
    assert_true(asker.found->empty());
    posted.on_answer("job", 1, &data);
    look.reset();
    posted.on_answer("job", 2, &data);
    posted.on_answer("job", 2, &data);
}

void a_request_that_fails_finds_nothing(void **) {
    PostedNow posted;
    Asker asker;
    auto look = posted.begin("job", {1}, asker.done()).first;
    posted.on_answer("job", 1, nullptr);
    PostedNow::end(*look);
    assert_true(asker.found->empty());
    assert_true((posted.begin("job", {1}, asker.done()).second == std::vector<Rank>{1}));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_has_posted_is_found),
        cmocka_unit_test(one_request_is_enough_for_all),
        cmocka_unit_test(what_comes_after_the_end_is_nobodys),
        cmocka_unit_test(a_request_that_fails_finds_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
