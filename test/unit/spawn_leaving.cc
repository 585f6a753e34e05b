// What a step's daemon that leaves, or from which a tool goes, does about jobs that are being started: those that tools
// have asked for are taken back, since nobody would end them (SpawnService); others go on. And how many jobs a lobby
// starts at once.
#include "common/transport/invitation.h"
#include "server-glue/daemon/step_services.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/rm/spawn_places.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/spawn/spawn_request.h"
#include "server-glue/step/step_messages.h"

#include "test/unit/bare_rm.h"
#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <pmix.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// With one allocation, "7", and a session that is never reached.
struct FakeRm final : BareRm, RmSpawnedStep, RmSpawnPlaces, RmRoles {
    RmSpawnedStep *spawned_step() override { return this; }
    RmSpawnPlaces *spawn_places() override { return info.is_lobby ? this : nullptr; }
    RmRoles *roles() override { return info.is_lobby ? this : nullptr; }
    void look_at(std::string, TimePoint, std::function<void(Result<RmAllocated>)> done) override {
        RmAllocated out;
        out.allocation = "7";
        out.hosts = {"here"};
        done(std::move(out));
    }
    void enter(const RmAllocated &) override {}
    void reach(CentralRole, std::string, TimePoint, TimePoint, std::function<void(Result<void>)>) override {}
    bool calls_steps() const override { return true; }
    void report_launch(LaunchReport, std::function<void(Result<void>)>) override {}
    void report_start(std::function<void(Result<void>)>) override {}
    void report_ends(std::string, bool, std::function<void(Result<void>)>) override {}
};

// A step with one tool, and its launcher, which is a mesh alone.
struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    FakeRm rm;
    std::optional<StepContext> context;
    std::unique_ptr<Mesh> mesh, launcher;
    std::vector<std::string> heard; // by the launcher
    std::vector<pmix_status_t> answers;
    bool tool_is_here = true;
    UpcallHandlers handlers;
    std::optional<StepServices> services;

    explicit World(bool is_lobby = false) {
        settings.transport_interfaces = {"lo"};
        rm.info.is_lobby = is_lobby;
        rm.info.nspace = rm.info.job_id = rm.info.step_key = "job";
        rm.info.map = JobMap::without_ranks("here");
        rm.info.apps.push_back({});
        context.emplace(*loop, log, settings, rm, false, DebugStops());
        context->may = [](const Process &, policy::Action) { return true; };
        mesh = make_mesh(0, {});
        context->mesh = mesh.get();
        services.emplace(*context);
        services->children_io.take_asks(handlers);
        ToolVisitor visitor;
        visitor.nspace = "tool";
        services->tools.came(visitor, {[this] { return tool_is_here; }, [] { return std::size_t{0}; }});
        launcher = make_mesh(context->launcher_peer(),
                             [this](std::uint8_t type, const Bytes &payload) { hear(type, payload); });
    }
    std::unique_ptr<Mesh> make_mesh(HostIndex self, std::function<void(std::uint8_t, const Bytes &)> hear) {
        auto made =
            Mesh::create(*loop, log, settings, "job", self, 1 + central_role_count, make_secret_authenticator("secret"),
                         {[hear](HostIndex, std::uint8_t type, Bytes payload) { hear(type, payload); },
                          [](HostIndex, Mesh::Gone, const Error &) {},
                          [this](HostIndex to, Bytes contact, TimePoint, std::function<void(Result<void>)> done) {
                              if (to != context->launcher_peer())
                                  return;
                              loop->post([this, contact, done] {
                                  launcher->on_contact(contact);
                                  done({});
                              });
                          }});
        assert_true(made.ok());
        return std::move(*made);
    }
    void hear(std::uint8_t type, const Bytes &payload) {
        if (type == wire::SpawnRequest::type)
            heard.push_back(fmt::format("request {}", wire::decode<wire::SpawnRequest>(payload)->id));
        else if (type == wire::SpawnCancel::type)
            heard.push_back(fmt::format("cancel {}", wire::decode<wire::SpawnCancel>(payload)->id));
        else
            heard.push_back(type == wire::StepOver::type ? "over" : fmt::format("type {}", type));
    }
    void spawn(const Process &caller, bool goes_on = false, bool stops = false) {
        SpawnAsk ask;
        ask.caller = caller;
        if (goes_on)
            ask.request.directives.push_back({PMIX_NOHUP, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1});
        if (stops)
            ask.request.directives.push_back(
                {PMIX_DEBUG_STOP_IN_INIT, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1});
        ask.request.apps.emplace_back().count = 1;
        ask.reply = {[this](pmix_status_t status, const std::string &) { answers.push_back(status); }, PMIX_ERROR,
                     std::string()};
        services->spawn.spawn(std::move(ask));
    }
    // In the lobby's allocation: a job for each of these, which is what its programs are.
    void spawn_in_lobby(std::vector<std::vector<wire::SpawnDirective>> programs) {
        SpawnAsk ask;
        ask.caller = {"tool", 0};
        ask.request.directives.push_back({PMIX_ALLOC_ID, 0, static_cast<std::uint8_t>(SpawnValue::text), "7", 0});
        for (auto &directives : programs) {
            auto &app = ask.request.apps.emplace_back();
            app.count = 1;
            app.directives = std::move(directives);
        }
        ask.reply = {[this](pmix_status_t status, const std::string &) { answers.push_back(status); }, PMIX_ERROR,
                     std::string()};
        services->spawn.spawn(std::move(ask));
    }
    void spawn_one() { spawn_in_lobby({{}}); }
    void spawn_two() {
        spawn_in_lobby({{}, {{PMIX_COSPAWN_APP, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1}}});
    }
    // Beside a job for which the session is asked in vain.
    void spawn_debugger() {
        spawn_in_lobby({{{PMIX_DEBUG_TARGET, 0, static_cast<std::uint8_t>(SpawnValue::process), "elsewhere",
                          PMIX_RANK_WILDCARD}}});
    }
    template <typename Message> void launcher_says(const Message &message) {
        StepMessages messages(log);
        services->spawn.take_messages(messages);
        services->children_ends.take_messages(messages);
        messages.hand_on(StepMessages::Peer::launcher, context->launcher_peer(), "the launcher", Message::type,
                         wire::encode(message));
    }
    void launcher_answers(std::uint64_t id, const char *nspace) {
        wire::SpawnReply reply;
        reply.id = id;
        reply.nspace = nspace;
        launcher_says(reply);
    }
    void job_ends(const char *nspace) {
        wire::JobEvent job;
        job.nspace = nspace;
        job.what = wire::JobEvent::ended;
        launcher_says(job);
    }
    std::vector<pmix_status_t> take_answers() { return std::exchange(answers, {}); }
    void leave() {
        context->tell_services([](StepService &each) { each.on_leaving(false); });
        mesh->farewell();
    }
    ~World() { services.reset(); }
};

void what_a_tool_waits_for_is_taken_back(void **) {
    World world;
    world.spawn({"tool", 0});
    world.spawn({"job", 0});
    world.spawn({"tool", 0}, true);
    run_until(*world.loop, [&] { return world.heard.size() == 3; });
    world.leave();
    assert_true(world.answers == std::vector<pmix_status_t>{PMIX_ERR_JOB_CANCELED});
    run_until(*world.loop, [&] { return world.heard.size() == 5; });
    assert_true((world.heard == std::vector<std::string>{"request 1", "request 2", "request 3", "cancel 1", "over"}));
}

// While its job waits for hosts, say.
void what_a_killed_tool_waits_for_is_taken_back(void **) {
    World world;
    auto pass = [&] { world.services->spawn.on_time(world.services->spawn.next_time()); };
    world.spawn({"job", 0});
    assert_true(world.services->spawn.next_time() == TimePoint::max());
    world.spawn({"tool", 0});
    world.spawn({"tool", 0}, true);
    run_until(*world.loop, [&] { return world.heard.size() == 3; });
    pass();
    assert_true(world.answers.empty() && world.heard.size() == 3);
    world.tool_is_here = false;
    pass();
    assert_true(world.answers == std::vector<pmix_status_t>{PMIX_ERR_JOB_CANCELED});
    run_until(*world.loop, [&] { return world.heard.size() == 4; });
    assert_string_equal(world.heard.back().c_str(), "cancel 2");
    assert_true(world.services->spawn.next_time() == TimePoint::max());
    world.launcher_answers(2, "late");
    assert_int_equal(world.answers.size(), 1);
}

// It would go on without its tool, but stands first, and nobody would let it go.
void what_would_stand_without_its_tool_is_taken_back(void **) {
    World world;
    world.spawn({"tool", 0}, true, true);
    world.spawn({"job", 0}, true, true);
    run_until(*world.loop, [&] { return world.heard.size() == 2; });
    world.leave();
    assert_true(world.answers == std::vector<pmix_status_t>{PMIX_ERR_JOB_CANCELED});
    run_until(*world.loop, [&] { return world.heard.size() == 4; });
    assert_true((world.heard == std::vector<std::string>{"request 1", "request 2", "cancel 1", "over"}));
}

// The launcher may not have come yet: then it hears of both at once, or of neither.
void a_request_that_waits_for_the_launcher_is_taken_back_as_well(void **) {
    World world;
    world.spawn({"tool", 0});
    world.leave();
    assert_true(world.answers == std::vector<pmix_status_t>{PMIX_ERR_JOB_CANCELED});
    run_until(*world.loop, [&] { return world.heard.size() == 2; });
    assert_true((world.heard == std::vector<std::string>{"request 1", "cancel 1"}));
}

void who_leaves_asks_for_nothing_more(void **) {
    World world;
    world.leave();
    world.spawn({"tool", 0});
    assert_true(world.answers == std::vector<pmix_status_t>{PMIX_ERR_JOB_CANCELED});
}

using Answers = std::vector<pmix_status_t>;

// What waits for something else than the launcher is a job, too.
void a_lobby_counts_what_waits_for_its_target(void **) {
    World world(true);
    for (int i = 0; i < 8; ++i)
        world.spawn_debugger();
    assert_true(world.take_answers().empty());
    world.spawn_debugger();
    world.spawn_one();
    assert_true((world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_OUT_OF_RESOURCE}));
    world.services->jobs.on_session_gone();
    assert_true(world.take_answers() == Answers(8, PMIX_ERR_LOST_CONNECTION));
    for (int i = 0; i < 8; ++i) // and nothing has stayed
        world.spawn_one();
    assert_true(world.take_answers().empty());
    world.spawn_one();
    assert_true(world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE});
}

void a_lobby_counts_both_jobs_of_a_request(void **) {
    World world(true);
    for (int i = 0; i < 7; ++i)
        world.spawn_one();
    world.spawn_two();
    assert_true(world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE});
    world.launcher_answers(1, "quick");
    world.job_ends("quick");
    assert_true(world.take_answers() == Answers{PMIX_SUCCESS});
    world.spawn_two(); // 8: six wait, and these
    world.spawn_one();
    assert_true(world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE});
    world.launcher_answers(8, "first"); // it counts once, and the second one still does
    world.spawn_one();
    assert_true(world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE});
    world.launcher_answers(2, "other");
    world.job_ends("other");
    assert_true(world.take_answers() == Answers{PMIX_SUCCESS});
    world.spawn_one();
    assert_true(world.take_answers().empty());
    world.spawn_one();
    assert_true(world.take_answers() == Answers{PMIX_ERR_OUT_OF_RESOURCE});
    world.launcher_answers(9, "second");
    assert_true(world.take_answers() == Answers{PMIX_SUCCESS});
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tool_waits_for_is_taken_back),
        cmocka_unit_test(what_a_killed_tool_waits_for_is_taken_back),
        cmocka_unit_test(what_would_stand_without_its_tool_is_taken_back),
        cmocka_unit_test(a_request_that_waits_for_the_launcher_is_taken_back_as_well),
        cmocka_unit_test(who_leaves_asks_for_nothing_more),
        cmocka_unit_test(a_lobby_counts_what_waits_for_its_target),
        cmocka_unit_test(a_lobby_counts_both_jobs_of_a_request),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
