// See slow_calls.h.
#include "common/slow_calls.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

namespace pmixhost {

// What the thread and the loop share; the thread keeps it alive when nobody else does.
struct SlowCalls::Thread {
    std::mutex mutex;
    std::condition_variable wake;
    EventLoop *loop; // null: nobody wants to hear any more
    std::weak_ptr<SlowCalls *> owner;
    std::uint64_t id = 0;
    Call call; // empty: there is none

    static void run(const std::shared_ptr<Thread> &self) {
        std::unique_lock lock(self->mutex);
        for (;;) {
            self->wake.wait(lock, [&] { return !self->loop || self->call; });
            if (!self->loop)
                return;
            Call call = std::exchange(self->call, nullptr);
            std::uint64_t id = self->id;
            lock.unlock();
            auto value = std::make_shared<std::any>(call());
            call = nullptr;
            lock.lock();
            if (!self->loop)
                return;
            // Under the lock: so the loop still exists.
            self->loop->post([owner = self->owner, id, value] {
                if (auto calls = owner.lock())
                    (*calls)->on_value(id, std::move(*value));
            });
        }
    }
};

SlowCalls::SlowCalls(EventLoop &loop, std::size_t max_waiting) : loop_(loop), max_waiting_(max_waiting) {}

SlowCalls::~SlowCalls() {
    if (!thread_)
        return;
    {
        std::lock_guard lock(thread_->mutex);
        thread_->loop = nullptr;
        thread_->call = nullptr;
    }
    thread_->wake.notify_one();
}

void SlowCalls::add(std::string name, TimePoint deadline, Call call,
                    std::function<void(Result<std::any>)> done) {
    std::size_t waiting = static_cast<std::size_t>(std::count_if(
        callers_.begin(), callers_.end(), [&](const Caller &caller) { return caller.call != running_; }));
    if (waiting >= max_waiting_)
        return loop_.post([done = std::move(done)] {
            done(error(ErrorKind::limit, "too many questions wait already"));
        });
    auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting &other) {
        return !name.empty() && other.name == name;
    });
    if (same == waiting_.end())
        same = waiting_.insert(waiting_.end(), {next_id_++, std::move(name), std::move(call)});
    callers_.push_back({same->id, deadline, std::move(done)});
    arm();
    begin_next();
}

void SlowCalls::begin_next() {
    if (running_ != 0 || waiting_.empty())
        return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = next.id;
    bool first = !thread_;
    if (first) {
        thread_ = std::make_shared<Thread>();
        thread_->loop = &loop_;
        thread_->owner = self_;
    }
    {
        std::lock_guard lock(thread_->mutex);
        thread_->id = next.id;
        thread_->call = std::move(next.call);
    }
    thread_->wake.notify_one();
    if (!first)
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread(Thread::run, thread_).detach();
    } catch (const std::system_error &) {
        thread_.reset();
        running_ = 0;
        for (auto &caller : take(next.id))
            loop_.post([done = std::move(caller.done)] {
                done(error(ErrorKind::limit, "no thread can be started: process limit reached?"));
            });
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::list<SlowCalls::Caller> SlowCalls::take(std::uint64_t id) {
    std::list<Caller> out;
    for (auto next = callers_.begin(); next != callers_.end();) {
        auto caller = next++;
        if (caller->call == id)
            out.splice(out.end(), callers_, caller);
    }
    return out;
}

void SlowCalls::on_value(std::uint64_t id, std::any value) {
    running_ = 0;
    auto answered = take(id);
    begin_next();
    arm();
    std::weak_ptr<SlowCalls *> alive = self_;
    for (auto &caller : answered) {
        if (alive.expired())
            return; // a callback has ended this
        caller.done(value);
    }
}

void SlowCalls::on_time() {
    std::list<Caller> late;
    TimePoint now = loop_.now();
    for (auto next = callers_.begin(); next != callers_.end();) {
        auto caller = next++;
        if (caller->deadline <= now)
            late.splice(late.end(), callers_, caller);
    }
    waiting_.remove_if([this](const Waiting &call) {
        return std::none_of(callers_.begin(), callers_.end(),
                            [&](const Caller &caller) { return caller.call == call.id; });
    });
    arm();
    std::weak_ptr<SlowCalls *> alive = self_;
    for (auto &caller : late) {
        if (alive.expired())
            return;
        caller.done(error(ErrorKind::timeout, "there was no answer in time"));
    }
}

void SlowCalls::arm() {
    TimePoint next = TimePoint::max();
    for (const auto &caller : callers_)
        next = std::min(next, caller.deadline);
    if (next == TimePoint::max())
        return timer_.reset();
    timer_ = loop_.after(std::max(next - loop_.now(), Duration::zero()), [this] { on_time(); });
}

} // namespace pmixhost
