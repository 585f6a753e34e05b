// A step's services in their surroundings, as the first host has them: its other hosts and its session are never
// reached, and no library runs. For tests of what services do with one another.
#pragma once

#include "server-glue/daemon/step_services.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/rm/roles.h"

#include "test/unit/bare_rm.h"
#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <memory>
#include <optional>
#include <utility>

namespace pmixhost {

// An RM that has a session, which does not answer.
struct DeafRm : BareRm, RmRoles {
    RmRoles *roles() override { return this; }
    void reach(CentralRole, std::string, TimePoint, TimePoint, std::function<void(Result<void>)>) override {}
    bool calls_steps() const override { return true; }
};

// `Rm`: a DeafRm.
template <typename Rm> struct LoneStep {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    Rm rm;
    std::optional<StepContext> context;
    std::unique_ptr<Mesh> mesh;
    std::optional<StepServices> services;
    UpcallHandlers handlers;

    ~LoneStep() { services.reset(); } // they know the others

    // Once: the services are there behind it. `change` has the last word on what the RM says of the step.
    void begin(JobMap map, DebugStops stops = {}, const std::function<void(StepInfo &)> &change = nullptr) {
        const auto hosts = static_cast<HostIndex>(map.host_count());
        settings.transport_interfaces = {"lo"};
        rm.info.nspace = rm.info.step_key = "job";
        rm.info.job_id = "12.0";
        rm.info.map = std::move(map);
        rm.info.apps.push_back({});
        if (change)
            change(rm.info);
        context.emplace(*loop, log, settings, rm, false, std::move(stops));
        auto made = Mesh::create(*loop, log, settings, "job", 0, hosts + central_role_count,
                                 make_secret_authenticator("secret"),
                                 {[](HostIndex, std::uint8_t, Bytes) {}, [](HostIndex, Mesh::Gone, const Error &) {},
                                  [](HostIndex, Bytes, TimePoint, std::function<void(Result<void>)>) {}});
        assert_true(made.ok());
        mesh = std::move(*made);
        context->mesh = mesh.get();
        services.emplace(*context);
        context->tell_services([this](StepService &each) { each.take_asks(handlers); });
    }
};

} // namespace pmixhost
