// A large result of a collective goes down in pieces, from child to child. What happens in whole networks is in
// test/sim/collectives.cc; here are one host's rules.
#include "server-glue/collective/collective.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;

namespace {

const TimePoint start{};
// Hosts 0 to 6 with radix 5: 0 has 1 to 5, and 1 has 6.
constexpr std::uint32_t radix = 5;
constexpr Collectives::PieceSizes sizes{1, 8, 0};

struct Port final : FakeHosts, CollectivePort {
    std::map<std::uint64_t, std::int32_t> completed;
    std::size_t contributors = 0;
    bool member_gone = false;
    CollectiveReply reply(std::uint64_t id) {
        return {[this, id](std::int32_t status, Contributions contributions) {
                    assert_false(completed.contains(id)); // exactly once
                    completed[id] = status;
                    contributors = contributions ? contributions->size() : 0;
                },
                PMIX_ERROR, nullptr};
    }
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override {
        return std::vector<HostIndex>{0, 1, 2, 3, 4, 5, 6};
    }
    bool local_member_gone(const Signature &) override { return member_gone; }
    std::size_t pieces_to(HostIndex host) const {
        return static_cast<std::size_t>(std::count_if(sent.begin(), sent.end(), [&](const Sent &one) {
            return one.to == host && one.type == wire::CollectivePiece::type;
        }));
    }
};

Signature everybody() {
    return *canonical(CollectiveKind::fence, {{"job", 0, true}}, [](const Bytes &) { return Rank{7}; });
}
Bytes key() {
    return wire::encode(everybody());
}

// The result of the first fence, as the root would cut it.
ResultPieces result() {
    wire::CollectiveDown down{key(), 0, PMIX_SUCCESS, {{0, Bytes(40, 'a')}, {3, Bytes(40, 'b')}}};
    return ResultPieces::cut(key(), 0, wire::encode(down), sizes.each);
}

// A host that has told its parent what it has, and waits.
struct Waiting {
    Port port;
    Collectives c;
    explicit Waiting(HostIndex self) : c(port, port, self, radix, sizes) {
        c.enter(start, everybody(), "x", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
        if (self == 1)
            c.on_up(start, 6, {key(), 0, PMIX_SUCCESS, {}});
        assert_int_equal(port.sent.size(), 1);
        port.sent.clear();
    }
    void piece(HostIndex from, const SharedBytes &bytes) {
        c.on_piece(start, from, *wire::decode<wire::CollectivePiece>(*bytes), bytes);
    }
};

void the_root_gives_pieces_to_one_child(void **) {
    Port port;
    Collectives c(port, port, 0, radix, sizes);
    c.enter(start, everybody(), Bytes(5000, 'x'), PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    for (HostIndex child = 1; child <= 5; ++child)
        c.on_up(start, child, {key(), 0, PMIX_SUCCESS, {}});
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(port.all<wire::CollectiveComplete>().size(), 5);
    assert_true(port.pieces_to(1) > 10);
    assert_int_equal(port.all<wire::CollectivePiece>().size(), port.pieces_to(1));
    assert_true(port.all<wire::CollectiveDown>().empty());
    // One that goes, and one that fails, before all behind them have it.
    std::size_t count = port.pieces_to(1);
    c.on_taken(1, {key(), 0});
    port.gone = {2};
    c.on_host_gone(start, 2);
    assert_int_equal(port.pieces_to(3), count);
    c.on_up(start, 4, {key(), 0, PMIX_ERR_TIMEOUT, {}});
    assert_int_equal(port.pieces_to(5), count);
    assert_int_equal(c.handing_down(), 1);
    c.on_probe(start, 3, {key(), 0}); // all get them already
    assert_int_equal(port.pieces_to(3), count);
    assert_int_equal(port.pieces_to(4), 0);
    c.on_taken(3, {key(), 0});
    c.on_taken(3, {key(), 0});
    c.on_probe(start, 3, {key(), 0});
    assert_int_equal(port.pieces_to(3), count);
    c.on_taken(5, {key(), 0});
    assert_int_equal(c.handing_down(), 0);
    c.on_taken(5, {key(), 0});
    assert_int_equal(c.dropped_messages(), 1);
    assert_int_equal(port.completed.size(), 1);
}

// Fewer children are sent less.
void what_the_root_would_send_decides(void **) {
    constexpr Collectives::PieceSizes usual;
    assert_true(usual.cut(usual.from, usual.sent / usual.from));
    assert_false(usual.cut(usual.from, usual.sent / usual.from - 1));
    assert_false(usual.cut(usual.from - 1, 256));
    for (std::size_t bytes : {usual.sent / 5 - 1000, usual.sent / 5}) {
        Port port;
        Collectives c(port, port, 0, radix);
        c.enter(start, everybody(), Bytes(bytes, 'x'), PMIX_SUCCESS, TimePoint::max(), port.reply(1));
        for (HostIndex child = 1; child <= 5; ++child)
            c.on_up(start, child, {key(), 0, PMIX_SUCCESS, {}});
        bool cut = bytes == usual.sent / 5;
        assert_int_equal(port.all<wire::CollectiveDown>().size(), cut ? 0 : 5);
        assert_int_equal(port.pieces_to(1), cut ? bytes / usual.each + 1 : 0);
    }
}

void a_small_result_is_one_message(void **) {
    Port port;
    Collectives c(port, port, 0, radix);
    c.enter(start, everybody(), Bytes(1000, 'x'), PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    for (HostIndex child = 1; child <= 5; ++child)
        c.on_up(start, child, {key(), 0, PMIX_SUCCESS, {}});
    assert_int_equal(port.all<wire::CollectiveDown>().size(), 5);
    assert_int_equal(port.sent.size(), 5);
}

void pieces_go_on_as_they_come(void **) {
    Waiting host(1);
    auto pieces = result();
    host.c.on_complete(start, 0, {key(), 0, pieces.count(), pieces.total()});
    assert_int_equal(host.port.last_to<wire::CollectiveComplete>(6).count, pieces.count());
    assert_true(host.port.prepared == std::set<HostIndex>{2});
    std::size_t sent = 0;
    for (const auto &piece : pieces.all()) {
        host.piece(0, piece);
        ++sent;
        assert_int_equal(host.port.pieces_to(2), sent);
        assert_int_equal(host.port.pieces_to(6), sent);
    }
    assert_int_equal(host.port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(host.port.contributors, 2);
    assert_int_equal(host.port.last_to<wire::CollectiveTaken>(0).sequence, 0);
    assert_int_equal(host.c.active(), 0);
    host.c.on_taken(6, {key(), 0});
    assert_int_equal(host.c.handing_down(), 0);
}

void the_order_and_who_sends_do_not_matter(void **) {
    Waiting host(4);
    auto pieces = result();
    host.port.gone = {5};
    auto all = pieces.all();
    for (std::size_t i = all.size(); i-- > 0;)
        host.piece(i % 2 ? 3 : 1, all[i]); // an elder that has skipped others
    assert_int_equal(host.port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(host.port.sent.size(), 1); // it has taken all; there is nobody behind it
    host.piece(0, all[0]);
    assert_int_equal(host.c.dropped_messages(), 1);
}

void who_knows_that_it_is_complete_waits_on(void **) {
    Waiting host(3);
    auto pieces = result();
    host.c.on_complete(start, 0, {key(), 0, pieces.count(), pieces.total()});
    host.port.member_gone = true;
    host.c.on_local_process_gone(start);
    host.c.on_host_gone(start, 2);
    assert_true(host.port.completed.empty());
    host.port.gone = {0};
    host.c.on_host_gone(start, 0);
    assert_true(host.c.next_time() == start + Collectives::piece_patience);
    host.c.on_time(start + Collectives::verdict_patience);
    assert_int_equal(host.port.completed.at(1), PMIX_ERR_LOST_CONNECTION);
}

void who_waits_for_long_asks_its_parent(void **) {
    Waiting host(3);
    auto pieces = result();
    host.c.on_complete(start, 0, {key(), 0, pieces.count(), pieces.total()});
    host.c.on_time(start + Collectives::piece_patience / 2);
    assert_true(host.port.sent.empty());
    TimePoint later = start + Collectives::piece_patience;
    host.c.on_time(later);
    assert_int_equal(host.port.last_to<wire::CollectiveProbe>(0).sequence, 0);
    assert_true(host.c.next_time() == later + Collectives::piece_patience); // once more, if need be

    Port port;
    Collectives parent(port, port, 0, radix, sizes);
    parent.enter(start, everybody(), Bytes(5000, 'x'), PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    for (HostIndex child = 1; child <= 5; ++child)
        parent.on_up(start, child, {key(), 0, PMIX_SUCCESS, {}});
    // The first one that waits hands on to the others.
    for (HostIndex child : {5u, 2u, 3u})
        parent.on_probe(start, child, {key(), 0});
    assert_int_equal(port.pieces_to(2), port.pieces_to(1));
    assert_int_equal(port.pieces_to(3) + port.pieces_to(4) + port.pieces_to(5), 0);
    parent.on_probe(later, 5, {key(), 0});
    assert_int_equal(port.pieces_to(3), port.pieces_to(1));
}

void who_fails_all_the_same_says_so_and_keeps_nothing(void **) {
    Waiting host(1);
    auto pieces = result();
    host.c.on_complete(start, 0, {key(), 0, pieces.count(), pieces.total()});
    host.piece(0, pieces.all().front());
    host.c.on_down(0, {key(), 0, PMIX_ERR_TIMEOUT, {}}, share(""));
    assert_int_equal(host.port.completed.at(1), PMIX_ERR_TIMEOUT);
    assert_int_equal(host.port.last_to<wire::CollectiveDown>(6).status, PMIX_ERR_TIMEOUT);
    assert_int_equal(host.c.handing_down(), 0);
}

// A piece that comes before, of another result: the parent's word counts.
void a_siblings_lie_does_not_last(void **) {
    Waiting host(3);
    auto pieces = result();
    auto lie = *wire::decode<wire::CollectivePiece>(*pieces.all()[0]);
    lie.count = lie.total = 5;
    lie.bytes = "x";
    host.c.on_piece(start, 2, lie, share(wire::encode(lie)));
    host.c.on_complete(start, 0, {key(), 0, pieces.count(), pieces.total()});
    for (const auto &piece : pieces.all())
        host.piece(2, piece);
    assert_int_equal(host.port.completed.at(1), PMIX_SUCCESS);
}

// Not after so long, but when nothing comes for so long.
void pieces_may_take_their_time_when_the_parent_has_gone(void **) {
    Waiting host(3);
    auto pieces = result();
    TimePoint now = start;
    host.c.on_complete(now, 0, {key(), 0, pieces.count(), pieces.total()});
    host.port.gone = {0};
    host.c.on_host_gone(now, 0);
    for (const auto &piece : pieces.all()) {
        now += Collectives::verdict_patience - std::chrono::seconds(1);
        host.c.on_time(now);
        host.c.on_piece(now, 2, *wire::decode<wire::CollectivePiece>(*piece), piece);
    }
    assert_int_equal(host.port.completed.at(1), PMIX_SUCCESS);
}

void a_long_key_is_not_data(void **) {
    Port port;
    Collectives c(port, port, 0, radix, {30, 8, 0}); // the key has as many, and all else of the message 24
    assert_true(key().size() > 6);
    c.enter(start, everybody(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    for (HostIndex child = 1; child <= 5; ++child)
        c.on_up(start, child, {key(), 0, PMIX_SUCCESS, {}});
    assert_int_equal(port.all<wire::CollectiveDown>().size(), 5);
    assert_true(port.sent.front().bytes.size() >= 30);
}

void lies_are_dropped(void **) {
    Waiting host(3);
    auto pieces = result();
    auto first = pieces.all().front();
    auto second = *wire::decode<wire::CollectivePiece>(*pieces.all()[1]);
    std::uint64_t lies = 0;
    auto lie = [&](HostIndex from, const wire::CollectivePiece &piece) {
        host.c.on_piece(start, from, piece, share(wire::encode(piece)));
        assert_int_equal(host.c.dropped_messages(), ++lies);
    };
    lie(4, second); // behind this one
    lie(6, second); // another one's child
    for (auto [index, count] :
         {std::pair(0u, 0u), {second.count, second.count}, {0u, second.total + 1}, {0u, UINT32_MAX}}) {
        auto absurd = second;
        absurd.index = index;
        absurd.count = count;
        lie(2, absurd);
    }
    auto unknown = second;
    unknown.signature = "garbage";
    lie(2, unknown);
    auto later = second;
    later.sequence = 1; // which this host has not entered
    lie(2, later);
    host.piece(2, first);
    auto other = second;
    other.count += 1;
    lie(2, other);
    other = second;
    other.total -= 1;
    lie(2, other);
    other = second;
    other.bytes += 'x';
    lie(2, other);
    host.c.on_complete(start, 2, {key(), 0, pieces.count(), pieces.total()}); // not its parent
    host.c.on_complete(start, 0, {key(), 3, pieces.count(), pieces.total()});
    host.c.on_taken(2, {key(), 0}); // hands nothing down
    assert_int_equal(host.c.dropped_messages(), lies + 3);
    assert_true(host.port.completed.empty());
    Waiting other_host(3);
    other_host.c.on_complete(start, 0, {key(), 0, 0, 0});
    other_host.c.on_complete(start, 0, {key(), 0, pieces.total() + 1, pieces.total()});
    assert_int_equal(other_host.c.dropped_messages(), 2);
    // What is no result at all ends the collective with an error, and nothing else.
    Waiting deceived(3);
    auto no_result = ResultPieces::cut(key(), 0, "no message", 4);
    for (const auto &piece : no_result.all())
        deceived.piece(2, piece);
    assert_int_equal(deceived.port.completed.at(1), PMIX_ERROR);
}

void a_result_is_cut_and_put_together(void **) {
    wire::CollectiveDown down{key(), 7, PMIX_SUCCESS, {{2, Bytes(100'003, 'z')}}};
    Bytes bytes = wire::encode(down);
    for (std::size_t each :
         {std::size_t{1}, std::size_t{7}, std::size_t{999}, bytes.size() / 2, bytes.size(), bytes.size() + 1}) {
        auto pieces = ResultPieces::cut(key(), 7, bytes, each);
        assert_true(pieces.whole() && pieces.count() <= ResultPieces::most && pieces.total() == bytes.size());
        auto taken = ResultPieces::expect(pieces.count(), pieces.total());
        assert_true(taken.has_value());
        // From both ends.
        auto all = pieces.all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto &one = i % 2 ? all[all.size() - 1 - i / 2] : all[i / 2];
            assert_true(taken->add(*wire::decode<wire::CollectivePiece>(*one), one));
            assert_false(taken->add(*wire::decode<wire::CollectivePiece>(*one), one));
        }
        assert_true(taken->whole());
        auto again = taken->take_result();
        assert_true(again && again->sequence == 7 && again->contributions.at(0).data == down.contributions[0].data);
    }
    for (auto [count, total] :
         {std::pair(0u, 0u), {1u, 0u}, {5u, 4u}, {4u, 5u}, {ResultPieces::most + 1, 1u << 20}, {1u, UINT32_MAX}})
        assert_false(ResultPieces::expect(count, total).has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_root_gives_pieces_to_one_child),
        cmocka_unit_test(what_the_root_would_send_decides),
        cmocka_unit_test(a_small_result_is_one_message),
        cmocka_unit_test(pieces_go_on_as_they_come),
        cmocka_unit_test(the_order_and_who_sends_do_not_matter),
        cmocka_unit_test(who_knows_that_it_is_complete_waits_on),
        cmocka_unit_test(who_waits_for_long_asks_its_parent),
        cmocka_unit_test(who_fails_all_the_same_says_so_and_keeps_nothing),
        cmocka_unit_test(a_siblings_lie_does_not_last),
        cmocka_unit_test(pieces_may_take_their_time_when_the_parent_has_gone),
        cmocka_unit_test(a_long_key_is_not_data),
        cmocka_unit_test(lies_are_dropped),
        cmocka_unit_test(a_result_is_cut_and_put_together),
    };
    return cmocka_run_group_tests_name("collective in pieces", tests, nullptr, nullptr);
}
