// What the gate keeps of the tools that it has refused, for their user alone, and the words in which it tells.
#include "server-glue/gate/refused_tools.h"

#include "common/rendezvous/desk_word.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint begin = TimePoint() + 1h;

void each_user_has_the_own(void **) {
    RefusedTools refused;
    assert_int_equal(refused.of(7, begin).count, 0);
    refused.note(7, "one", begin);
    refused.note(7, "another\n\x1b[2J", begin + 60s);
    refused.note(8, "of 8", begin + 90s);
    auto of = refused.of(7, begin + 100s);
    assert_int_equal(of.count, 2);
    assert_true(of.first == 100s && of.last == 40s);
    assert_true(of.why.starts_with("another ") && of.why.find('\x1b') == of.why.npos);
    assert_string_equal(refused.of(8, begin + 100s).why.c_str(), "of 8");
    assert_int_equal(refused.of(0, begin + 100s).count, 0);
}

void what_is_long_ago_is_forgotten(void **) {
    RefusedTools refused;
    refused.note(7, "one", begin);
    refused.note(7, "two", begin + RefusedTools::kept - 1s);
    assert_int_equal(refused.of(7, begin + RefusedTools::kept).count, 2);
    assert_int_equal(refused.of(7, begin + 2 * RefusedTools::kept).count, 0);
    refused.note(7, "three", begin + 2 * RefusedTools::kept);
    auto of = refused.of(7, begin + 2 * RefusedTools::kept + 1s);
    assert_true(of.count == 1 && of.first == 1s && of.why == "three");
}

void it_is_bounded(void **) {
    RefusedTools refused;
    for (uid_t user = 1; user <= RefusedTools::most_users; ++user)
        refused.note(user, std::string(100000, 'x'), begin + user * 1ms);
    refused.note(1, "again", begin + 10s);
    refused.note(99999, "new", begin + 10s);
    assert_int_equal(refused.users(), RefusedTools::most_users);
    assert_int_equal(refused.of(1, begin + 11s).count, 2);
    assert_int_equal(refused.of(2, begin + 11s).count, 0); // whose turn it was
    assert_int_equal(refused.of(99999, begin + 11s).count, 1);
    assert_true(refused.of(3, begin + 11s).why.size() <= RefusedTools::longest_why);
}

void the_word_goes_there_and_back(void **) {
    assert_string_equal(refusals_word({}).c_str(), "refused 0");
    auto none = parse_refusals("refused 0");
    assert_true(none.ok() && none->count == 0);
    auto some = parse_refusals(refusals_word({3, 240s, 12s, "from this host: 2 of 3"}));
    assert_true(some.ok() && some->count == 3 && some->first == 240s && some->last == 12s);
    assert_string_equal(some->why.c_str(), "from this host: 2 of 3");
    for (const char *word : {"", "refused", "refused ", "refused 0 1 1 x", "refused 1", "refused 1 2", "refused 1 2 1",
                             "refused 1 2 3 x", "refused -1 2 1 x", "refused 1 2 1x", "refused 1 99999999999 1 x",
                             "refused 99999999999999999999 2 1 x", "Refused 0", "serving x"}) {
        auto parsed = parse_refusals(word);
        if (parsed || parsed.failure().kind != ErrorKind::system)
            fail_msg("'%s'", word);
    }
    // As a gate of before says it.
    assert_true(parse_refusals(desk_failed(error(ErrorKind::invalid, "no wish"))).failure().kind == ErrorKind::invalid);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_user_has_the_own),
        cmocka_unit_test(what_is_long_ago_is_forgotten),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(the_word_goes_there_and_back),
    };
    return cmocka_run_group_tests_name("tools that the gate has refused", tests, nullptr, nullptr);
}
