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

// Who runs what: `shared` is older than all of `waiting`, and grows only while nothing waits and the library thread is
// not busy. The library thread begins nothing while the share gives, and takes what is left in `shared` first.
struct LibraryThread::State {
    struct Entry {
        const char *name;
        Job job;
    };
    using Ring = std::shared_ptr<const std::function<void()>>;
    std::function<void(const std::string &)> on_exception;
    std::mutex mutex; // guards what follows, but for running
    std::condition_variable wake, given, over;
    std::vector<Entry> waiting, shared;
    std::vector<Entry> taken; // by who gives, and then its own
    Ring ring;                // null: there is no share
    bool open = false;        // somebody comes when it is rung
    bool giving = false;      // the share has taken what was in `shared`, and runs it
    bool busy = false;        // the library thread has taken something, and runs it
    bool idle = false, ending = false, ended = false;
    std::atomic<const char *> running{nullptr};

    // What waits is taken all at once: under load there is one hand-over for many jobs.
    void loop() {
        std::vector<Entry> batch;
        batch.reserve(reserved);
        for (;;) {
            {
                std::unique_lock lock(mutex);
                busy = false;
                idle = true;
                wake.wait(lock, [this] { return ending || !waiting.empty() || (!open && !shared.empty()); });
                idle = false;
                given.wait(lock, [this] { return !giving; });
                if (waiting.empty() && shared.empty()) {
                    if (!ending)
                        continue;
                    ended = true;
                    over.notify_all();
                    return;
                }
                batch.swap(shared.empty() ? waiting : shared);
                busy = true;
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
    state->shared.reserve(reserved);
    state->taken.reserve(reserved);
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

bool LibraryThread::answer(const char *name, Job job) noexcept {
    State::Ring ring;
    {
        std::unique_lock lock(state_->mutex);
        if (!state_->open || state_->ending || state_->busy || !state_->waiting.empty()) {
            lock.unlock();
            return run(name, std::move(job));
        }
        if (state_->shared.empty())
            ring = state_->ring;
        state_->shared.push_back({name, std::move(job)});
    }
    if (ring)
        (*ring)();
    return true;
}

LibraryThread::Share::~Share() {
    std::lock_guard lock(state_->mutex);
    state_->open = false;
    state_->ring.reset();
    if (!state_->shared.empty())
        state_->wake.notify_one();
}

void LibraryThread::Share::open() {
    std::lock_guard lock(state_->mutex);
    state_->open = true;
}

void LibraryThread::Share::give() {
    {
        std::lock_guard lock(state_->mutex);
        if (state_->shared.empty())
            return;
        state_->taken.swap(state_->shared);
        state_->giving = true;
    }
    for (auto &entry : state_->taken)
        state_->one(entry);
    state_->taken.clear();
    {
        std::lock_guard lock(state_->mutex);
        state_->giving = false;
    }
    state_->given.notify_one();
}

std::unique_ptr<LibraryThread::Share> LibraryThread::share(std::function<void()> ring) {
    std::unique_ptr<Share> share(new Share(state_));
    std::lock_guard lock(state_->mutex);
    state_->ring = std::make_shared<const std::function<void()>>(std::move(ring));
    return share;
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
