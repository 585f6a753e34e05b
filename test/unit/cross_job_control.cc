// Control of processes of other jobs: the caller's daemon, the session, and the daemons of the others.
#include "server-glue/control/cross_job_control.h"
#include "server-glue/control/session_control.h"

#include <csignal>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start = TimePoint() + 1000s;
constexpr pmix_status_t unanswered = -12345;

// A step of one host with ranks 0 to 2, whose daemon this is.
struct Daemon final : JobControlPort, CrossJobControlPort {
    Bytes nspace;
    JobMap map = *JobMap::create({"a"}, {{0, 1, 2}});
    FakeHosts hosts;
    JobControl own{hosts, *this, nspace, map, 0, 2};
    CrossJobControl cross_job{hosts, *this, own, nspace};
    std::vector<std::pair<Rank, int>> signalled;
    std::set<Rank> ended;
    std::set<Bytes> ended_jobs;
    std::vector<Bytes> spawned;
    int kills = 0;
    std::vector<Bytes> checkpoints;

    explicit Daemon(Bytes name) : nspace(std::move(name)) {}
    bool signal_local(Rank rank, int signal) override {
        if (!ended.contains(rank))
            signalled.emplace_back(rank, signal);
        return !ended.contains(rank);
    }
    void end_job(std::string, StatusReply reply) override {
        ++kills;
        reply(PMIX_SUCCESS);
    }
    void notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &) override {
        checkpoints.push_back(order.nspace + ":" + std::to_string(order.rank) + " " + order.checkpoint);
    }
    bool has_ended(const Bytes &job) const override { return ended_jobs.contains(job); }
    std::vector<Bytes> children() const override { return spawned; }
};

// Steps are numbered from 1; each has one host.
struct World final : SessionPeers {
    std::map<StepId, std::unique_ptr<Daemon>> daemons;
    std::set<StepId> here; // has a connection
    std::set<StepId> deaf; // hears nothing that the session says
    TimePoint now = start;
    SessionControl session{*this};
    std::vector<std::pair<std::set<Bytes>, std::function<void(TimePoint, CalledSteps)>>> calls;
    pmix_status_t status = unanswered;
    std::uint64_t last_part = 0; // id of what the session said last

    explicit World(std::vector<Bytes> names) {
        for (auto &name : names) {
            StepId id = daemons.size() + 1;
            daemons.emplace(id, std::make_unique<Daemon>(std::move(name)));
            here.insert(id);
        }
    }
    Daemon &at(StepId step) const { return *daemons.at(step); }
    std::map<Bytes, StepId> steps() const override {
        std::map<Bytes, StepId> all;
        for (StepId step : here)
            all.emplace(at(step).nspace, step);
        return all;
    }
    StepId step_of(const Bytes &nspace) const override { return steps().at(nspace); }
    Bytes nspace_of(StepId step) const override { return at(step).nspace; }
    std::size_t waiting_bytes(StepId, HostIndex) const override { return 0; }
    std::vector<HostIndex> hosts_of(StepId step) const override {
        return here.contains(step) ? std::vector<HostIndex>{0} : std::vector<HostIndex>{};
    }
    using SessionPeers::send;
    bool send(StepId step, HostIndex, std::uint8_t type, SharedBytes payload) override {
        if (!here.contains(step))
            return false;
        if (type == wire::ControlPart::type)
            last_part = wire::decode<wire::ControlPart>(*payload)->id;
        if (deaf.contains(step))
            return true;
        if (type == wire::ControlPart::type)
            at(step).cross_job.on_part(now, *wire::decode<wire::ControlPart>(*payload));
        else
            at(step).cross_job.on_reply(now, *wire::decode<wire::ControlReply>(*payload));
        return true;
    }
    void call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) override {
        calls.emplace_back(known, std::move(done));
    }

    void exchange() {
        bool more = true;
        while (std::exchange(more, false)) {
            for (StepId step : std::set<StepId>(here)) {
                auto &queue = at(step).hosts.to_session;
                while (!queue.empty()) {
                    auto [type, payload] = queue.front();
                    queue.pop_front();
                    more = true;
                    if (type == wire::ControlRequest::type)
                        session.on_request(now, step, 0, *wire::decode<wire::ControlRequest>(payload));
                    else if (type == wire::ControlCancel::type)
                        session.on_cancel(step, 0, *wire::decode<wire::ControlCancel>(payload));
                    else
                        session.on_reply(now, step, 0, *wire::decode<wire::ControlPartReply>(payload));
                }
            }
        }
    }
    void come(StepId step) {
        here.insert(step);
        session.heard(now, {step, 0, at(step).nspace});
        exchange();
    }
    void leave(StepId step, bool lost) {
        here.erase(step);
        session.on_host_gone(now, {step, 0, at(step).nspace}, lost);
        session.on_step_gone(now, step, at(step).nspace);
        exchange();
    }
    void pass(Duration time) {
        now += time;
        session.on_time(now);
        exchange();
        for (auto &[id, daemon] : daemons)
            daemon->cross_job.on_time(now);
        exchange();
    }
    JobControlAsk asking(std::vector<Process> targets, std::vector<std::int32_t> signals) {
        JobControlAsk ask;
        ask.caller = {at(1).nspace, 0, false};
        ask.targets = std::move(targets);
        ask.order.signals = std::move(signals);
        ask.reply = {[this](pmix_status_t s) {
                         assert_int_equal(status, unanswered);
                         status = s;
                     },
                     PMIX_ERROR};
        status = unanswered;
        return ask;
    }
    pmix_status_t ask(JobControlAsk ask) {
        at(1).cross_job.request(now, std::move(ask));
        exchange();
        return status;
    }
    pmix_status_t ask(std::vector<Process> targets, std::vector<std::int32_t> signals) {
        return ask(asking(std::move(targets), std::move(signals)));
    }
    pmix_status_t ask_everyone(int signal) {
        auto request = asking({}, {signal});
        request.everyone = true;
        return ask(std::move(request));
    }
    std::size_t signals() {
        std::size_t n = 0;
        for (auto &[id, daemon] : daemons)
            n += daemon->signalled.size() + static_cast<std::size_t>(daemon->kills);
        return n;
    }
};

Process all_of(Bytes nspace) {
    return {std::move(nspace), PMIX_RANK_WILDCARD, true};
}
Process one_of(Bytes nspace, Rank rank) {
    return {std::move(nspace), rank, false};
}

void several_jobs_in_one_call(void **) {
    World world({"own", "b", "c"});
    assert_int_equal(world.ask({one_of("c", 2), one_of("own", 0), one_of("own", 1), all_of("b")}, {SIGUSR1}),
                     PMIX_SUCCESS);
    assert_int_equal(world.at(2).signalled.size(), 3);
    assert_true((world.at(3).signalled == std::vector<std::pair<Rank, int>>{{2, SIGUSR1}}));
    std::vector<std::pair<Rank, int>> caller_last{{1, SIGUSR1}, {0, SIGUSR1}};
    assert_true(world.at(1).signalled == caller_last);
    assert_true(world.session.next_time() == TimePoint::max());
    assert_true(world.at(1).cross_job.next_time() == TimePoint::max());
}

void the_own_job_alone_stays_at_home(void **) {
    World world({"own", "b"});
    assert_int_equal(world.ask({}, {SIGUSR1}), PMIX_SUCCESS);
    assert_int_equal(world.at(1).signalled.size(), 3);
    assert_int_equal(world.at(2).signalled.size(), 0);
}

void what_makes_no_sense_signals_nobody(void **) {
    World world({"own", "b", "c"});
    assert_int_equal(world.ask({all_of("b"), one_of("c", 3)}, {SIGUSR1}), PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.ask({all_of("b"), one_of("own", 3)}, {SIGUSR1}), PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.ask({all_of("b")}, {SIGUSR1, 65}), PMIX_ERR_BAD_PARAM);
    assert_int_equal(world.ask({all_of("b")}, {}), PMIX_ERR_BAD_PARAM);
    assert_int_equal(world.ask({all_of("b"), one_of("", 1)}, {SIGUSR1}), PMIX_ERR_NOT_FOUND);
    world.at(1).ended_jobs = {"c"};
    assert_int_equal(world.ask({all_of("b"), all_of("c")}, {SIGKILL}), PMIX_ERR_NOT_FOUND);
    std::vector<Process> many;
    for (int i = 0; i < 5000; ++i)
        many.push_back(all_of("nobody " + std::to_string(i)));
    assert_int_equal(world.ask(many, {SIGKILL}), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(world.signals(), 0);
    world.at(1).hosts.session_reachable = false;
    assert_int_equal(world.ask({all_of("b")}, {SIGKILL}), PMIX_ERR_UNREACH);
}

void ended_processes_count_as_in_one_job(void **) {
    World world({"own", "b"});
    world.at(2).ended = {1};
    assert_int_equal(world.ask({all_of("b")}, {SIGUSR1}), PMIX_SUCCESS); // those that run
    assert_int_equal(world.ask({one_of("b", 1)}, {SIGUSR1}), PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.ask({one_of("b", 1), one_of("b", 2)}, {SIGUSR1}), PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.ask({one_of("b", 1), one_of("own", 2)}, {SIGUSR1}), PMIX_ERR_PARTIAL_SUCCESS);
}

void a_step_that_has_not_come_is_called(void **) {
    World world({"own", "b", "c"});
    world.here = {1, 2};
    assert_int_equal(world.ask({all_of("b"), all_of("c")}, {SIGUSR1}), unanswered);
    assert_true((world.calls.at(0).first == std::set<Bytes>{"own", "b"}));
    world.come(3); // sooner than the answer
    assert_int_equal(world.status, unanswered);
    world.calls[0].second(world.now, {true, {"c"}});
    world.exchange();
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.signals(), 6);
    // One that is called, and does not come.
    world.leave(3, false);
    world.ask({all_of("b"), all_of("c")}, {SIGUSR1});
    world.calls[1].second(world.now, {true, {"c"}});
    world.exchange();
    assert_int_equal(world.status, unanswered);
    world.pass(SessionControl::grace);
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    // The RM knows of none; nobody is waited for.
    world.ask({all_of("b"), all_of("nobody")}, {SIGUSR1});
    world.calls[2].second(world.now, {true, {"c"}});
    world.exchange();
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    // The RM cannot say: whoever comes by itself is waited for.
    world.ask({all_of("c")}, {SIGUSR1});
    world.calls[3].second(world.now, {});
    world.exchange();
    assert_int_equal(world.status, unanswered);
    world.come(3);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.signals(), 9);
}

void a_checkpoint_of_another_job(void **) {
    World world({"own", "b"});
    auto request = world.asking({all_of("b"), one_of("own", 1)}, {});
    request.order.notifies = 1;
    request.order.checkpoint = "night";
    assert_int_equal(world.ask(std::move(request)), PMIX_SUCCESS);
    assert_true((world.at(2).checkpoints == std::vector<Bytes>{"own:0 night"}));
    assert_true((world.at(1).checkpoints == std::vector<Bytes>{"own:0 night"}));
    request = world.asking({one_of("b", 3), one_of("own", 1)}, {});
    request.order.notifies = 1;
    assert_int_equal(world.ask(std::move(request)), PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.at(1).checkpoints.size(), 1);
}

void everyone(void **) {
    World world({"own", "b", "c", "d"});
    world.here = {1, 2};
    world.at(1).spawned = {"c"};
    assert_int_equal(world.ask_everyone(SIGUSR1), unanswered);
    world.calls.at(0).second(world.now, {}); // nobody can be called, but a child comes
    world.come(3);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.signals(), 9);
    // One that was called does not come: those who are there get it, and the answer says so.
    world.ask_everyone(SIGUSR1);
    world.calls.at(1).second(world.now, {true, {"d"}});
    world.exchange();
    world.pass(SessionControl::grace);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.signals(), 18);
    world.ask_everyone(SIGKILL);
    world.calls.at(2).second(world.now, {true, {}});
    world.exchange();
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.at(1).kills + world.at(2).kills + world.at(3).kills, 3);
}

void a_step_that_goes_meanwhile(void **) {
    World world({"own", "b", "c"});
    world.deaf = {3};
    for (bool lost : {false, true}) { // while it is asked
        world.here = {1, 2, 3};
        assert_int_equal(world.ask({all_of("b"), all_of("c")}, {SIGUSR1}), unanswered);
        world.leave(3, lost);
        assert_int_equal(world.status, lost ? PMIX_ERR_LOST_CONNECTION : PMIX_ERR_NOT_FOUND);
    }
    assert_int_equal(world.signals(), 0);
    struct {
        int signal;
        bool lost;
        pmix_status_t status;
    } cases[] = {{SIGKILL, true, PMIX_SUCCESS}, // its daemons are killed with it
                 {SIGTERM, true, PMIX_ERR_LOST_CONNECTION},
                 {SIGTERM, false, PMIX_ERR_NOT_FOUND}};
    for (const auto &one : cases) { // while it is at it
        world.here = {1, 3};
        world.ask({all_of("c")}, {one.signal});
        world.session.on_reply(world.now, 3, 0, {world.last_part, 0, {}});
        assert_int_equal(world.status, unanswered);
        world.leave(3, one.lost);
        assert_int_equal(world.status, one.status);
    }
    // The asker's own end is nobody's trouble.
    world.here = {1, 2, 3};
    world.ask({all_of("c")}, {SIGTERM});
    world.leave(1, true);
    assert_true(world.session.next_time() == TimePoint::max());
}

void time_is_kept_and_nothing_is_done_later(void **) {
    World world({"own", "b"});
    world.here = {1};
    auto ask = world.asking({one_of("own", 1), all_of("b")}, {SIGUSR1});
    ask.timeout = 3s;
    assert_int_equal(world.ask(std::move(ask)), unanswered);
    assert_true(world.at(1).cross_job.next_time() == start + 3s);
    assert_true(world.session.next_time() == start + 3s);
    world.pass(3s);
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
    world.calls.at(0).second(world.now, {true, {"b"}});
    world.come(2);
    assert_int_equal(world.signals(), 0);
    // The asker's clock may be earlier: it takes the request back.
    world.here = {1};
    auto other = world.asking({all_of("b")}, {SIGUSR1});
    other.timeout = 3s;
    world.ask(std::move(other));
    world.at(1).cross_job.on_time(world.now + 3s);
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
    world.exchange();
    assert_true(world.session.next_time() == TimePoint::max());
}

void as_many_requests_as_are_kept(void **) {
    World world({"own", "b"});
    world.deaf = {2};
    for (std::size_t i = 0; i < CrossJobControl::max_pending; ++i) {
        auto ask = world.asking({all_of("b")}, {SIGUSR1});
        ask.reply = {};
        world.at(1).cross_job.request(world.now, std::move(ask));
    }
    assert_int_equal(world.ask({all_of("b")}, {SIGUSR1}), PMIX_ERR_OUT_OF_RESOURCE);
}

void a_session_that_dies(void **) {
    World world({"own", "b"});
    world.deaf = {2};
    assert_int_equal(world.ask({one_of("own", 1), all_of("b")}, {SIGUSR1}), unanswered);
    world.at(1).cross_job.on_session_gone();
    assert_int_equal(world.status, PMIX_ERR_UNREACH);
    assert_int_equal(world.signals(), 0);
}

void what_a_session_says_is_looked_at(void **) {
    World world({"own", "b"});
    wire::ControlPart part{7, 1, {"x", 0, {SIGKILL}, 0, {}}, {"another", 1, {}}, 1000};
    world.at(2).cross_job.on_part(world.now, part);
    part.target.nspace = "b";
    for (std::vector<std::int32_t> signals : {std::vector<std::int32_t>{}, {0}, {SIGKILL, 65}}) {
        part.order.signals = signals;
        world.at(2).cross_job.on_part(world.now, part);
    }
    part.order.signals = {SIGKILL};
    part.target = {"b", 0, {}};
    world.at(2).cross_job.on_part(world.now, part);
    part.target = {"b", 0, {0, PMIX_RANK_UNDEF}};
    world.at(2).cross_job.on_part(world.now, part);
    assert_int_equal(world.signals(), 0);
    assert_int_equal(world.at(2).hosts.to_session.size(), 6);
    world.exchange(); // answers to nothing that the session has asked
    world.session.on_request(world.now, 1, 0, {1, {}, 0, {{"b", 1, {}}}, 1000});
    wire::ControlRequest many{2, {"x", 0, {SIGKILL}, 0, {}}, 0, {}, 1000};
    for (int i = 0; i < 5000; ++i)
        many.targets.push_back({"nobody " + std::to_string(i), 1, {}});
    world.session.on_request(world.now, 1, 0, many);
    assert_int_equal(world.calls.size(), 0);
    assert_true(world.session.next_time() == TimePoint::max());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(several_jobs_in_one_call),
        cmocka_unit_test(the_own_job_alone_stays_at_home),
        cmocka_unit_test(what_makes_no_sense_signals_nobody),
        cmocka_unit_test(ended_processes_count_as_in_one_job),
        cmocka_unit_test(a_step_that_has_not_come_is_called),
        cmocka_unit_test(a_checkpoint_of_another_job),
        cmocka_unit_test(everyone),
        cmocka_unit_test(a_step_that_goes_meanwhile),
        cmocka_unit_test(time_is_kept_and_nothing_is_done_later),
        cmocka_unit_test(as_many_requests_as_are_kept),
        cmocka_unit_test(a_session_that_dies),
        cmocka_unit_test(what_a_session_says_is_looked_at),
    };
    return cmocka_run_group_tests_name("cross-job control", tests, nullptr, nullptr);
}
