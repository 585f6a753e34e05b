// The way of events to the server library, and through it to the processes of this host. It is bounded, because the
// library keeps what its clients do not take, and it keeps events until the library has started. In the loop's
// thread.
#pragma once

#include "server-glue/step/step_context.h"

namespace pmixhost {

class LibraryEvents {
  public:
    using Done = std::function<void(pmix_status_t)>; // PmixLibrary::Done
    explicit LibraryEvents(StepContext &context) : context_(context) {}

    // Calls `notify`, now or when the library has started, with a function for it to call when the library is through
    // with the event. An event that would be too much for the library is dropped, with a line in the log. `bytes`:
    // what the library may keep of it.
    void give(std::size_t bytes, std::function<void(Done)> notify);
    void on_library();

  private:
    StepContext &context_;
    std::vector<std::function<void()>> early_; // before the library had started
    std::uint64_t in_library_ = 0;             // bytes
    bool dropped_ = false;                     // since the library had nothing
};

} // namespace pmixhost
