// See library_thread.h.
#include "server-glue/library/library_thread.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <vector>

namespace pmixhost {

struct LibraryThread::State {
    struct Entry {
        const char *name;
        Job job;
    };
    std::function<void(const std::string &)> on_exception;
    std::mutex mutex; // guards what follows, but for running
    std::condition_variable wake, over;
    std::vector<Entry> waiting;
    bool idle = false, ending = false, ended = false;
    std::atomic<const char *> running{nullptr};

    // What waits is taken all at once: under load there is one hand-over for many jobs.
    void loop() {
        std::vector<Entry> batch;
        batch.reserve(reserved);
        for (;;) {
            {
                std::unique_lock lock(mutex);
                idle = true;
                wake.wait(lock, [this] { return ending || !waiting.empty(); });
                idle = false;
                if (waiting.empty()) {
                    ended = true;
                    over.notify_all();
                    return;
                }
                batch.swap(waiting);
            }
            for (auto &entry : batch)
                one(entry);
            batch.clear();
        }
    }
    void one(Entry &entry) {
        running.store(entry.name, std::memory_order_relaxed);
        try {
            entry.job();
        } catch (const std::exception &e) {
            on_exception(e.what());
        } catch (...) {
            on_exception("unknown exception");
        }
        entry.job = nullptr; // what it owns goes in the order of the jobs
        running.store(nullptr, std::memory_order_relaxed);
    }
};

Result<std::unique_ptr<LibraryThread>> LibraryThread::start(std::function<void(const std::string &)> on_exception) {
    auto state = std::make_shared<State>();
    state->on_exception = std::move(on_exception);
    state->waiting.reserve(reserved);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    Result<void> started;
    try {
        std::thread thread([state] { state->loop(); });
        pthread_setname_np(thread.native_handle(), "libpmix calls");
        thread.detach();
    } catch (const std::system_error &) {
        started = error(ErrorKind::limit, "no thread can be started: process limit reached?");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started)
        return started.failure();
    return std::unique_ptr<LibraryThread>(new LibraryThread(std::move(state)));
}

LibraryThread::~LibraryThread() {
    end(std::chrono::seconds(5));
}

bool LibraryThread::run(const char *name, Job job) noexcept {
    bool idle = false;
    {
        std::lock_guard lock(state_->mutex);
        if (state_->ending)
            return false;
        state_->waiting.push_back({name, std::move(job)});
        idle = std::exchange(state_->idle, false);
    }
    if (idle)
        state_->wake.notify_one();
    return true;
}

const char *LibraryThread::running() const {
    return state_->running.load(std::memory_order_relaxed);
}

bool LibraryThread::end(Duration patience) {
    std::unique_lock lock(state_->mutex);
    state_->ending = true;
    state_->wake.notify_one();
    return state_->over.wait_for(lock, patience, [this] { return state_->ended; });
}

} // namespace pmixhost
