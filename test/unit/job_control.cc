// Control of a job's processes: who is signalled, in which order, and what the caller is told.
#include "server-glue/control/job_control.h"

#include "server-glue/debug/release.h"

#include <csignal>
#include <memory>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};
constexpr pmix_status_t unanswered = -12345;

// Ranks 0 and 1 on host 0, 2 and 3 on host 1, 4 and 5 on host 2.
struct World final : JobControlPort {
    FakeHosts hosts;
    JobMap map = *JobMap::create({"a", "b", "c"}, {{0, 1}, {2, 3}, {4, 5}});
    JobControl control;
    std::vector<std::pair<Rank, int>> signalled;
    std::set<Rank> ended;
    pmix_status_t status = unanswered;
    int ends = 0;
    std::optional<pmix_status_t> hears_end = PMIX_SUCCESS; // nothing: the daemon leaves before
    std::vector<std::pair<Bytes, wire::ControlTarget>> notified;

    explicit World(HostIndex self = 0) : control(hosts, *this, "job", map, self, 2) {}
    wire::SignalRanks sent(HostIndex to) const { return hosts.last_to<wire::SignalRanks>(to); }
    bool signal_local(Rank rank, int signal) override {
        if (ended.contains(rank))
            return false;
        signalled.emplace_back(rank, signal);
        return true;
    }
    void end_job(std::string, StatusReply reply) override {
        ++ends;
        if (hears_end)
            reply(*hears_end);
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
    void reply(HostIndex from, std::uint32_t count) { control.on_reply(from, {sent(from).id, count, 0, 0}); }
};

void others_come_first_and_the_caller_last(void **) {
    World world;
    world.ask({0, 4, 1, 2, 3, 4}, {SIGSTOP, SIGCONT});
    assert_true(world.signalled.empty());
    assert_true((world.sent(1).ranks == std::vector<std::uint32_t>{2, 3}));
    assert_true((world.sent(2).ranks == std::vector<std::uint32_t>{4}));
    assert_true((world.sent(2).signals == std::vector<std::int32_t>{SIGSTOP, SIGCONT}));
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
    auto asked = [&](std::uint64_t id, Bytes nspace, std::vector<std::uint32_t> ranks,
                     std::vector<std::int32_t> signals, HostIndex behind = 0) {
        wire::SignalRanks message;
        message.id = message.number = id;
        message.nspace = std::move(nspace);
        message.behind = behind;
        message.ranks = std::move(ranks);
        message.signals = std::move(signals);
        world.control.on_request(start, 0, message);
    };
    asked(7, "job", {2, 3}, {SIGUSR1});
    asked(8, "another", {2, 3}, {SIGUSR1});
    asked(9, "job", {2}, {SIGUSR1, 0});
    asked(10, "job", {2}, {});
    asked(11, "job", {2, 6}, {SIGUSR1});
    asked(12, "job", {2}, {SIGUSR1}, 2); // no neighbour
    auto replies = world.hosts.all<wire::SignalReply>();
    assert_int_equal(replies.size(), 5);
    assert_int_equal(replies[0].signalled, 1);
    for (int i : {1, 2, 3, 4})
        assert_int_equal(replies[i].signalled, 0);
    assert_int_equal(world.signalled.size(), 1);
}

void the_end_of_a_pause_is_a_signal_like_others(void **) {
    World world;
    world.ask({0, 1}, {end_of_pause}, "tool");
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_true((world.signalled == std::vector<std::pair<Rank, int>>{{0, end_of_pause}, {1, end_of_pause}}));
    world.ask({2}, {end_of_pause});
    assert_true(world.sent(1).signals == std::vector<std::int32_t>{end_of_pause});
}

void what_makes_no_sense_does_nothing(void **) {
    World world;
    world.ask({0, 6}, {SIGKILL});
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    world.ask({0}, {SIGKILL, 0});
    assert_int_equal(world.status, PMIX_ERR_BAD_PARAM);
    world.ask({0}, {NSIG});
    assert_int_equal(world.status, PMIX_ERR_BAD_PARAM);
    world.ask({0}, {-SIGTERM});
    assert_int_equal(world.status, PMIX_ERR_BAD_PARAM);
    world.ask({}, {SIGKILL}, "tool"); // which has no job
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    assert_true(world.signalled.empty() && world.hosts.sent.empty());
}

void ended_processes(void **) {
    World world;
    world.ended = {1};
    world.ask({1}, {SIGTERM});
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    world.ask({0, 1}, {SIGTERM});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.hosts.gone = {1};
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
    assert_true((world.sent(1).signals == std::vector<std::int32_t>{0})); // is it there?
    assert_int_equal(world.notified.size(), 1);
    assert_string_equal(world.notified[0].first.c_str(), "night");
    assert_true((world.notified[0].second.ranks == std::vector<std::uint32_t>{0, 1, 2}));
    world.reply(1, 1);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.signalled.clear();
    world.ask({PMIX_RANK_WILDCARD}, {SIGUSR1}, "job", "both");
    assert_int_equal(world.notified.size(), 2);
    assert_int_equal(world.notified[1].second.whole, 1);
    assert_true((world.sent(1).signals == std::vector<std::int32_t>{SIGUSR1}));
    world.reply(1, 2);
    world.reply(2, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
    world.ask({6}, {}, "job", "nobody");
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.notified.size(), 2);
}

// Hosts with one rank each, and what is under way between them.
struct Network : FakeNetwork {
    struct Host final : JobControlPort {
        NetworkHosts others;
        JobControl control;
        std::vector<int> signals;
        Host(Network &all, HostIndex host) : others(all, host), control(others, *this, "job", all.map, host, 2) {}
        bool signal_local(Rank, int signal) override {
            signals.push_back(signal);
            return true;
        }
        void end_job(std::string, StatusReply) override {}
        void notify_checkpoint(const wire::ControlOrder &, const wire::ControlTarget &) override {}
    };
    JobMap map;
    std::set<HostIndex> dead; // whether or not the others know
    std::vector<std::unique_ptr<Host>> hosts;
    pmix_status_t status = unanswered;

    static JobMap map_of(Rank count) {
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> ranks;
        for (Rank rank = 0; rank < count; ++rank) {
            names.push_back("h" + std::to_string(rank));
            ranks.push_back({rank});
        }
        return *JobMap::create(names, ranks);
    }
    explicit Network(Rank count) : map(map_of(count)) {
        for (HostIndex host = 0; host < count; ++host)
            hosts.push_back(std::make_unique<Host>(*this, host));
    }
    void ask(HostIndex at, std::vector<Rank> ranks) {
        JobControlAsk ask;
        ask.caller = {"job", at, false};
        for (Rank rank : ranks)
            ask.targets.push_back({"job", rank, false});
        ask.order.signals = {SIGUSR1};
        ask.reply = {[this](pmix_status_t s) { status = s; }, PMIX_ERROR};
        status = unanswered;
        hosts[at]->control.request(start, std::move(ask));
    }
    bool step() {
        auto message = take();
        if (!message)
            return false;
        if (dead.contains(message->to) || dead.contains(message->from))
            return true;
        auto &control = hosts[message->to]->control;
        if (message->type == wire::SignalRanks::type)
            control.on_request(start, message->from, *wire::decode<wire::SignalRanks>(*message->payload));
        else
            control.on_reply(message->from, *wire::decode<wire::SignalReply>(*message->payload));
        return true;
    }
    void run() {
        while (step())
            ;
    }
    void die(HostIndex host, bool lost) {
        dead.insert(host);
        gone.insert(host);
        for (auto &other : hosts) {
            if (!dead.contains(other->others.self))
                other->control.on_host_gone(host, lost);
        }
    }
};

void no_host_sends_more_than_its_neighbours(void **) {
    Network net(1000);
    net.ask(777, {});
    net.run();
    assert_int_equal(net.status, PMIX_SUCCESS);
    for (auto &host : net.hosts) {
        assert_int_equal(host->signals.size(), 1);
        assert_in_range(host->others.messages, 1, 3);
    }
    for (auto &host : net.hosts)
        host->others.messages = 0;
    net.ask(999, {998, 3}); // and nobody who is not on the way
    net.run();
    assert_int_equal(net.status, PMIX_SUCCESS);
    std::size_t busy = 0;
    for (auto &host : net.hosts)
        busy += host->others.messages > 0;
    assert_in_range(busy, 3, 20);
    assert_int_equal(net.hosts[998]->signals.size(), 2);
    assert_int_equal(net.hosts[3]->signals.size(), 2);
    assert_int_equal(net.hosts[999]->signals.size(), 1);
}

void hosts_in_the_middle_that_go(void **) {
    for (bool lost : {false, true}) {
        for (std::size_t steps = 0; steps < 40; ++steps) {
            Network net(15);
            net.ask(0, {});
            for (std::size_t i = 0; i < steps; ++i)
                net.step();
            net.die(1, lost); // has 3 and 4 below it
            net.run();
            if (!lost || net.status != PMIX_ERR_LOST_CONNECTION) // it may have answered before
                assert_int_equal(net.status, PMIX_SUCCESS);
            if (net.hosts[1]->signals.empty() && lost)
                assert_int_equal(net.status, PMIX_ERR_LOST_CONNECTION);
            for (auto &host : net.hosts) {
                if (host->others.self != 1)
                    assert_int_equal(host->signals.size(), 1); // once
            }
        }
    }
    Network net(15); // it had gone before; its rank is named
    net.dead = net.gone = {1};
    net.ask(14, {1, 3, 4, 8});
    net.run();
    assert_int_equal(net.status, PMIX_ERR_PARTIAL_SUCCESS);
    for (HostIndex host : {3, 4, 8})
        assert_int_equal(net.hosts[host]->signals.size(), 1);
}

void a_silent_host_does_not_take_the_others_with_it(void **) {
    Network net(15);
    net.dead = {3}; // nobody knows
    net.ask(0, {});
    net.run();
    assert_int_equal(net.status, unanswered);
    TimePoint at = net.hosts[1]->control.next_time();
    assert_true(at < net.hosts[0]->control.next_time());
    net.hosts[1]->control.on_time(at);
    net.run();
    assert_int_equal(net.status, PMIX_ERR_TIMEOUT);
    const std::set<HostIndex> behind{3, 7, 8}; // it, and those that only it could tell
    for (auto &host : net.hosts)
        assert_int_equal(host->signals.size(), behind.contains(host->others.self) ? 0 : 1);
}

void to_kill_the_whole_job_is_the_resource_managers(void **) {
    World world;
    world.ask({}, {SIGKILL});
    assert_int_equal(world.ends, 1);
    world.ask({3, PMIX_RANK_WILDCARD}, {SIGKILL});
    assert_int_equal(world.ends, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_true(world.signalled.empty() && world.hosts.sent.empty());
    world.hears_end = PMIX_ERR_UNREACH;
    world.ask({}, {SIGKILL});
    assert_int_equal(world.status, PMIX_ERR_UNREACH);
    // It is over before the resource manager says so.
    world.hears_end.reset();
    world.ask({}, {SIGKILL});
    assert_int_equal(world.status, PMIX_SUCCESS);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(others_come_first_and_the_caller_last),
        cmocka_unit_test(the_asked_host_counts),
        cmocka_unit_test(the_end_of_a_pause_is_a_signal_like_others),
        cmocka_unit_test(what_makes_no_sense_does_nothing),
        cmocka_unit_test(ended_processes),
        cmocka_unit_test(hosts_that_go_and_hosts_that_are_silent),
        cmocka_unit_test(the_event_of_a_checkpoint),
        cmocka_unit_test(no_host_sends_more_than_its_neighbours),
        cmocka_unit_test(hosts_in_the_middle_that_go),
        cmocka_unit_test(a_silent_host_does_not_take_the_others_with_it),
        cmocka_unit_test(to_kill_the_whole_job_is_the_resource_managers),
    };
    return cmocka_run_group_tests_name("job control", tests, nullptr, nullptr);
}
