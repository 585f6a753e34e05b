// A module as backends are: loaded at run time, with the event loop's code linked into it once more. For
// timer_guard.cc.
#include "common/loop/event_loop.h"

using namespace pmixhost;

// Sets so many timers in the loop that the program has made, one after the other; how many came.
extern "C" __attribute__((visibility("default"))) int run_timers(EventLoop *loop, int count) {
    int came = 0;
    EventLoop::Handle timer;
    std::function<void()> next = [&] {
        if (++came == count)
            return loop->stop();
        timer = loop->after(std::chrono::milliseconds(0), next);
    };
    timer = loop->after(std::chrono::milliseconds(0), next);
    if (!loop->run())
        return -1;
    return came;
}
