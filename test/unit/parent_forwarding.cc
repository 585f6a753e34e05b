// The streams of a spawned job between its processes and the one that spawned it: output that comes together, input
// that comes from there, and the end of both.
#include "server-glue/iof/parent_forwarding.h"

#include "test/unit/check.h"
#include "test/unit/fake_hosts.h"

#include <optional>
#include <vector>

using namespace pmixhost;

namespace {

constexpr std::uint8_t in = wire::stdin_channel, out = wire::stdout_channel, err = wire::stderr_channel;

struct World : ParentForwardingPort {
    StepInfo step;
    TimePoint now{};
    std::optional<ParentForwarding> parent;
    std::vector<wire::ForwardedOutput> sent;
    std::vector<wire::ForwardedInputTaken> answers;
    std::vector<std::function<void()>> posted;
    std::uint32_t has = 0;
    std::optional<std::uint64_t> lost;
    struct Pushed {
        std::vector<Rank> ranks;
        Bytes bytes;
        bool end;
        StatusReply reply;
    };
    std::vector<Pushed> pushed;

    explicit World(std::uint8_t forwards, HostIndex self = 0) {
        step.map = even_map(2, 2);
        step.self = self;
        step.parent = StepInfo::Parent();
        step.parent->nspace = "parent";
        step.parent->host = 3;
        step.parent->forwards = forwards;
        step.parent->held_bytes = 100;
        step.parent->held_seconds = 2;
        parent.emplace(*this, step, 5000);
    }
    void forward(wire::ForwardedOutput message) override { sent.push_back(std::move(message)); }
    void answer_input(const wire::ForwardedInputTaken &answer) override { answers.push_back(answer); }
    void post(std::function<void()> what) override { posted.push_back(std::move(what)); }
    void parent_has(std::uint32_t cost) override { has += cost; }
    void parent_takes_no_more(std::uint64_t bytes) override { lost = bytes; }
    void push_from_parent(std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply) override {
        pushed.push_back({std::move(ranks), std::move(bytes), end, std::move(reply)});
    }
    void later() {
        for (auto &what : std::exchange(posted, {}))
            what();
    }
    void reply(pmix_status_t status) {
        parent->on_reply(now, {sent.back().id, status});
        later();
    }
    void input(const char *source, std::vector<Rank> ranks) {
        wire::ForwardedInput message;
        message.id = 9;
        message.source = source;
        message.ranks = std::move(ranks);
        message.bytes = "typed";
        parent->on_input(std::move(message));
    }
};

void output_comes_together_at_one_host(void **) {
    assert_false(World(out, 1).parent->gathers());
    assert_false(World(in).parent->gathers());
    World world(out | in);
    assert_true(world.parent->gathers() && world.parent->gathers(out) && !world.parent->gathers(err));
    const OutputWish wish = world.parent->wish();
    assert_true(wish.whole && wish.pulled.has(3, out) && !wish.pulled.has(3, err) && wish.takes_alone(3, out));
    assert_true(wish.cache == 5000 && wish.held.bytes == 100 && wish.held.time == std::chrono::seconds(2));
    world.parent->add({0, out, 0, 0, "early"}, 10);
    assert_true(world.sent.empty());
    world.parent->open();
    assert_int_equal(world.sent.size(), 1);
    world.parent->on_reply(world.now, {world.sent[0].id, PMIX_SUCCESS});
    assert_int_equal(world.has, 0); // the flow is not called from within itself
    world.later();
    assert_int_equal(world.has, 10);
}

// Another host may have told of it, and what was under way there comes behind.
void a_stream_ends_once(void **) {
    World world(out);
    world.parent->open();
    world.parent->add({3, out, 0, 0, {}, 1}, 1);
    world.parent->add({3, out, 1, 0, "late"}, 1);
    world.reply(PMIX_SUCCESS);
    assert_int_equal(world.sent.size(), 2);
    assert_true(world.sent[0].pieces[0].failed == 1 && world.sent[1].pieces[0].end == 0);
    assert_string_equal(world.sent[1].pieces[0].bytes.c_str(), "late");
    assert_false(world.parent->has_gone(true)); // it is under way
    world.reply(PMIX_SUCCESS);
    assert_true(world.parent->has_gone(true) && !world.parent->has_gone(false));
    for (Rank rank : {0, 1, 2})
        world.parent->add({rank, out, 1, 0, {}}, 1);
    world.reply(PMIX_SUCCESS);
    world.reply(PMIX_SUCCESS);
    assert_true(world.parent->has_gone(false));
}

void input_is_the_parents_alone(void **) {
    World world(in);
    world.input("stranger", {});
    assert_true(world.answers.back().id == 9 && world.answers.back().status == PMIX_ERR_NOT_SUPPORTED);
    world.input("parent", {1, 4});
    assert_int_equal(world.answers.back().status, PMIX_ERR_NOT_FOUND);
    assert_true(world.pushed.empty());
    world.input("parent", {3, 1, 3});
    assert_true(world.pushed[0].ranks == std::vector<Rank>({1, 3}) && world.pushed[0].bytes == "typed");
    assert_int_equal(world.answers.size(), 2);
    world.pushed[0].reply(PMIX_SUCCESS);
    assert_true(world.answers.size() == 3 && world.answers.back().status == PMIX_SUCCESS);
    World without(out);
    without.input("parent", {});
    assert_int_equal(without.answers.back().status, PMIX_ERR_NOT_SUPPORTED);
}

void where_nobody_takes_it_the_input_ends_too(void **) {
    World world(out | in);
    world.parent->open();
    world.parent->add({0, out, 0, 0, "lost"}, 10);
    world.parent->on_reply(world.now, {world.sent[0].id, PMIX_ERR_NOT_SUPPORTED});
    assert_true(world.parent->gathers()); // as long as it is in the middle of that
    world.later();
    assert_true(world.lost == 4u && world.has == 10);
    assert_true(!world.parent->gathers() && !world.parent->has_output() && world.parent->has_input());
    assert_true(world.pushed.size() == 1 && world.pushed[0].end && world.pushed[0].ranks.empty());
    assert_true(world.parent->next_time() == TimePoint::max());
    world.parent->on_session_gone(world.now); // and nothing more is done of it
    world.parent->on_time(world.now);
    world.parent->open();
    assert_int_equal(world.sent.size(), 1);
}

void what_a_session_had_that_has_gone_is_sent_again(void **) {
    World world(out);
    world.parent->open();
    world.parent->add({0, out, 0, 0, "again"}, 10);
    world.parent->on_session_gone(world.now);
    world.now = world.parent->next_time();
    assert_true(world.now != TimePoint::max());
    world.parent->on_time(world.now);
    assert_int_equal(world.sent.size(), 2);
    assert_string_equal(world.sent[1].pieces[0].bytes.c_str(), "again");
    assert_int_equal(world.has, 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(output_comes_together_at_one_host),
        cmocka_unit_test(a_stream_ends_once),
        cmocka_unit_test(input_is_the_parents_alone),
        cmocka_unit_test(where_nobody_takes_it_the_input_ends_too),
        cmocka_unit_test(what_a_session_had_that_has_gone_is_sent_again),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
