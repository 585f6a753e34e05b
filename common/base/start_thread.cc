// See start_thread.h. This is not std::thread, whose failure is an exception that would pass by the code that
// restores the signal mask, and which ends the process when its body throws.
#include "common/base/start_thread.h"

#include <csignal>
#include <memory>
#include <pthread.h>

namespace pmixhost {

namespace {

using Body = std::function<void()>;

void *run(void *data) {
    std::unique_ptr<Body> body(static_cast<Body *>(data));
    try {
        (*body)();
    } catch (...) {
        // Whoever waits for the thread has a deadline.
    }
    return nullptr;
}

} // namespace

Result<void> start_thread(Body body) {
    auto owned = std::make_unique<Body>(std::move(body));
    pthread_attr_t attributes;
    if (int code = pthread_attr_init(&attributes); code != 0)
        return system_error("no thread can be started", code);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int code = pthread_create(&thread, &attributes, run, owned.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        return error(ErrorKind::limit, "no thread can be started: {}",
                     system_error("process limit reached?", code).text);
    (void)owned.release(); // run() has it
    return {};
}

} // namespace pmixhost
