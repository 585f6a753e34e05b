// What the daemon of a process that spawns jobs remembers of their streams, and how long.
#include "server-glue/iof/children_io.h"

#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include "test/unit/lone_step.h"

#include <memory>
#include <optional>

using namespace pmixhost;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    BareRm rm;
    std::optional<StepContext> context;
    std::optional<StepTools> tools;
    std::optional<SessionLink> session;
    std::optional<ChildrenIo> io;
    UpcallHandlers handlers;
    std::shared_ptr<PullGate> gate = handlers.shared<PullGate>();
    World() {
        rm.info.nspace = "parent";
        rm.info.map = JobMap::without_ranks("here");
        context.emplace(*loop, log, settings, rm, false, DebugStops());
        tools.emplace(*context);
        session.emplace(*context);
        io.emplace(*context, *tools, *session);
        io->take_asks(handlers);
    }
    bool knows(const char *nspace) {
        return io->channels_of(nspace) != 0 && gate->channels_of_child(nspace).has_value();
    }
};

void a_job_is_forgotten_when_its_output_has_had_its_time(void **) {
    World world;
    for (const char *job : {"first", "second"})
        world.io->runs(job, {"parent", 0}, wire::stdin_channel | wire::stdout_channel);
    world.io->ended("first");
    assert_true(world.knows("first") && world.knows("second"));
    const TimePoint until = world.io->next_time();
    assert_true(until != TimePoint::max());
    world.io->on_time(until - std::chrono::milliseconds(1));
    assert_true(world.knows("first"));
    world.io->on_time(until);
    assert_true(world.io->channels_of("first") == 0 && !world.gate->channels_of_child("first"));
    assert_true(world.io->is_drained("first"));
    assert_true(world.knows("second") && world.io->next_time() == TimePoint::max());
}

void one_of_which_nothing_is_forwarded_is_forgotten_at_once(void **) {
    World world;
    world.io->runs_unforwarded("child");
    assert_true(world.gate->has_unforwarded_child("child"));
    world.io->ended("child");
    assert_false(world.gate->has_unforwarded_child("child"));
}

// Whatever waits before it, and however often the session goes meanwhile.
void the_end_of_the_input_is_not_lost(void **) {
    World world;
    world.io->runs("reads", {"parent", 0}, wire::stdin_channel);
    world.io->runs("writes", {"parent", 0}, wire::stdout_channel);
    assert_false(world.io->has_unsent());
    world.io->on_process_gone(0, 0);
    assert_true(world.io->has_unsent()); // there is no session yet
    std::optional<pmix_status_t> answer;
    PushAsk ask;
    ask.targets.push_back({"reads", PMIX_RANK_WILDCARD, true});
    ask.reply = StatusReply([&](pmix_status_t status) { answer = status; }, PMIX_ERROR);
    world.io->push(std::move(ask));
    assert_true(answer == PMIX_ERR_IOF_COMPLETE);
    world.io->on_session_here();
    world.io->on_session_gone();
    assert_true(world.io->has_unsent());
    world.io->ended("reads");
    assert_false(world.io->has_unsent());
}

// Nobody has taken it where it was refused because too much else is under way there.
void the_end_of_the_input_is_told_again_until_it_is_taken(void **) {
    LoneStep<DeafRm> step;
    step.begin(*JobMap::create({"n1"}, {{0}}));
    ChildrenIo &io = step.services->children_io;
    StepMessages messages(step.log);
    io.take_messages(messages);
    auto answer = [&](std::uint64_t id, pmix_status_t status) {
        messages.hand_on(StepMessages::Peer::session, 0, "the session", wire::ForwardedInputTaken::type,
                         wire::encode(wire::ForwardedInputTaken{id, status}));
    };
    io.runs("reads", {"job", 0}, wire::stdin_channel);
    io.on_process_gone(0, 0);
    std::uint64_t asked = 0;
    for (pmix_status_t refusal :
         {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH, PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE}) {
        assert_true(io.next_time() == TimePoint::max());
        answer(++asked, refusal);
        assert_true(io.has_unsent());
        assert_true(io.next_time() <= step.loop->now() + std::chrono::seconds(1));
        io.on_session_here(); // it waits no longer then
    }
    answer(++asked, PMIX_ERR_IOF_COMPLETE);
    assert_true(!io.has_unsent() && io.next_time() == TimePoint::max());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_forgotten_when_its_output_has_had_its_time),
        cmocka_unit_test(the_end_of_the_input_is_not_lost),
        cmocka_unit_test(the_end_of_the_input_is_told_again_until_it_is_taken),
        cmocka_unit_test(one_of_which_nothing_is_forwarded_is_forgotten_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
