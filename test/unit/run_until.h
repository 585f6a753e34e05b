// For a test that waits in an event loop for what comes from elsewhere.
#pragma once

#include "common/loop/event_loop.h"

#include "test/unit/check.h"

namespace pmixhost {

// A loop for which an error within it is the test's failure.
inline std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

// Runs the loop until `done`, which is looked at every millisecond; fails after `limit`.
inline void run_until(EventLoop &loop, const std::function<bool()> &done, Duration limit = std::chrono::seconds(20)) {
    bool late = false;
    auto end = loop.after(limit, [&] {
        late = true;
        loop.stop();
    });
    EventLoop::Handle again;
    std::function<void()> look = [&] {
        if (done())
            loop.stop();
        else
            again = loop.after(std::chrono::milliseconds(1), look);
    };
    again = loop.after(Duration::zero(), look);
    assert_true(loop.run().ok());
    assert_false(late);
}

} // namespace pmixhost
