// How a step's daemon leaves: what its processes had posted is handed over, the job's files are removed, what others
// wait for goes out, and everybody it has to do with is told farewell. Each has a limit of time. All in the loop's
// thread.
#pragma once

#include "common/start/status_page.h"
#include "server-glue/daemon/step_services.h"
#include "server-glue/library/replies.h"

namespace pmixhost {

class StepEnding {
  public:
    // `page` may be null. `on_end` is called once, when the daemon has nothing more to do.
    StepEnding(StepContext &context, StepServices &services, StatusPage *page, std::function<void(Result<void>)> on_end)
        : context_(context), services_(services), page_(page), on_end_(std::move(on_end)) {}

    // Takes what clients say at their beginning and end.
    void take_asks(UpcallHandlers &handlers);
    // The first call counts. A failure's text goes to the status page.
    void end(Result<void> result);
    // All tasks of this host have ended: ends when what they wrote has gone out.
    void end_after_output(TimePoint ended);
    // The RM's own process on this host has ended.
    void on_rm_gone(std::string why);
    // The supervisor has ended, which nobody but an RM that ends everything should have done: if tasks
    // still run a moment later, the step is ended with a line that says so.
    void on_supervisor_gone();
    // True when this daemon leaves; it goes on without the library.
    bool on_library_stuck();

  private:
    bool holds_output() const { return static_cast<bool>(output_end_) && !context_.ending; }
    // The last client of this host is in PMIx_Finalize and goes on with the answer. It gets the answer only when
    // everything is out, for the RM may kill this daemon as soon as its tasks have ended.
    void last_client_finalized(StatusReply reply);
    void finish(Result<void> result);
    // What waits until everything is out. Looked at before the loop waits, since all that it waits for is done in the
    // loop, or wakes it (Link::has_unsent); `time` wakes it when a limit is over.
    struct Sending {
        TimePoint begun;
        std::vector<std::function<void()>> then;
        EventLoop::Handle look, time;
        const char *last = "nothing"; // that it waited for
    };
    // Calls `then` when nothing is left to be sent, or after some seconds; perhaps at once. Who comes while another one
    // waits for the same is called with it.
    void when_sent(Sending &sending, std::function<void()> then);
    void go_on(Sending &sending);
    const char *what_is_unsent(TimePoint begun);

    StepContext &context_;
    StepServices &services_;
    StatusPage *page_;
    std::function<void(Result<void>)> on_end_;
    Sending sending_of_end_, sending_of_finalize_;
    EventLoop::Handle cleaning_end_, output_end_, alone_, rm_gone_;
    std::function<void()> stop_cleaning_; // while the end waits for libpmix
};

} // namespace pmixhost
