// Published data: who sees what, what collides, what goes when, and who waits.
#include "server-glue/publish/data_store.h"

#include "server-glue/publish/publish_asks.h"

#include <pmix_common.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const Participant a0{"a", 0, "n1"}, a1{"a", 1, "n2"}, b0{"b", 0, "n1"};

struct Answers {
    std::map<std::uint64_t, std::pair<std::int32_t, std::vector<wire::Found>>> got;
    DataStore store;
    explicit Answers(DataStore::Limits limits = {1'000'000})
        : store(limits, [this](std::uint64_t id, std::int32_t status, std::vector<wire::Found> found) {
              bool first = got.emplace(id, std::pair{status, std::move(found)}).second;
              assert_true(first);
          }) {}
    std::int32_t publish(const Participant &who, const Bytes &key, std::uint8_t range = PMIX_RANGE_SESSION,
                         std::uint8_t persistence = PMIX_PERSIST_SESSION, std::vector<wire::ProcessName> custom = {}) {
        wire::PublishRequest request;
        request.range = range;
        request.persistence = persistence;
        request.custom = std::move(custom);
        request.data = {{key, key + " of " + who.nspace}};
        return store.publish(who, request);
    }
    std::int32_t unpublish(const Participant &who, std::vector<Bytes> keys) {
        wire::UnpublishRequest request;
        request.range = PMIX_RANGE_UNDEF;
        request.keys = std::move(keys);
        return store.unpublish(who, request);
    }
    // The status, or 1 when it waits.
    std::int32_t lookup(std::uint64_t id, const Participant &who, std::vector<Bytes> keys, int wait = -1,
                        TimePoint deadline = TimePoint::max(), std::uint8_t range = PMIX_RANGE_SESSION) {
        wire::LookupRequest request;
        request.range = range;
        request.keys = std::move(keys);
        request.wait = wait;
        store.lookup(id, who, request, deadline);
        return got.contains(id) ? got[id].first : 1;
    }
    bool sees(const Participant &who, const Bytes &key, std::uint8_t range = PMIX_RANGE_SESSION) {
        static std::uint64_t id = 1'000'000;
        return lookup(++id, who, {key}, -1, TimePoint::max(), range) == PMIX_SUCCESS;
    }
};

void ranges(void **) {
    Answers t;
    assert_int_equal(t.publish(a0, "proc", PMIX_RANGE_PROC_LOCAL), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "node", PMIX_RANGE_LOCAL), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "job", PMIX_RANGE_NAMESPACE), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "all", PMIX_RANGE_GLOBAL), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "some", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, {{"b", 0}}), PMIX_SUCCESS);
    for (const char *key : {"proc", "node", "job", "all", "some"})
        assert_true(t.sees(a0, key));
    assert_false(t.sees(a1, "proc"));
    assert_false(t.sees(a1, "node"));
    assert_true(t.sees(b0, "node"));
    assert_true(t.sees(a1, "job"));
    assert_false(t.sees(b0, "job"));
    assert_true(t.sees(b0, "all"));
    assert_true(t.sees(b0, "some"));
    assert_false(t.sees(a1, "some"));
    // The asker's own range: whose data it wants.
    assert_false(t.sees(b0, "all", PMIX_RANGE_NAMESPACE));
    assert_true(t.sees(a1, "all", PMIX_RANGE_NAMESPACE));
    assert_false(t.sees(a1, "all", PMIX_RANGE_LOCAL));
}

void collisions(void **) {
    Answers t;
    assert_int_equal(t.publish(a0, "k", PMIX_RANGE_NAMESPACE), PMIX_SUCCESS);
    assert_int_equal(t.publish(a1, "k", PMIX_RANGE_NAMESPACE), PMIX_ERR_DUPLICATE_KEY);
    assert_int_equal(t.publish(b0, "k", PMIX_RANGE_NAMESPACE), PMIX_SUCCESS);
    assert_int_equal(t.publish(b0, "k", PMIX_RANGE_SESSION), PMIX_SUCCESS);
    assert_int_equal(t.publish(a1, "k", PMIX_RANGE_GLOBAL), PMIX_ERR_DUPLICATE_KEY);
    // The narrowest one is found.
    assert_int_equal(t.lookup(1, a1, {"k"}), PMIX_SUCCESS);
    assert_string_equal(t.got[1].second.front().value.c_str(), "k of a");
    // All of a call or nothing.
    wire::PublishRequest request;
    request.data = {{"new", "1"}, {"k", "2"}};
    request.range = PMIX_RANGE_SESSION;
    assert_int_equal(t.store.publish(a0, request), PMIX_ERR_DUPLICATE_KEY);
    assert_false(t.sees(a0, "new"));
    request.data = {{"twice", "1"}, {"twice", "2"}};
    assert_int_equal(t.store.publish(a0, request), PMIX_ERR_DUPLICATE_KEY);
    request.data = {{"", "1"}};
    assert_int_equal(t.store.publish(a0, request), PMIX_ERR_BAD_PARAM);
}

void persistence(void **) {
    Answers t;
    t.publish(a0, "first", PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ);
    t.publish(a0, "proc", PMIX_RANGE_SESSION, PMIX_PERSIST_PROC);
    t.publish(a0, "app", PMIX_RANGE_SESSION, PMIX_PERSIST_APP);
    t.publish(a0, "session");
    assert_true(t.sees(b0, "first"));
    assert_false(t.sees(b0, "first"));
    t.store.on_process_ended("a", 1);
    assert_true(t.sees(b0, "proc"));
    t.store.on_process_ended("a", 0);
    assert_false(t.sees(b0, "proc"));
    assert_true(t.sees(b0, "app"));
    t.store.on_nspace_ended("a");
    assert_false(t.sees(b0, "app"));
    assert_true(t.sees(b0, "session"));
    assert_int_equal(t.unpublish(b0, {"session"}), PMIX_ERR_NOT_FOUND);
    assert_int_equal(t.unpublish(a0, {"session"}), PMIX_SUCCESS);
    assert_int_equal(t.store.bytes(), 0);
}

// What others of the same user may be asked not to see, and what goes with a host.
void owners(void **) {
    Answers t;
    const Participant mine{"a", 0, "n1", 1000, 100}, other_group{"a", 1, "n2", 1000, 200},
        stranger{"b", 0, "n1", 2000, 100};
    assert_int_equal(t.publish(mine, "k"), PMIX_SUCCESS);
    assert_int_equal(t.publish(other_group, "l", PMIX_RANGE_SESSION, PMIX_PERSIST_PROC), PMIX_SUCCESS);
    assert_int_equal(t.lookup(1, other_group, {"k"}), PMIX_SUCCESS);
    assert_int_equal(t.got[1].second.front().uid, 1000);
    assert_int_equal(t.got[1].second.front().gid, 100);
    assert_int_equal(t.lookup(2, stranger, {"k"}), PMIX_ERR_NOT_FOUND);
    wire::LookupRequest request;
    request.range = PMIX_RANGE_SESSION;
    request.keys = {"k"};
    request.gid = 200;
    t.store.lookup(3, mine, request, TimePoint::max());
    assert_int_equal(t.got[3].first, PMIX_ERR_NOT_FOUND);
    request.gid = 100;
    t.store.lookup(4, mine, request, TimePoint::max());
    assert_int_equal(t.got[4].first, PMIX_SUCCESS);
    t.store.on_host_ended("a", "n1");
    assert_true(t.sees(mine, "l"));
    assert_true(t.sees(mine, "k"));
    assert_int_equal(t.lookup(5, other_group, {"never"}, 0), 1);
    t.store.on_host_ended("a", "n2");
    assert_false(t.sees(mine, "l"));
    assert_int_equal(t.store.waiting(), 0);
}

void waiting(void **) {
    Answers t;
    const TimePoint start{};
    assert_int_equal(t.lookup(1, b0, {"x", "y"}, 0), 1);
    assert_int_equal(t.lookup(2, b0, {"x", "y"}, 1), 1);
    assert_int_equal(t.lookup(3, b0, {"z"}, 0, start + 5s), 1);
    assert_int_equal(t.lookup(4, a1, {"q"}, 0), 1);
    t.publish(a0, "x");
    assert_false(t.got.contains(1));
    assert_int_equal(t.got[2].first, PMIX_SUCCESS);
    assert_int_equal(t.got[2].second.size(), 1);
    t.publish(a0, "y");
    assert_int_equal(t.got[1].second.size(), 2);
    assert_true(t.store.next_time() == start + 5s);
    t.store.on_time(start + 6s);
    assert_int_equal(t.got[3].first, PMIX_ERR_TIMEOUT);
    // Who has ended waits no longer, and takes nothing away.
    t.store.on_process_ended("a", 1);
    t.publish(a0, "q", PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ);
    assert_false(t.got.contains(4));
    assert_true(t.sees(b0, "q"));
    assert_int_equal(t.lookup(5, b0, {"x", "nothing"}), PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(t.lookup(6, b0, {}), PMIX_ERR_BAD_PARAM);
    // Two are more than the one that is enough; a partial success takes nothing away.
    assert_int_equal(t.lookup(7, b0, {"x", "y", "nothing"}, 1), PMIX_SUCCESS);
    t.publish(a0, "r", PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ);
    assert_int_equal(t.lookup(8, b0, {"r", "nothing"}), PMIX_ERR_PARTIAL_SUCCESS);
    assert_true(t.sees(b0, "r"));
    assert_false(t.sees(b0, "r"));
}

void limits(void **) {
    Answers t({1000, 1});
    wire::PublishRequest request;
    request.range = PMIX_RANGE_SESSION;
    request.data = {{"big", Bytes(900, 'x')}};
    assert_int_equal(t.store.publish(a0, request), PMIX_ERR_OUT_OF_RESOURCE);
    request.data = {{"big", Bytes(800, 'x')}};
    assert_int_equal(t.store.publish(a0, request), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "more"), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(t.unpublish(a0, {}), PMIX_SUCCESS);
    assert_int_equal(t.publish(a0, "more"), PMIX_SUCCESS);
    assert_int_equal(t.lookup(1, a0, {"w"}, 0), 1);
    assert_int_equal(t.lookup(2, a0, {"w"}, 0), PMIX_ERR_OUT_OF_RESOURCE);
}

// A list of names is kept as well.
void lists_count(void **) {
    Answers t({10'000});
    std::vector<wire::ProcessName> few, many;
    for (std::uint32_t rank = 0; rank < 1000; ++rank)
        (rank < 10 ? few : many).push_back({"b", rank});
    many.push_back({"a", 7});
    assert_int_equal(t.publish(a0, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, many), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(t.publish(a0, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, few), PMIX_SUCCESS);
    auto used = t.store.bytes();
    // In whatever order they are named, and for all of a namespace.
    std::vector<wire::ProcessName> others{{"b", 20}, {"a", PMIX_RANK_WILDCARD}, {"b", 15}};
    // Who has published it has it, too.
    assert_int_equal(t.publish(a1, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, others), PMIX_ERR_DUPLICATE_KEY);
    others[1].nspace = "c";
    assert_int_equal(t.publish(a1, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, others), PMIX_SUCCESS);
    others = {{"c", 1}, {"b", PMIX_RANK_WILDCARD}};
    assert_int_equal(t.publish(a1, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, others), PMIX_ERR_DUPLICATE_KEY);
    others = {{"a", 1}}; // who has published the second one
    assert_int_equal(t.publish({"d", 0, "n1"}, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, others),
                     PMIX_ERR_DUPLICATE_KEY);
    others = {{"a", 99}};
    assert_int_equal(t.publish(b0, "k", PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, others), PMIX_ERR_DUPLICATE_KEY);
    assert_true(t.sees(b0, "k"));
    assert_int_equal(t.unpublish(a1, {"k"}), PMIX_SUCCESS);
    assert_int_equal(t.store.bytes(), used);
    // Once for all that is published with it.
    wire::PublishRequest request;
    request.range = PMIX_RANGE_CUSTOM;
    request.custom = few;
    request.data = {{"x", ""}, {"y", ""}, {"z", ""}};
    assert_int_equal(t.store.publish(a0, request), PMIX_SUCCESS);
    assert_true(t.store.bytes() - used < used + 3 * 128);
    assert_int_equal(t.unpublish(a0, {}), PMIX_SUCCESS);
    assert_int_equal(t.store.bytes(), 0);
    // And while somebody waits.
    wire::LookupRequest lookup;
    lookup.range = PMIX_RANGE_CUSTOM;
    lookup.keys = {"later"};
    lookup.wait = 0;
    lookup.custom = many;
    t.store.lookup(1, a0, lookup, TimePoint::max());
    assert_int_equal(t.got.at(1).first, PMIX_ERR_OUT_OF_RESOURCE);
    lookup.custom = few;
    t.store.lookup(2, a0, lookup, TimePoint::max());
    assert_true(t.store.waits(2));
}

// What is looked for is kept while somebody waits.
void keys_that_are_waited_for_count(void **) {
    Answers t({10'000});
    auto keys = [](std::size_t count, std::size_t size) {
        std::vector<Bytes> out;
        for (std::size_t i = 0; i < count; ++i)
            out.push_back(std::to_string(i) + Bytes(size, 'k'));
        return out;
    };
    assert_int_equal(t.lookup(1, a0, keys(100, 1), 0), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(t.lookup(2, a0, keys(5, 400), 0), PMIX_ERR_OUT_OF_RESOURCE); // few, but long
    assert_int_equal(t.lookup(3, a0, keys(15, 1), 0), 1);
    assert_int_equal(t.lookup(4, b0, keys(15, 1), 0), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(t.lookup(5, b0, keys(15, 1)), PMIX_ERR_NOT_FOUND); // who does not wait needs no room
    t.store.cancel(3);
    assert_int_equal(t.lookup(6, b0, keys(15, 1), 1), 1); // there is room again
    assert_int_equal(t.publish(a0, "7k"), PMIX_SUCCESS);
    assert_int_equal(t.got.at(6).first, PMIX_SUCCESS);
    assert_int_equal(t.lookup(7, b0, keys(15, 2), 0), 1);
}

void keys_are_so_many_and_so_long(void **) {
    Answers t;
    const Bytes longest(PMIX_MAX_KEYLEN, 'k');
    assert_int_equal(t.publish(a0, longest), PMIX_SUCCESS);
    assert_int_equal(t.lookup(1, b0, {longest}), PMIX_SUCCESS);
    assert_int_equal(t.lookup(2, b0, {longest + "k"}), PMIX_ERR_BAD_PARAM);
    assert_int_equal(t.unpublish(a0, {longest + "k"}), PMIX_ERR_BAD_PARAM);
    std::vector<Bytes> many(most_keys, "k");
    assert_int_equal(t.lookup(3, b0, many), PMIX_ERR_NOT_FOUND);
    assert_int_equal(t.unpublish(a0, many), PMIX_ERR_NOT_FOUND);
    many.push_back("k");
    assert_int_equal(t.lookup(4, b0, many), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(t.unpublish(a0, many), PMIX_ERR_OUT_OF_RESOURCE);
}

// A session serves other jobs meanwhile: with a look at each of the others these would take a minute.
void many_of_one_key(void **) {
    Answers t({UINT64_MAX});
    constexpr std::uint32_t count = 30'000, on_a_host = 100;
    auto process = [](std::uint32_t rank) { return Participant{"a", rank, "n" + std::to_string(rank / on_a_host)}; };
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        assert_int_equal(t.publish(process(rank), "own", PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_PROC), PMIX_SUCCESS);
        assert_int_equal(t.lookup(rank, process(rank), {"here"}, 0), 1);
    }
    assert_int_equal(t.publish(process(7), "own", PMIX_RANGE_PROC_LOCAL), PMIX_ERR_DUPLICATE_KEY);
    for (std::uint32_t rank = 0; rank < count; rank += on_a_host)
        assert_int_equal(t.publish(process(rank), "here", PMIX_RANGE_LOCAL), PMIX_SUCCESS);
    assert_int_equal(t.got.size(), count); // each has that of its host
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        assert_true(t.got[rank].second.size() == 1 && t.got[rank].second[0].rank == rank / on_a_host * on_a_host);
        assert_true(t.sees(process(rank), "own"));
    }
    std::uint64_t full = t.store.bytes();
    t.store.on_host_ended("a", "n3");
    assert_false(t.sees(process(300), "own"));
    assert_true(t.sees(process(299), "own") && t.sees(process(400), "own"));
    assert_int_equal((full - t.store.bytes()) % on_a_host, 0);
    for (std::uint32_t host = 0; host < count / on_a_host; ++host)
        t.store.on_host_ended("a", "n" + std::to_string(host));
    assert_false(t.sees(process(count - 1), "own"));
    assert_true(t.sees(process(count - 1), "here"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(collisions),
        cmocka_unit_test(persistence),
        cmocka_unit_test(waiting),
        cmocka_unit_test(limits),
        cmocka_unit_test(owners),
        cmocka_unit_test(lists_count),
        cmocka_unit_test(many_of_one_key),
        cmocka_unit_test(keys_that_are_waited_for_count),
        cmocka_unit_test(keys_are_so_many_and_so_long),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
