// Direct modex: who is asked, who answers, and what comes when nobody can.
#include "server-glue/modex/modex.h"

#include <algorithm>
#include <pmix_common.h>
#include <set>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};

// Rank n lives on host n.
struct Port final : FakeHosts, ModexPort {
    std::map<std::uint64_t, std::pair<std::int32_t, Bytes>> answers;
    std::vector<std::uint64_t> asked;
    std::set<Rank> gone_ranks;
    std::vector<std::uint64_t> asked_now;
    std::map<Rank, std::vector<HostIndex>> heirs; // of those whose host has left
    std::map<Rank, Bytes> kept_here;
    std::set<Rank> on_its_way;
    std::set<Rank> refused;
    std::set<HostIndex> no_heirs; // as was asked last
    PostedReply reply(std::uint64_t id) {
        return {[this, id](std::int32_t status, Bytes data) {
                    bool first = answers.emplace(id, std::pair{status, std::move(data)}).second;
                    assert_true(first);
                },
                PMIX_ERROR, Bytes()};
    }
    void ask_library(std::uint64_t token, const Bytes &, Rank, Wait wait) override {
        (wait == Wait::if_there ? asked_now : asked).push_back(token);
    }
    HostIndex holder_of(const Bytes &nspace, Rank rank, const std::set<HostIndex> &but) override {
        auto heir = heirs.find(rank);
        if (heir == heirs.end())
            return host_of(nspace, rank);
        no_heirs = but;
        auto next =
            std::find_if(heir->second.begin(), heir->second.end(), [&](auto one) { return !but.contains(one); });
        return next == heir->second.end() ? no_host : *next;
    }
    Kept kept(const Bytes &, Rank rank) override {
        auto found = kept_here.find(rank);
        return {found == kept_here.end() ? nullptr : &found->second, on_its_way.contains(rank), refused.contains(rank)};
    }
    HostIndex host_of(const Bytes &nspace, Rank rank) override { return nspace == "job" && rank < 4 ? rank : no_host; }
    bool local_process_gone(const Bytes &, Rank rank) override { return gone_ranks.contains(rank); }
};

void asked_and_answered(void **) {
    Port here, there;
    Modex asker(here, here, 0), server(there, there, 2);
    asker.request("job", 2, start, start + 5s, here.reply(7));
    assert_int_equal(here.sent.at(0).to, 2);
    auto request = here.sent_as<wire::ModexRequest>(0);
    assert_int_equal(request.timeout_ms, 5000);
    server.on_request(start, 0, request);
    assert_true(there.sent.empty()); // nothing is posted yet: it waits
    server.on_local_data(start, there.asked.at(0), PMIX_SUCCESS, "blob");
    asker.on_reply(start, 2, there.sent_as<wire::ModexReply>(0));
    assert_int_equal(here.answers.at(7).first, PMIX_SUCCESS);
    assert_true(here.answers.at(7).second == "blob");
    assert_true(asker.next_time() == TimePoint::max() && server.next_time() == TimePoint::max());
}

void nobody_and_strangers_are_not_found(void **) {
    Port port;
    Modex modex(port, port, 0);
    modex.request("job", 9, start, TimePoint::max(), port.reply(1));
    modex.request("other", 1, start, TimePoint::max(), port.reply(2));
    assert_int_equal(port.answers.at(1).first, PMIX_ERR_NOT_FOUND);
    assert_int_equal(port.answers.at(2).first, PMIX_ERR_NOT_FOUND);
    assert_true(port.sent.empty());
}

void the_deadline_ends_the_wait_on_both_sides(void **) {
    Port here, there;
    Modex asker(here, here, 0), server(there, there, 1);
    asker.request("job", 1, start, start + 2s, here.reply(1));
    server.on_request(start, 0, here.sent_as<wire::ModexRequest>(0));
    asker.on_time(start + 1s);
    assert_true(here.answers.empty());
    asker.on_time(start + 2s);
    assert_int_equal(here.answers.at(1).first, PMIX_ERR_TIMEOUT);
    server.on_time(start + 2s);
    server.on_local_data(start, there.asked.at(0), PMIX_SUCCESS, "late");
    assert_true(there.sent.empty()); // nobody waits any more
}

void all_who_ask_share_one_question(void **) {
    Port port;
    Modex modex(port, port, 1);
    // A client that asks again and again, with a short timeout, and another host that waits longer.
    for (std::uint64_t i = 0; i < 1000; ++i) {
        modex.on_request(start + i * 10ms, 0, {i, "job", 1, 10});
        modex.on_time(start + (i + 1) * 10ms);
    }
    modex.on_request(start + 10s, 2, {7, "job", 1, 60'000});
    modex.on_request(start + 10s, 3, {8, "job", 1, 1'000});
    assert_int_equal(port.asked.size(), 1);
    assert_true(port.sent.empty());
    assert_true(modex.next_time() == start + 11s);
    modex.on_local_data(start, port.asked[0], PMIX_SUCCESS, "blob");
    assert_int_equal(port.sent.size(), 2);
    for (std::size_t i : {0, 1}) {
        auto reply = port.sent_as<wire::ModexReply>(i);
        assert_int_equal(reply.id, port.sent[i].to == 2 ? 7 : 8);
        assert_true(reply.data == "blob");
    }
    modex.on_local_data(start, port.asked[0], PMIX_SUCCESS, "again");
    assert_int_equal(port.sent.size(), 2);
    // The next one is a new question: the process may have committed more.
    modex.on_request(start + 12s, 2, {9, "job", 1, 60'000});
    assert_int_equal(port.asked.size(), 2);
}

void the_owner_goes(void **) {
    Port port;
    Modex modex(port, port, 1);
    modex.on_request(start, 0, {1, "job", 1, UINT32_MAX});
    modex.on_local_process_gone("job", 1);
    assert_true(port.sent.empty()); // it may have committed something at its very end
    assert_int_equal(port.asked_now.size(), 1);
    modex.on_local_data(start, port.asked_now.at(0), PMIX_ERR_NOT_FOUND, {});
    auto reply = port.sent_as<wire::ModexReply>(0);
    assert_int_equal(reply.status, PMIX_ERR_NOT_FOUND);
    port.gone_ranks.insert(1);
    modex.on_request(start, 0, {2, "job", 1, UINT32_MAX});
    assert_int_equal(port.asked.size(), 1);
    modex.on_local_data(start, port.asked_now.at(1), PMIX_SUCCESS, "blob"); // what it had committed is still there
    assert_true(port.sent_as<wire::ModexReply>(1).data == "blob");
}

void the_host_goes(void **) {
    Port port;
    Modex modex(port, port, 0);
    modex.request("job", 1, start, TimePoint::max(), port.reply(1));
    modex.request("job", 2, start, TimePoint::max(), port.reply(2));
    modex.on_host_gone(start, 1, false);
    assert_int_equal(port.answers.at(1).first, PMIX_ERR_LOST_CONNECTION);
    assert_false(port.answers.contains(2));
    port.gone.insert(1);
    modex.request("job", 1, start, TimePoint::max(), port.reply(3));
    assert_int_equal(port.answers.at(3).first, PMIX_ERR_LOST_CONNECTION);
}

void only_the_asked_host_may_answer(void **) {
    Port port;
    Modex modex(port, port, 0);
    modex.request("job", 1, start, TimePoint::max(), port.reply(1));
    auto id = port.sent_as<wire::ModexRequest>(0).id;
    modex.on_reply(start, 3, {id, PMIX_SUCCESS, "forged"});
    assert_true(port.answers.empty());
    modex.on_request(start, 3, {1, "job", 2, UINT32_MAX}); // rank 2 is not here
    assert_int_equal(port.sent_as<wire::ModexReply>(1).status, PMIX_ERR_NOT_FOUND);
}

wire::ModexRequest request_in(const Port &port, std::size_t place, HostIndex to) {
    assert_int_equal(port.sent.at(place).to, to);
    return port.sent_as<wire::ModexRequest>(place);
}

void a_host_that_leaves_has_an_heir(void **) {
    Port port;
    Modex modex(port, port, 3);
    modex.request("job", 2, start, start + 5s, port.reply(1));
    auto first = request_in(port, 0, 2);
    port.heirs[2] = {1};
    modex.on_host_gone(start + 1s, 2, true);
    auto second = request_in(port, 1, 1);
    assert_int_equal(second.rank, 2);
    assert_int_equal(second.timeout_ms, 4000);
    modex.on_reply(start, 2, {first.id, PMIX_SUCCESS, "too late"});
    assert_true(port.answers.empty());
    modex.on_reply(start, 1, {second.id, PMIX_SUCCESS, "blob"});
    assert_true(port.answers.at(1).second == "blob");
    modex.request("job", 2, start, start + 5s, port.reply(2)); // the next one at once
    request_in(port, 2, 1);
    // The heir crashes; then nobody is left.
    modex.on_host_gone(start, 1, false);
    assert_int_equal(port.answers.at(2).first, PMIX_ERR_LOST_CONNECTION);
    port.heirs[2] = {};
    modex.request("job", 2, start, start + 5s, port.reply(3));
    assert_int_equal(port.answers.at(3).first, PMIX_ERR_NOT_FOUND);
}

// The connection is gone before anybody is told how the host went.
void a_host_that_leaves_while_it_is_asked_has_an_heir(void **) {
    Port port;
    Modex modex(port, port, 3);
    port.gone = {1, 2};
    modex.request("job", 1, start, start + 5s, port.reply(1));
    modex.request("job", 2, start, start + 5s, port.reply(2));
    assert_true(port.answers.empty() && port.sent.empty());
    port.heirs[1] = {0};
    modex.on_host_gone(start, 1, true);
    request_in(port, 0, 0);
    modex.on_host_gone(start, 2, false);
    assert_int_equal(port.answers.at(2).first, PMIX_ERR_LOST_CONNECTION);
    assert_false(port.answers.contains(1));
}

void the_heir_answers_and_waits_for_what_may_come(void **) {
    Port port;
    Modex modex(port, port, 0);
    port.kept_here[1] = "kept";
    modex.on_request(start, 3, {1, "job", 1, UINT32_MAX});
    assert_true(port.sent_as<wire::ModexReply>(0).data == "kept");
    port.on_its_way.insert(2);
    modex.on_request(start, 3, {2, "job", 2, UINT32_MAX});
    assert_int_equal(port.sent.size(), 1);
    port.heirs[2] = {0};
    modex.request("job", 2, start, start + 5s, port.reply(9)); // this host's own processes ask too
    port.kept_here[2] = "handed over";
    modex.on_kept(start, "job", 2);
    assert_true(port.sent_as<wire::ModexReply>(1).data == "handed over");
    assert_true(port.answers.at(9).second == "handed over");
    assert_true(port.asked.empty() && port.asked_now.empty());
    // What does not come until its host has left does not come.
    port.on_its_way = {3};
    modex.on_request(start, 2, {3, "job", 3, UINT32_MAX});
    port.on_its_way.clear();
    modex.on_host_gone(start, 3, true);
    assert_int_equal(port.sent_as<wire::ModexReply>(2).status, PMIX_ERR_NOT_FOUND);
}

// Several hosts leave together: one of them is asked that has already refused what others bring.
void an_heir_that_has_refused_it_sends_on_to_the_next(void **) {
    Port there;
    Modex heir(there, there, 2);
    heir.on_request(start, 3, {1, "job", 0, UINT32_MAX}); // nobody has handed that over
    assert_int_equal(there.sent_as<wire::ModexReply>(0).status, PMIX_ERR_NOT_FOUND);
    there.on_its_way = {1};
    heir.on_request(start, 3, {2, "job", 1, UINT32_MAX});
    assert_int_equal(there.sent.size(), 1);
    there.refused = {1};
    heir.on_refused(start, "job", 1);
    assert_int_equal(there.sent_as<wire::ModexReply>(1).status, PMIX_ERR_NOT_AVAILABLE);
    heir.on_request(start, 3, {3, "job", 1, UINT32_MAX});
    assert_int_equal(there.sent_as<wire::ModexReply>(2).status, PMIX_ERR_NOT_AVAILABLE);
    there.kept_here[1] = "taken before";
    heir.on_request(start, 3, {4, "job", 1, UINT32_MAX});
    assert_true(there.sent_as<wire::ModexReply>(3).data == "taken before");

    Port port;
    Modex modex(port, port, 3);
    port.heirs[1] = {2, 0};
    modex.request("job", 1, start, TimePoint::max(), port.reply(1));
    modex.on_reply(start, 2, {request_in(port, 0, 2).id, PMIX_ERR_NOT_AVAILABLE, {}});
    modex.on_reply(start, 0, {request_in(port, 1, 0).id, PMIX_ERR_NOT_AVAILABLE, {}});
    assert_true(port.no_heirs == (std::set<HostIndex>{0, 2}));
    assert_int_equal(port.answers.at(1).first, PMIX_ERR_NOT_FOUND);
    // What the host of the process itself says is the answer.
    modex.request("job", 0, start, TimePoint::max(), port.reply(2));
    modex.on_reply(start, 0, {request_in(port, 2, 0).id, PMIX_ERR_NOT_AVAILABLE, {}});
    assert_int_equal(port.answers.at(2).first, PMIX_ERR_NOT_AVAILABLE);
}

void who_has_refused_it_asks_the_next_itself(void **) {
    Port port;
    Modex modex(port, port, 3);
    port.heirs[1] = {3, 0};
    port.on_its_way = {1};
    modex.request("job", 1, start, TimePoint::max(), port.reply(1)); // waits for what may come here
    port.refused = {1};
    modex.on_refused(start, "job", 1);
    modex.on_reply(start, 0, {request_in(port, 0, 0).id, PMIX_SUCCESS, "there"});
    assert_true(port.answers.at(1).second == "there");
    modex.request("job", 1, start, TimePoint::max(), port.reply(2));
    request_in(port, 1, 0);
}

void what_is_kept_here_is_not_asked_for(void **) {
    Port port;
    Modex modex(port, port, 3);
    port.kept_here[1] = "kept";
    port.heirs[1] = {2};
    modex.request("job", 1, start, TimePoint::max(), port.reply(1));
    assert_true(port.answers.at(1).second == "kept");
    port.heirs.clear(); // its host has come again, and may have more
    modex.request("job", 1, start, TimePoint::max(), port.reply(2));
    request_in(port, 0, 1);
}

void hosts_that_have_all_left_are_not_asked_for_ever(void **) {
    Port port;
    Modex modex(port, port, 0);
    modex.request("job", 1, start, TimePoint::max(), port.reply(1));
    for (unsigned i = 1; i <= Modex::max_tries; ++i) {
        assert_true(port.answers.empty());
        assert_int_equal(port.sent.size(), i);
        modex.on_host_gone(start, 1, true); // and the port names it again
    }
    assert_int_equal(port.answers.at(1).first, PMIX_ERR_NOT_FOUND);
}

void who_waits_at_the_end_is_answered(void **) {
    Port port;
    {
        Modex modex(port, port, 0);
        modex.request("job", 1, start, TimePoint::max(), port.reply(1));
        modex.on_request(start, 2, {7, "job", 0, UINT32_MAX});
        modex.drop_all();
        assert_int_equal(port.answers.at(1).first, PMIX_ERROR);
        assert_true(modex.next_time() == TimePoint::max());
        modex.on_reply(start, 1, {port.sent_as<wire::ModexRequest>(0).id, PMIX_SUCCESS, "too late"});
        modex.on_local_data(start, port.asked.at(0), PMIX_SUCCESS, "too late");
        modex.request("job", 1, start, TimePoint::max(), port.reply(2));
        assert_int_equal(port.sent.size(), 2); // the questions
    }
    assert_int_equal(port.answers.at(2).first, PMIX_ERROR);
}

// The library is asked again, ever more rarely, until the key is there.
void a_key_is_waited_for(void **) {
    Port port;
    Modex modex(port, port, 2);
    auto request = wire::ModexRequest{1, "job", 2, UINT32_MAX, "wanted", 60'000};
    modex.on_request(start, 0, request);
    modex.on_local_data(start, port.asked.at(0), PMIX_SUCCESS, Bytes("...other\0...", 13));
    assert_true(port.sent.empty());
    auto other = wire::ModexRequest{2, "job", 2, UINT32_MAX, "", 0}; // anything will do
    modex.on_request(start, 1, other);
    modex.on_local_data(start, port.asked_now.at(0), PMIX_SUCCESS, Bytes("...other\0wanted2\0", 18));
    assert_int_equal(port.sent.size(), 1);
    assert_int_equal(port.sent.at(0).to, 1);
    TimePoint now = start;
    for (unsigned looks = 1; looks < 20; ++looks) {
        assert_true(modex.next_time() > now && modex.next_time() <= now + Modex::last_look);
        now = modex.next_time();
        modex.on_time(now);
        assert_int_equal(port.asked_now.size(), looks + 1);
        modex.on_local_data(now, port.asked_now.at(looks), PMIX_SUCCESS, Bytes("other\0", 6));
    }
    assert_true(now > start + 10s);
    modex.on_time(modex.next_time());
    modex.on_local_data(now, port.asked_now.back(), PMIX_SUCCESS, Bytes("other\0wanted\0", 13));
    assert_int_equal(port.sent.size(), 2);
    assert_int_equal(port.sent_as<wire::ModexReply>(1).id, 1);
    assert_true(modex.next_time() == TimePoint::max());
}

void a_key_is_not_waited_for_longer_than_the_asker_wants_or_the_process_lives(void **) {
    for (bool ends : {false, true}) {
        Port port;
        Modex modex(port, port, 2);
        modex.on_request(start, 0, wire::ModexRequest{1, "job", 2, UINT32_MAX, "wanted", 15});
        modex.on_local_data(start, port.asked.at(0), PMIX_SUCCESS, "other");
        if (ends)
            modex.on_local_process_gone("job", 2);
        else
            modex.on_time(start + 10ms);
        assert_int_equal(port.asked_now.size(), 1);
        modex.on_local_data(start + 10ms, port.asked_now.at(0), PMIX_SUCCESS, "other");
        if (!ends) {
            assert_true(port.sent.empty());
            assert_true(modex.next_time() == start + 15ms);
            modex.on_time(start + 15ms);
            modex.on_local_data(start + 15ms, port.asked_now.at(1), PMIX_SUCCESS, "other");
        }
        assert_true(port.sent_as<wire::ModexReply>(0).data == "other");
        assert_true(modex.next_time() == TimePoint::max());
    }
}

// What a process posts at first may come late, or be for its own host alone.
void the_wait_for_a_key_begins_with_the_first_that_is_posted(void **) {
    Port port;
    Modex modex(port, port, 2);
    modex.on_request(start, 0, wire::ModexRequest{1, "job", 2, UINT32_MAX, "wanted", 1000});
    modex.on_request(start, 0, wire::ModexRequest{2, "job", 2, UINT32_MAX, "", 0});
    modex.on_local_data(start + 5s, port.asked.at(0), PMIX_ERR_EXISTS_OUTSIDE_SCOPE, {});
    assert_int_equal(port.sent.size(), 1);
    assert_int_equal(port.sent_as<wire::ModexReply>(0).id, 2);
    modex.on_time(start + 5s + Modex::first_look);
    modex.on_local_data(start + 5500ms, port.asked_now.at(0), PMIX_SUCCESS, "other");
    assert_int_equal(port.sent.size(), 1);
    modex.on_time(start + 6s);
    modex.on_local_data(start + 6s, port.asked_now.at(1), PMIX_SUCCESS, "other");
    assert_int_equal(port.sent.size(), 2);
}

void a_key_that_is_too_long_is_refused(void **) {
    Port port;
    Modex modex(port, port, 2);
    modex.on_request(start, 0, wire::ModexRequest{1, "job", 2, UINT32_MAX, Bytes(PMIX_MAX_KEYLEN + 1, 'k'), 1000});
    assert_int_equal(port.sent_as<wire::ModexReply>(0).status, PMIX_ERR_BAD_PARAM);
    assert_true(port.asked.empty());
}

// A process that gave up does not keep the library asked.
void a_key_that_nobody_waits_for_is_not_looked_for(void **) {
    Port port;
    Modex modex(port, port, 2);
    modex.on_request(start, 0, wire::ModexRequest{1, "job", 2, 20, "wanted", 60'000});
    modex.on_local_data(start, port.asked.at(0), PMIX_SUCCESS, "other");
    modex.on_time(start + 1s);
    assert_true(port.asked_now.empty() && port.sent.empty());
    assert_true(modex.next_time() == TimePoint::max());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(asked_and_answered),
        cmocka_unit_test(nobody_and_strangers_are_not_found),
        cmocka_unit_test(the_deadline_ends_the_wait_on_both_sides),
        cmocka_unit_test(all_who_ask_share_one_question),
        cmocka_unit_test(the_owner_goes),
        cmocka_unit_test(the_host_goes),
        cmocka_unit_test(only_the_asked_host_may_answer),
        cmocka_unit_test(a_host_that_leaves_has_an_heir),
        cmocka_unit_test(a_host_that_leaves_while_it_is_asked_has_an_heir),
        cmocka_unit_test(the_heir_answers_and_waits_for_what_may_come),
        cmocka_unit_test(an_heir_that_has_refused_it_sends_on_to_the_next),
        cmocka_unit_test(who_has_refused_it_asks_the_next_itself),
        cmocka_unit_test(what_is_kept_here_is_not_asked_for),
        cmocka_unit_test(hosts_that_have_all_left_are_not_asked_for_ever),
        cmocka_unit_test(who_waits_at_the_end_is_answered),
        cmocka_unit_test(a_key_is_waited_for),
        cmocka_unit_test(a_key_is_not_waited_for_longer_than_the_asker_wants_or_the_process_lives),
        cmocka_unit_test(the_wait_for_a_key_begins_with_the_first_that_is_posted),
        cmocka_unit_test(a_key_that_is_too_long_is_refused),
        cmocka_unit_test(a_key_that_nobody_waits_for_is_not_looked_for),
    };
    return cmocka_run_group_tests_name("direct modex", tests, nullptr, nullptr);
}
