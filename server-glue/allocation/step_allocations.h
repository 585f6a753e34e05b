// What this host's processes want of the RM's allocation (PMIx_Allocation_request), and what the RM has to tell of
// it: that its time is nearly up, which the first host of the step tells to all.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/allocation/allocation_service.h"
#include "server-glue/allocation/time_warning.h"
#include "server-glue/events/host_events.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

namespace pmixhost {

class StepAllocations final : public StepService, private AllocationPort, private TimeWarningPort {
  public:
    // `tell_step` brings an event to every host of the step.
    StepAllocations(StepContext &context, std::function<void(wire::CrossJobEvent)> tell_step);

    void request(AllocationAsk request);

    void take_asks(UpcallHandlers &handlers) override;
    void on_library() override;
    TimePoint next_time() const override { return time_warning_.next_time(); }
    void on_time(TimePoint now) override { time_warning_.on_time(now); }
    void on_process_gone(Rank rank, std::optional<int>) override {
        allocations_.on_process_ended(context_.step.nspace, rank);
    }

  private:
    // AllocationPort
    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done) override;
    void abandon_allocation(std::uint64_t id) override;
    void refused(const Process &caller, pmix_status_t status, const std::string &why) override;
    void session_began(const std::string &allocation, const std::string &request_id) override;
    void session_over(const std::string &allocation) override;
    // TimeWarningPort
    void ask_time_left(std::function<void(Result<std::uint32_t>)> done) override;
    void warn_of_time(std::uint32_t seconds_left) override;
    TimePoint time_now() const override { return context_.now(); }

    void tell(const HostEvent &event);

    StepContext &context_;
    std::function<void(wire::CrossJobEvent)> tell_step_;
    AllocationService allocations_;
    TimeWarning time_warning_;
};

} // namespace pmixhost
