// One thread for calls that block for a while (munge, the RM's library), where nobody needs a deadline and
// nobody asks without bounds: SlowCalls without either. Jobs run in order, their completions in the
// event-loop thread.
#pragma once

#include "common/loop/slow_calls.h"

namespace pmixhost {

class Worker {
  public:
    // `loop` must outlive the worker. The destructor does not wait: what runs goes on without us, so a
    // job must own all that it uses, and nobody is answered any more.
    explicit Worker(EventLoop &loop) : calls_(loop, SIZE_MAX) {}

    // `work` gives a Result that `done` gets in the loop's thread, once and never from within: a failure
    // also when there is no thread (limit) or when `work` throws.
    template <typename Work, typename Done> void run(Work work, Done done) {
        calls_.run_alone(TimePoint::max(), std::move(work), std::move(done));
    }
    // See SlowCalls.
    bool finish(Duration limit) { return calls_.finish(limit); }

  private:
    SlowCalls calls_;
};

} // namespace pmixhost
