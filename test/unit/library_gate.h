// A library thread for tests, and a job that blocks in it until it is let go.
#pragma once

#include "server-glue/library/library_thread.h"

#include "test/unit/check.h"
#include "test/unit/gate.h"

namespace pmixhost {

inline std::unique_ptr<LibraryThread> make_thread(std::function<void(const std::string &)> on_exception = {}) {
    if (!on_exception)
        on_exception = [](const std::string &what) { fail_msg("%s", what.c_str()); };
    auto thread = LibraryThread::start(std::move(on_exception));
    assert_true(thread.ok());
    return std::move(*thread);
}

// A gate is shared with the job, because a test that fails leaves the job behind.
struct Gate {
    OneTimeGate opening, reached;
};
inline LibraryThread::Job blocks(std::shared_ptr<Gate> gate) {
    return [gate] {
        gate->reached.open();
        gate->opening.wait();
    };
}

} // namespace pmixhost
