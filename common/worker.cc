// See worker.h.
#include "common/worker.h"

#include <csignal>

namespace pmixhost {

Worker::Worker(EventLoop &loop) : loop_(loop) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop_of_thread(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() {
    {
        std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Worker::run(std::function<EventLoop::Callback()> work) {
    {
        std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(work));
    }
    wake_.notify_one();
}

void Worker::loop_of_thread() {
    for (;;) {
        std::function<EventLoop::Callback()> job;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            if (ending_)
                return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        loop_.post(job());
    }
}

} // namespace pmixhost
