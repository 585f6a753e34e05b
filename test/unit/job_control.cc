// Control of a job's processes: who is signalled, in which order, and what the caller is told.
#include "server-glue/job_control.h"

#include <csignal>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};
constexpr pmix_status_t unanswered = -12345;

// Ranks 0 and 1 on host 0, 2 and 3 on host 1, 4 and 5 on host 2.
struct World final : JobControlPort {
    JobMap map = *JobMap::create({"a", "b", "c"}, {{0, 1}, {2, 3}, {4, 5}});
    JobControl control;
    std::map<HostIndex, wire::SignalRanks> sent;
    std::vector<std::pair<Rank, int>> signalled;
    std::set<Rank> ended;
    std::set<HostIndex> gone_hosts;
    std::vector<wire::SignalReply> replies;
    pmix_status_t status = unanswered;
    int ends = 0;
    std::vector<std::pair<Bytes, wire::ControlTarget>> notified;

    explicit World(HostIndex self = 0) : control(*this, "job", map, self) {}
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
        if (gone_hosts.contains(to))
            return false;
        if (type == wire::SignalRanks::type)
            sent[to] = *wire::decode<wire::SignalRanks>(*payload);
        else
            replies.push_back(*wire::decode<wire::SignalReply>(*payload));
        return true;
    }
    bool signal_local(Rank rank, int signal) override {
        if (ended.contains(rank))
            return false;
        signalled.emplace_back(rank, signal);
        return true;
    }
    void end_job(std::string, StatusReply reply) override {
        ++ends;
        reply(PMIX_SUCCESS);
    }
    void notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) override {
        assert_true(signalled.empty());
        notified.emplace_back(order.checkpoint, target);
    }
    void ask(std::vector<Rank> ranks, std::vector<std::int32_t> signals, Bytes caller = "job",
             std::optional<Bytes> checkpoint = std::nullopt) {
        JobControlAsk ask;
        ask.caller = {caller, 0, false};
        for (Rank rank : ranks)
            ask.targets.push_back({"job", rank, rank == PMIX_RANK_WILDCARD});
        ask.order.signals = std::move(signals);
        ask.reply = {[this](pmix_status_t s) {
                         assert_int_equal(status, unanswered);
                         status = s;
                     },
                     PMIX_ERROR};
        status = unanswered;
        ask.order.notifies = checkpoint ? 1 : 0;
        ask.order.checkpoint = checkpoint.value_or("");
        control.request(start, std::move(ask));
    }
    void reply(HostIndex from, std::uint32_t count) {
        control.on_reply(from, {sent.at(from).id, count});
    }
};

void others_come_first_and_the_caller_last(void **) {
    World world;
    world.ask({0, 4, 1, 2, 3, 4}, {SIGSTOP, SIGCONT});
    assert_true(world.signalled.empty());
    assert_true((world.sent.at(1).ranks == std::vector<std::uint32_t>{2, 3}));
    assert_true((world.sent.at(2).ranks == std::vector<std::uint32_t>{4}));
    assert_true((world.sent.at(2).signals == std::vector<std::int32_t>{SIGSTOP, SIGCONT}));
    world.reply(2, 1);
    world.reply(2, 1); // says it twice
    assert_int_equal(world.status, unanswered);
    world.reply(1, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
    std::vector<std::pair<Rank, int>> order{{1, SIGSTOP}, {1, SIGCONT}, {0, SIGSTOP}, {0, SIGCONT}};
    assert_true(world.signalled == order);
    assert_true(world.control.next_time() == TimePoint::max());
}

void the_asked_host_counts(void **) {
    World world(1);
    world.ended = {3};
    world.control.on_request(0, {7, "job", {2, 3}, {SIGUSR1}});
    world.control.on_request(0, {8, "another", {2, 3}, {SIGUSR1}});
    world.control.on_request(0, {9, "job", {2}, {SIGUSR1, 0}});
    world.control.on_request(0, {10, "job", {2}, {}});
    assert_int_equal(world.replies.size(), 4);
    assert_int_equal(world.replies[0].signalled, 1);
    for (int i : {1, 2, 3})
        assert_int_equal(world.replies[i].signalled, 0);
    assert_int_equal(world.signalled.size(), 1);
}

void what_makes_no_sense_does_nothing(void **) {
    World world;
    world.ask({0, 6}, {SIGKILL});
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    world.ask({0}, {SIGKILL, 0});
    assert_int_equal(world.status, PMIX_ERR_BAD_PARAM);
    world.ask({0}, {NSIG});
    assert_int_equal(world.status, PMIX_ERR_BAD_PARAM);
    world.ask({0}, {SIGKILL}, "another");
    assert_int_equal(world.status, PMIX_ERR_NO_PERMISSIONS);
    assert_true(world.signalled.empty() && world.sent.empty());
}

void ended_processes(void **) {
    World world;
    world.ended = {1};
    world.ask({1}, {SIGTERM});
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    world.ask({0, 1}, {SIGTERM});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.gone_hosts = {1};
    world.ask({PMIX_RANK_WILDCARD}, {SIGTERM}); // those that run
    world.reply(2, 7);                          // a host that boasts
    assert_int_equal(world.status, PMIX_SUCCESS);
}

void hosts_that_go_and_hosts_that_are_silent(void **) {
    World world;
    world.ask({0, 2, 4}, {SIGTERM});
    world.control.on_host_gone(1, false);
    world.reply(2, 1);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.ask({0, 2, 4}, {SIGTERM});
    world.control.on_host_gone(1, true);
    world.reply(2, 1);
    assert_int_equal(world.status, PMIX_ERR_LOST_CONNECTION);
    world.ask({0, 2}, {SIGTERM});
    assert_true(world.control.next_time() == start + JobControl::patience);
    world.control.on_time(start + JobControl::patience);
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
    world.reply(1, 1); // too late
}

void the_event_of_a_checkpoint(void **) {
    World world;
    world.ended = {1};
    world.ask({0, 1, 2}, {}, "job", "night");
    assert_true((world.sent.at(1).signals == std::vector<std::int32_t>{0})); // is it there?
    assert_int_equal(world.notified.size(), 1);
    assert_string_equal(world.notified[0].first.c_str(), "night");
    assert_true((world.notified[0].second.ranks == std::vector<std::uint32_t>{0, 1, 2}));
    world.reply(1, 1);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.signalled.clear();
    world.ask({PMIX_RANK_WILDCARD}, {SIGUSR1}, "job", "both");
    assert_int_equal(world.notified.size(), 2);
    assert_int_equal(world.notified[1].second.whole, 1);
    assert_true((world.sent.at(1).signals == std::vector<std::int32_t>{SIGUSR1}));
    world.reply(1, 2);
    world.reply(2, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
    world.ask({6}, {}, "job", "nobody");
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.notified.size(), 2);
    World asked(1);
    asked.control.on_request(0, {7, "job", {2, 3}, {0}});
    assert_int_equal(asked.replies.at(0).signalled, 2);
}

void to_kill_the_whole_job_is_the_resource_managers(void **) {
    World world;
    world.ask({}, {SIGKILL});
    assert_int_equal(world.ends, 1);
    world.ask({3, PMIX_RANK_WILDCARD}, {SIGKILL});
    assert_int_equal(world.ends, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_true(world.signalled.empty() && world.sent.empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(others_come_first_and_the_caller_last),
        cmocka_unit_test(the_asked_host_counts),
        cmocka_unit_test(what_makes_no_sense_does_nothing),
        cmocka_unit_test(ended_processes),
        cmocka_unit_test(hosts_that_go_and_hosts_that_are_silent),
        cmocka_unit_test(the_event_of_a_checkpoint),
        cmocka_unit_test(to_kill_the_whole_job_is_the_resource_managers),
    };
    return cmocka_run_group_tests_name("job control", tests, nullptr, nullptr);
}
