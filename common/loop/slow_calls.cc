// See slow_calls.h.
#include "common/loop/slow_calls.h"

#include "common/base/start_thread.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace pmixhost {

// What the thread and the loop share; the thread keeps it alive when nobody else does.
struct SlowCalls::Thread {
    std::mutex mutex;
    std::condition_variable wake, idle;
    EventLoop *loop; // null: nobody wants to hear any more
    std::weak_ptr<SlowCalls *> owner;
    std::uint64_t id = 0;
    Call call; // empty: there is none
    bool calling = false;

    void dismiss();
    static Outcome outcome_of(const Call &call) {
        try {
            return call();
        } catch (const std::exception &problem) {
            return error(ErrorKind::system, "internal error: {}", problem.what());
        } catch (...) {
            return error(ErrorKind::system, "internal error: unknown exception");
        }
    }
    static void run(const std::shared_ptr<Thread> &self) {
        std::unique_lock lock(self->mutex);
        for (;;) {
            self->wake.wait(lock, [&] { return !self->loop || self->call; });
            if (!self->loop)
                return;
            Call call = std::exchange(self->call, nullptr);
            std::uint64_t id = self->id;
            self->calling = true;
            lock.unlock();
            auto value = std::make_shared<Outcome>(outcome_of(call));
            call = nullptr;
            lock.lock();
            self->calling = false;
            self->idle.notify_all();
            if (!self->loop)
                return;
            // Under the lock: so the loop still exists.
            self->loop->post([owner = self->owner, id, value] {
                if (auto calls = owner.lock())
                    (*calls)->on_value(id, *value);
            });
        }
    }
};

SlowCalls::SlowCalls(EventLoop &loop, std::size_t max_waiting, Threads threads)
    : loop_(loop), max_waiting_(max_waiting), bounds_(threads) {}

// Nobody wants to hear of its call any more.
void SlowCalls::Thread::dismiss() {
    {
        std::lock_guard lock(mutex);
        loop = nullptr;
        call = nullptr;
    }
    wake.notify_one();
}

SlowCalls::~SlowCalls() {
    for (auto &running : threads_)
        running.thread->dismiss();
    for (auto &[call, thread] : left_behind_)
        thread->dismiss();
}

std::size_t SlowCalls::waiting() const {
    std::size_t out = callers_.size();
    for (const Running &running : threads_)
        out -= running.call != 0 ? callers_.count(running.call) : 0;
    return out;
}

void SlowCalls::add(std::string name, TimePoint deadline, Call call, std::function<void(Outcome)> done) {
    if (waiting() >= max_waiting_)
        return loop_.post(
            [done = std::move(done)] { done(error(ErrorKind::limit, "too many questions wait already")); });
    auto same = name.empty() ? waiting_.end()
                             : std::find_if(waiting_.begin(), waiting_.end(),
                                            [&](const Waiting &other) { return other.name == name; });
    if (same == waiting_.end())
        same = waiting_.insert(waiting_.end(), {next_id_++, std::move(name), std::move(call)});
    callers_.emplace(same->id, Caller{deadline, std::move(done)});
    arm(deadline);
    begin_next();
}

void SlowCalls::begin_next() {
    while (!waiting_.empty()) {
        auto idle =
            std::find_if(threads_.begin(), threads_.end(), [](const Running &running) { return running.call == 0; });
        if (idle == threads_.end() && threads_.size() >= bounds_.at_once && !leave_one_behind())
            return;
        Result<void> started;
        if (idle == threads_.end()) {
            started = add_thread();
            if (started)
                idle = std::prev(threads_.end());
        }
        // The threads that run go on with what waits. Where there is none, nobody would.
        if (!started && !threads_.empty())
            return;
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        if (!started) {
            for (auto &caller : take(next.id))
                loop_.post([done = std::move(caller.done), why = started.failure()] { done(why); });
            continue; // the next call tries again
        }
        idle->call = next.id;
        {
            std::lock_guard lock(idle->thread->mutex);
            idle->thread->id = next.id;
            idle->thread->call = std::move(next.call);
        }
        idle->thread->wake.notify_one();
    }
}

Result<void> SlowCalls::add_thread() {
    auto thread = std::make_shared<Thread>();
    thread->loop = &loop_;
    thread->owner = self_;
    auto started = start_thread([thread] { Thread::run(thread); });
    if (started)
        threads_.push_back({std::move(thread), 0});
    return started;
}

bool SlowCalls::finish(Duration limit) {
    TimePoint deadline = loop_.now() + limit;
    for (auto &running : threads_) {
        Thread &thread = *running.thread;
        std::unique_lock lock(thread.mutex);
        for (;;) {
            if (!thread.idle.wait_until(lock, deadline, [&] { return !thread.calling && !thread.call; }))
                return false;
            if (waiting_.empty())
                break;
            thread.call = std::move(waiting_.front().call);
            waiting_.pop_front();
            thread.wake.notify_one();
        }
    }
    return waiting_.empty();
}

// A thread with a call that nobody waits for any more.
bool SlowCalls::leave_one_behind() {
    auto stuck = std::find_if(threads_.begin(), threads_.end(), [this](const Running &running) {
        return running.call != 0 && !callers_.contains(running.call);
    });
    if (stuck == threads_.end() || left_behind_.size() >= bounds_.left_behind)
        return false;
    left_behind_.emplace(stuck->call, std::move(stuck->thread));
    threads_.erase(stuck);
    return true;
}

std::vector<SlowCalls::Caller> SlowCalls::take(std::uint64_t id) {
    std::vector<Caller> out;
    auto [begin, end] = callers_.equal_range(id);
    for (auto each = begin; each != end; ++each)
        out.push_back(std::move(each->second));
    callers_.erase(begin, end);
    return out;
}

void SlowCalls::on_value(std::uint64_t id, const Outcome &value) {
    for (auto &running : threads_) {
        if (running.call == id)
            running.call = 0;
    }
    if (auto late = left_behind_.find(id); late != left_behind_.end()) {
        late->second->dismiss();
        left_behind_.erase(late);
    }
    auto answered = take(id);
    if (callers_.empty()) {
        timer_.reset();
        armed_ = TimePoint::max();
    }
    begin_next();
    std::weak_ptr<SlowCalls *> alive = self_;
    for (auto &caller : answered) {
        if (alive.expired())
            return; // a callback has ended this
        caller.done(value);
    }
}

void SlowCalls::on_time() {
    std::vector<Caller> late;
    TimePoint now = loop_.now(), next = TimePoint::max();
    for (auto each = callers_.begin(); each != callers_.end();) {
        if (each->second.deadline > now) {
            next = std::min(next, each->second.deadline);
            ++each;
            continue;
        }
        late.push_back(std::move(each->second));
        each = callers_.erase(each);
    }
    armed_ = TimePoint::max();
    timer_.reset();
    arm(next);
    waiting_.remove_if([this](const Waiting &call) { return !callers_.contains(call.id); });
    begin_next(); // where a thread can be left behind
    std::weak_ptr<SlowCalls *> alive = self_;
    for (auto &caller : late) {
        if (alive.expired())
            return;
        caller.done(error(ErrorKind::timeout, "there was no answer in time"));
    }
}

void SlowCalls::arm(TimePoint deadline) {
    if (deadline >= armed_)
        return;
    armed_ = deadline;
    timer_ = loop_.after(std::max(deadline - loop_.now(), Duration::zero()), [this] { on_time(); });
}

} // namespace pmixhost
