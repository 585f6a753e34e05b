// Who is told what when one of those that build a group by invitation ends.
#include "server-glue/groups/group_invitations.h"

#include <pmix_common.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

Process p(Rank rank) {
    return {"job", rank, false};
}

GroupEvent invite(const char *group, Rank leader, std::vector<Process> whom) {
    return {PMIX_GROUP_INVITED, p(leader), group, std::move(whom)};
}
GroupEvent answer(std::int32_t code, Rank from, Rank to) {
    return {code, p(from), "", {p(to)}};
}

std::string text_of(const std::vector<GroupInvitations::Notice> &notices) {
    std::string out;
    for (const auto &notice : notices) {
        out += notice.code == PMIX_GROUP_INVITE_FAILED   ? "invitee "
               : notice.code == PMIX_GROUP_MEMBER_FAILED ? "member "
                                                         : "leader ";
        out += notice.group + ":";
        for (const auto &each : notice.recipients)
            out += each.wildcard ? "*" : std::to_string(each.rank);
        out += " ";
    }
    return out;
}

void an_invitee_ends(void **) {
    GroupInvitations all;
    all.on_event(invite("g", 0, {p(0), p(1), p(2), p(3)}));
    all.on_event(answer(PMIX_GROUP_INVITE_ACCEPTED, 1, 0));
    all.on_event(answer(PMIX_GROUP_INVITE_DECLINED, 2, 0));
    assert_string_equal(text_of(all.on_ended(p(1))).c_str(), "member g:0 "); // the leader counts on it
    assert_string_equal(text_of(all.on_ended(p(1))).c_str(), "");
    assert_string_equal(text_of(all.on_ended(p(2))).c_str(), ""); // nobody does
    assert_string_equal(text_of(all.on_ended(p(3))).c_str(), "invitee g:0 ");
    assert_string_equal(text_of(all.on_ended(p(3))).c_str(), ""); // once
    assert_string_equal(text_of(all.on_ended(p(9))).c_str(), "");
}

void the_leader_ends(void **) {
    GroupInvitations all;
    all.on_event(invite("g", 0, {p(0), p(1), p(2), p(3)}));
    all.on_event(answer(PMIX_GROUP_INVITE_ACCEPTED, 1, 0));
    all.on_event(answer(PMIX_GROUP_INVITE_DECLINED, 2, 0));
    assert_string_equal(text_of(all.on_ended(p(0))).c_str(), "leader g:13 ");
    assert_int_equal(all.size(), 0);
}

void answers_go_to_the_oldest(void **) {
    GroupInvitations all;
    all.on_event(invite("a", 0, {p(0), p(1)}));
    all.on_event(invite("b", 0, {p(0), p(1)}));
    all.on_event(invite("c", 5, {p(1)}));
    all.on_event(answer(PMIX_GROUP_INVITE_ACCEPTED, 1, 0));
    assert_string_equal(text_of(all.on_ended(p(1))).c_str(), "member a:0 invitee b:0 invitee c:5 ");
}

void complete_is_a_group(void **) {
    GroupInvitations all;
    all.on_event(invite("g", 0, {p(0), p(1)}));
    auto group = all.on_event({PMIX_GROUP_CONSTRUCT_COMPLETE, p(0), "g", {p(0), p(1)}});
    assert_true(group.has_value());
    assert_string_equal(group->name.c_str(), "g");
    assert_int_equal(group->members.size(), 2);
    assert_string_equal(text_of(all.on_ended(p(0))).c_str(), "");
    all.on_event(invite("g", 0, {p(0), p(1)}));
    assert_false(all.on_event({PMIX_GROUP_CONSTRUCT_ABORT, p(0), "g", {p(1)}}).has_value());
    assert_int_equal(all.size(), 0);
}

// Else any process could say so of any group.
void only_who_has_invited_completes_it(void **) {
    GroupInvitations all;
    auto complete = [&](const char *group, Rank leader, std::vector<Process> whom) {
        return all.on_event({PMIX_GROUP_CONSTRUCT_COMPLETE, p(leader), group, std::move(whom)}).has_value();
    };
    assert_false(complete("g", 0, {p(0), p(1)})); // nobody was invited
    all.on_event(invite("g", 0, {p(1), p(2)}));
    assert_false(complete("h", 0, {p(0), p(1)}));
    assert_false(complete("g", 1, {p(0), p(1)}));
    assert_int_equal(all.size(), 1);
    assert_true(complete("g", 0, {p(2), p(0)}));  // without who has declined
    assert_false(complete("g", 0, {p(2), p(0)})); // once
    for (const Process &stranger : {p(3), Process{"other", 1, false}, Process{"job", PMIX_RANK_WILDCARD, true}}) {
        all.on_event(invite("g", 0, {p(0), p(1)}));
        assert_false(complete("g", 0, {p(0), p(1), stranger}));
    }
    const Process everybody{"job", PMIX_RANK_WILDCARD, true};
    all.on_event(invite("g", 0, {everybody}));
    assert_true(complete("g", 0, {everybody}));
    all.on_event(invite("g", 0, {everybody}));
    assert_true(complete("g", 0, {p(0), p(7)}));
    all.on_event(invite("g", 0, {p(1)}));
    assert_false(complete("g", 0, {}));
    all.on_event(invite("g", 0, {p(0)})); // itself alone
    assert_true(complete("g", 0, {p(0)}));
}

void a_whole_namespace(void **) {
    GroupInvitations all;
    all.on_event(invite("g", 0, {{"job", UINT32_MAX, true}}));
    all.on_event(answer(PMIX_GROUP_INVITE_ACCEPTED, 1, 0));
    assert_string_equal(text_of(all.on_ended(p(1))).c_str(), "member g:0 ");
    assert_string_equal(text_of(all.on_ended(p(2))).c_str(), "invitee g:0 ");
    assert_string_equal(text_of(all.on_ended(p(0))).c_str(), "leader g:* ");
}

void no_more_than_so_many(void **) {
    GroupInvitations all;
    for (std::size_t i = 0; i <= GroupInvitations::max_invitations; ++i)
        all.on_event(invite(std::to_string(i).c_str(), 0, {p(1)}));
    assert_int_equal(all.size(), GroupInvitations::max_invitations);
    all.on_event(invite("7", 0, {p(1)})); // again: takes the place of the first
    assert_int_equal(all.size(), GroupInvitations::max_invitations);
    all.on_event(invite("", 0, {p(1)}));
    all.on_event(invite("empty", 0, {}));
    assert_int_equal(all.size(), GroupInvitations::max_invitations);
}

void no_more_members_than_so_many(void **) {
    std::vector<Process> spread;
    for (Rank rank = 1; rank <= 100'000; ++rank)
        spread.push_back(p(2 * rank));
    GroupInvitations all;
    for (int i = 0; i < 20; ++i)
        all.on_event(invite(std::to_string(i).c_str(), 0, spread));
    assert_int_equal(all.size(), GroupInvitations::max_members / spread.size());
    all.on_event(answer(PMIX_GROUP_INVITE_ACCEPTED, 2, 0)); // answers count too
    assert_int_equal(all.size(), GroupInvitations::max_members / spread.size() - 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_invitee_ends),
        cmocka_unit_test(the_leader_ends),
        cmocka_unit_test(answers_go_to_the_oldest),
        cmocka_unit_test(complete_is_a_group),
        cmocka_unit_test(only_who_has_invited_completes_it),
        cmocka_unit_test(a_whole_namespace),
        cmocka_unit_test(no_more_than_so_many),
        cmocka_unit_test(no_more_members_than_so_many),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
