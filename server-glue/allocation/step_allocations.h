// What this host's processes want of the RM's allocations (PMIx_Allocation_request), and what the RM has to tell: that
// the time of the own one is nearly up, which the first host of the step tells to all, and that one has ended that a
// process of this host has been given.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/allocation/allocation_service.h"
#include "server-glue/allocation/session_watch.h"
#include "server-glue/allocation/time_warning.h"
#include "server-glue/events/host_events.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

#include <algorithm>

namespace pmixhost {

class StepAllocations final : public StepService,
                              private AllocationPort,
                              private TimeWarningPort,
                              private SessionWatchPort {
  public:
    // `tell_step` brings an event to every host of the step. `connection_of` gives what says whether a tool is still
    // there, and null for a process of the job.
    using ConnectionOf = std::function<AllocationService::IsHere(const Process &caller)>;
    StepAllocations(StepContext &context, std::function<void(wire::CrossJobEvent)> tell_step,
                    ConnectionOf connection_of);

    void request(AllocationAsk request);

    void take_asks(UpcallHandlers &handlers) override;
    void on_library() override;
    TimePoint next_time() const override {
        return std::min({time_warning_.next_time(), sessions_.next_time(), allocations_.next_time()});
    }
    void on_time(TimePoint now) override {
        allocations_.on_time(now);
        time_warning_.on_time(now);
        sessions_.on_time(now);
    }
    // The RM is being asked for an allocation: nobody else would know of it, to take it back.
    bool has_unsent() override;
    bool wants_event(pmix_status_t code, const Bytes &nspace) const override;
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;
    void on_process_gone(Rank rank, std::optional<int>) override {
        allocations_.on_process_ended(context_.step.nspace, rank);
    }

  private:
    // AllocationPort
    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done) override;
    void abandon_allocation(std::uint64_t id) override;
    void refused(const Process &caller, pmix_status_t status, const std::string &why) override;
    void stays(const std::string &allocation, const Error &why) override;
    void session_began(const std::string &allocation, const std::string &request_id, std::uint32_t seconds) override;
    void session_over(const std::string &allocation) override;
    // TimeWarningPort
    void ask_time_left(std::function<void(Result<std::uint32_t>)> done) override;
    void warn_of_time(std::uint32_t seconds_left) override;
    TimePoint time_now() const override { return context_.now(); }
    // SessionWatchPort
    void ask_whether_over(const std::string &allocation, std::function<void(Result<bool>)> done) override;
    void session_ended(const std::string &allocation, const std::string &request_id) override;

    void tell(const HostEvent &event);

    StepContext &context_;
    std::function<void(wire::CrossJobEvent)> tell_step_;
    ConnectionOf connection_of_;
    AllocationService allocations_;
    TimeWarning time_warning_;
    SessionWatch sessions_{*this};
};

} // namespace pmixhost
