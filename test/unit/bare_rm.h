// A resource manager that does nothing, for a test that gives it what it needs of one.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

struct BareRm : RmBackend {
    StepInfo info;
    const StepInfo &step() const override { return info; }
    Result<void> start(BackendListener &) override { return {}; }
    void send_contact(HostIndex, std::string, bool, TimePoint, std::function<void(Result<void>)>) override {}
    void end_step(StepEnd, std::function<void(Result<void>)>) override {}
    void stop() override {}
};

} // namespace pmixhost
