// What a step's daemon that leaves does about jobs that are being started: those that tools have asked for are taken
// back, since nobody would end them (SpawnService); others go on.
#include "common/transport/invitation.h"
#include "server-glue/daemon/step_services.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/spawn/spawn_request.h"

#include "test/unit/bare_rm.h"
#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <pmix.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct FakeRm final : BareRm, RmSpawnedStep {
    RmSpawnedStep *spawned_step() override { return this; }
    void report_launch(LaunchReport, std::function<void(Result<void>)>) override {}
    void report_start(std::function<void(Result<void>)>) override {}
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
    std::optional<StepServices> services;

    World() {
        settings.transport_interfaces = {"lo"};
        rm.info.nspace = rm.info.job_id = rm.info.step_key = "job";
        rm.info.map = JobMap::without_ranks("here");
        rm.info.apps.push_back({});
        context.emplace(*loop, log, settings, rm, false, DebugStops());
        context->may = [](const Process &, policy::Action) { return true; };
        mesh = make_mesh(0, {});
        context->mesh = mesh.get();
        services.emplace(*context);
        ToolVisitor visitor;
        visitor.nspace = "tool";
        services->tools.came(visitor, {[] { return true; }, [] { return std::size_t{0}; }});
        launcher = make_mesh(context->launcher_peer(),
                             [this](std::uint8_t type, const Bytes &payload) { hear(type, payload); });
    }
    std::unique_ptr<Mesh> make_mesh(HostIndex self, std::function<void(std::uint8_t, const Bytes &)> hear) {
        auto made =
            Mesh::create(*loop, log, settings, "job", self, 1 + central_role_count, make_secret_authenticator("secret"),
                         {[hear](HostIndex, std::uint8_t type, Bytes payload) { hear(type, payload); },
                          [](HostIndex, Mesh::Gone, const Error &) {},
                          [this](HostIndex, Bytes contact, TimePoint, std::function<void(Result<void>)> done) {
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
    void spawn(const Process &caller, bool goes_on = false) {
        SpawnAsk ask;
        ask.caller = caller;
        if (goes_on)
            ask.request.directives.push_back({PMIX_NOHUP, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1});
        ask.request.apps.emplace_back().count = 1;
        ask.reply = {[this](pmix_status_t status, const std::string &) { answers.push_back(status); }, PMIX_ERROR,
                     std::string()};
        services->spawn.spawn(std::move(ask));
    }
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

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tool_waits_for_is_taken_back),
        cmocka_unit_test(a_request_that_waits_for_the_launcher_is_taken_back_as_well),
        cmocka_unit_test(who_leaves_asks_for_nothing_more),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
