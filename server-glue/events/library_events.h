// The way of events to the server library, and through it to the processes of this host: bounded, for the library
// keeps what its clients do not take, and kept until it has started.
#pragma once

#include "server-glue/step/step_context.h"

namespace pmixhost {

class LibraryEvents {
  public:
    using Done = std::function<void(pmix_status_t)>; // PmixLibrary::Done
    explicit LibraryEvents(StepContext &context) : context_(context) {}

    // Calls `notify`, now or when the library has started, with what it calls when the library is through with
    // it. Drops, with a line in the log, what would be too much for it. `bytes`: what it may keep.
    void give(std::size_t bytes, std::function<void(Done)> notify);
    void on_library();

  private:
    StepContext &context_;
    std::vector<std::function<void()>> early_; // before the library had started
    std::uint64_t in_library_ = 0;             // bytes
    bool dropped_ = false;                     // since the library had nothing
};

} // namespace pmixhost
