// Events of a step's daemon: what processes notify, what the host itself reports, and their way to the other hosts
// (event_service.h), to other jobs of the session, and to the processes of this host.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/events/process_ends.h"

namespace pmixhost {

class StepEvents final : public StepService, private EventPort {
  public:
    // `any_cross_job`: do processes here deal with other jobs? `is_tool`: is that one no process of a job? `tools`:
    // which may be connected here now?
    StepEvents(StepContext &context, std::function<bool()> any_cross_job, std::function<bool(const Process &)> is_tool,
               std::function<std::vector<Process>()> tools);

    // A process of this host, or a monitor of the library, notifies.
    void notify(NotifyAsk ask);
    // Treats the event as if another job had sent it: it goes to every host of this step that it concerns.
    void tell_step(wire::CrossJobEvent event);
    // Sends it to the jobs that it names.
    void tell_job(wire::CrossJobEvent event) { send_cross_job(std::move(event)); }
    // Gives it to the processes of this host only.
    void deliver(const wire::EventNotice &notice) override;
    // Tells the ends that are not yet told, as this daemon is about to leave.
    void report_ends() { ends_.report_all(); }
    LibraryEvents &to_library() { return to_library_; }
    // Has anything been sent to other jobs?
    bool has_unsent() override { return to_session_ && context_.session_has_queued(); }

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_library() override;
    void on_process_gone(Rank rank, std::optional<int> wait_status) override { ends_.note_end(rank, wait_status); }
    void on_host_gone(HostIndex host, bool left) override;
    // Others' ends may have come, and wait, since this host's were told.
    void on_leaving(bool) override { ends_.report_all(); }

  private:
    // EventPort
    void event_lost(HostIndex to) override;
    void deliver(const wire::HostReport &report) override;
    void deliver(const wire::BadEnds &ends) override;
    void deliver(const wire::NormalExits &ends) override;
    void send_cross_job(wire::CrossJobEvent event) override;

    void report_cross_job(const wire::HostReport &report);
    // Hands an event to the services that want it.
    void hear(pmix_status_t code, const Process &source, const Bytes &packed, std::uint32_t count);
    void watch_links();

    StepContext &context_;
    std::shared_ptr<EventGate> gate_; // is told what waits for the network
    std::function<bool()> any_cross_job_;
    std::function<bool(const Process &)> is_tool_;
    EventService events_;
    LibraryEvents to_library_{context_};
    ProcessEnds ends_;
    EventLoop::Handle links_timer_;
    bool to_session_ = false;
};

} // namespace pmixhost
