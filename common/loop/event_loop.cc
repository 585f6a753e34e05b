// See event_loop.h. libevent in its plain form: one base, one event per handle, an eventfd for
// posts.
#include "common/loop/event_loop.h"

#include "common/base/unique_fd.h"

#include <event2/event.h>
#include <event2/thread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <sys/eventfd.h>
#include <thread>
#include <utility>
#include <vector>

namespace pmixhost {

using OnException = std::function<void(const std::string &)>;

// Runs a callback at the loop's boundary: nothing it throws goes any further. Where that cannot be told either, as
// there is no memory, the process ends.
static void guarded(const OnException &on_exception, const std::function<void()> &work) noexcept {
    try {
        work();
    } catch (const std::exception &e) {
        on_exception(e.what());
    } catch (...) {
        on_exception("unknown exception");
    }
}

static timeval timeval_of(Duration delay) {
    auto us = std::chrono::ceil<std::chrono::microseconds>(delay).count();
    return {static_cast<time_t>(us / 1000000), static_cast<suseconds_t>(us % 1000000)};
}

struct EventLoop::Handle::Impl {
    event *ev = nullptr;
    std::optional<TimePoint> due; // of a timer
    FdCallback callback;          // null: the handle has gone
    State *loop = nullptr;
    std::weak_ptr<Impl> self; // keeps the callback alive while it runs and drops its own handle

    ~Impl() {
        if (ev)
            event_free(ev);
    }
    void tell_of_closed() const;
    // libevent counts a timer's time from when the loop woke up, and by a coarse clock: the timer is set again for what
    // is left.
    bool is_early() {
        TimePoint now = Clock::now();
        if (!due || now >= *due)
            return false;
        timeval left = timeval_of(*due - now);
        return event_add(ev, &left) == 0;
    }
    static void fire(evutil_socket_t, short what, void *data);
};

// libevent calls back in the thread of run() alone. Another one that takes a turn meanwhile (run_or_post()) adds and
// removes events under libevent's own lock; what it removes may be on its way to be called back, so it is kept until
// the thread of run() is certain not to be on that way.
struct EventLoop::State {
    event_base *base = nullptr;
    OnException on_exception;
    UniqueFd wake;
    event *wake_event = nullptr;
    std::mutex mutex; // guards posted and stop_wanted
    std::deque<Callback> posted;
    bool stop_wanted = false;

    std::mutex turn; // guards what follows, and all state of who uses the loop
    std::atomic<std::thread::id> has_turn{};
    bool runs = false;      // a run() is under way
    bool elsewhere = false; // the turn is another thread's than that of run()
    bool stopped = false;   // this run(), by a stop()
    std::vector<std::weak_ptr<Handle::Impl>> before_waiting;
    std::vector<std::shared_ptr<Handle::Impl>> dropped_elsewhere;

    class Turn {
      public:
        explicit Turn(State &state) : Turn(state, std::unique_lock(state.turn)) {}
        Turn(State &state, std::unique_lock<std::mutex> lock) : state_(state), lock_(std::move(lock)) {
            if (lock_)
                state_.has_turn.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        ~Turn() {
            if (lock_)
                state_.has_turn.store({}, std::memory_order_relaxed);
        }
        explicit operator bool() const { return lock_.owns_lock(); }

      private:
        State &state_;
        std::unique_lock<std::mutex> lock_;
    };

    void tell_before_waiting() {
        for (std::size_t i = 0; i < before_waiting.size();) { // not by iterator: a callback may add one
            if (auto each = before_waiting[i].lock()) {
                guarded(on_exception, [&] { each->callback(0); });
                ++i;
            } else {
                before_waiting.erase(before_waiting.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    ~State() {
        dropped_elsewhere.clear();
        if (wake_event)
            event_free(wake_event);
        if (base)
            event_base_free(base);
    }
    void ring() {
        std::uint64_t one = 1;
        [[maybe_unused]] ssize_t n = ::write(wake.get(), &one, sizeof one); // full: already rung
    }
    bool is_anything_posted() {
        std::lock_guard lock(mutex);
        return !posted.empty() || stop_wanted;
    }
    // Edge-triggered, so that the counter need not be read: each ring is a new edge.
    static void on_wake(evutil_socket_t, short, void *data) {
        auto *state = static_cast<State *>(data);
        Turn turn(*state);
        std::deque<Callback> batch;
        bool stop = false;
        {
            std::lock_guard lock(state->mutex);
            batch.swap(state->posted);
            stop = std::exchange(state->stop_wanted, false);
        }
        for (auto &callback : batch)
            guarded(state->on_exception, callback);
        if (stop) {
            state->stopped = true;
            event_base_loopbreak(state->base);
        }
    }
};

// Before the watch ends: with the number closed the kernel cannot be told any more, and goes on reporting what another
// number of the same file, or another process, holds open.
void EventLoop::Handle::Impl::tell_of_closed() const {
    int fd = event_get_fd(ev);
    if (!(event_get_events(ev) & (EV_READ | EV_WRITE)) || ::fcntl(fd, F_GETFD) >= 0)
        return;
    try {
        loop->on_exception("descriptor " + std::to_string(fd) + " was closed while it was watched");
    } catch (const std::exception &) { // no memory to say so; its watch must end
    }
}

void EventLoop::Handle::Impl::fire(evutil_socket_t, short what, void *data) {
    State &loop = *static_cast<Impl *>(data)->loop;
    State::Turn turn(loop);
    std::shared_ptr<Impl> alive = static_cast<Impl *>(data)->self.lock();
    if (!alive || !alive->callback || alive->is_early())
        return;
    unsigned ready = ((what & EV_READ) ? readable : 0u) | ((what & EV_WRITE) ? writable : 0u);
    guarded(loop.on_exception, [&] { alive->callback(ready); });
}

EventLoop::Handle::Handle(Handle &&) noexcept = default;
EventLoop::Handle &EventLoop::Handle::operator=(Handle &&other) noexcept {
    if (this != &other) {
        reset();
        impl_ = std::move(other.impl_);
    }
    return *this;
}
EventLoop::Handle::~Handle() {
    reset();
}
// What the callback owns goes last: this handle may be part of it.
void EventLoop::Handle::reset() {
    auto dropped = std::exchange(impl_, nullptr);
    if (!dropped || !dropped->ev)
        return;
    dropped->tell_of_closed();
    if (!dropped->loop->elsewhere) {
        event_del(dropped->ev);
        return;
    }
    event_del_noblock(dropped->ev); // the thread of run() may be about to call it back, and wait for the turn
    auto callback = std::exchange(dropped->callback, nullptr);
    dropped->loop->dropped_elsewhere.push_back(std::move(dropped));
}

EventLoop::EventLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventLoop::~EventLoop() = default;

Result<std::unique_ptr<EventLoop>> EventLoop::create(OnException on_exception) {
    auto state = std::make_unique<State>();
    state->on_exception = std::move(on_exception);
    evthread_use_pthreads(); // a base that is made before this has no lock
    state->base = event_base_new();
    if (!state->base)
        return error(ErrorKind::system, "event loop: libevent gave no event base");
    state->wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state->wake)
        return system_error("event loop: eventfd", errno);
    state->wake_event =
        event_new(state->base, state->wake.get(), EV_READ | EV_PERSIST | EV_ET, State::on_wake, state.get());
    if (!state->wake_event || event_add(state->wake_event, nullptr) != 0)
        return error(ErrorKind::system, "event loop: no memory for the wake-up event");
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
}

void EventLoop::post(Callback callback) {
    {
        std::lock_guard lock(state_->mutex);
        state_->posted.push_back(std::move(callback));
        if (state_->posted.size() > 1)
            return; // rung already
    }
    state_->ring();
}

void EventLoop::run_or_post(Callback callback) {
    State &state = *state_;
    if (state.has_turn.load(std::memory_order_relaxed) != std::this_thread::get_id()) {
        State::Turn turn(state, std::unique_lock(state.turn, std::try_to_lock));
        if (turn && state.runs && !state.stopped && !state.is_anything_posted()) {
            state.elsewhere = true;
            guarded(state.on_exception, callback);
            callback = nullptr;
            state.tell_before_waiting();
            state.elsewhere = false;
            return;
        }
    }
    post(std::move(callback));
}

EventLoop::Handle EventLoop::watch(int fd, unsigned interest, FdCallback callback) {
    auto impl = std::make_shared<Handle::Impl>();
    impl->self = impl;
    impl->callback = std::move(callback);
    impl->loop = state_.get();
    short what = EV_PERSIST;
    if (interest & readable)
        what |= EV_READ;
    if (interest & writable)
        what |= EV_WRITE;
    impl->ev = event_new(state_->base, fd, what, Handle::Impl::fire, impl.get());
    if (!impl->ev || event_add(impl->ev, nullptr) != 0)
        throw std::bad_alloc();
    Handle handle;
    handle.impl_ = std::move(impl);
    return handle;
}

EventLoop::Handle EventLoop::after(Duration delay, Callback callback) {
    auto impl = std::make_shared<Handle::Impl>();
    impl->self = impl;
    impl->callback = [work = std::move(callback)](unsigned) { work(); };
    impl->loop = state_.get();
    delay = std::max(delay, Duration::zero());
    impl->due = delay < TimePoint::max() - now() ? now() + delay : TimePoint::max();
    timeval wait = timeval_of(delay);
    impl->ev = event_new(state_->base, -1, 0, Handle::Impl::fire, impl.get());
    if (!impl->ev || event_add(impl->ev, &wait) != 0)
        throw std::bad_alloc();
    Handle handle;
    handle.impl_ = std::move(impl);
    return handle;
}

EventLoop::Handle EventLoop::on_signal(int signal, Callback callback) {
    auto impl = std::make_shared<Handle::Impl>();
    impl->self = impl;
    impl->callback = [work = std::move(callback)](unsigned) { work(); };
    impl->loop = state_.get();
    impl->ev = event_new(state_->base, signal, EV_SIGNAL | EV_PERSIST, Handle::Impl::fire, impl.get());
    if (!impl->ev || event_add(impl->ev, nullptr) != 0)
        throw std::bad_alloc();
    Handle handle;
    handle.impl_ = std::move(impl);
    return handle;
}

EventLoop::Handle EventLoop::before_waiting(Callback callback) {
    auto impl = std::make_shared<Handle::Impl>();
    impl->callback = [work = std::move(callback)](unsigned) { work(); };
    state_->before_waiting.push_back(impl);
    Handle handle;
    handle.impl_ = std::move(impl);
    return handle;
}

Result<void> EventLoop::run() {
    State &state = *state_;
    int code = 0, why = 0;
    bool ends = false;
    {
        State::Turn turn(state);
        state.stopped = false;
        state.runs = true;
    }
    do {
        {
            State::Turn turn(state);
            state.dropped_elsewhere.clear();
            state.tell_before_waiting();
        }
        errno = 0;
        code = event_base_loop(state.base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
        why = errno;
        State::Turn turn(state);
        ends = state.stopped || code != 0 || event_base_got_break(state.base);
        state.runs = !ends;
    } while (!ends);
    if (state.stopped)
        return {};
    if (code < 0 && why != 0)
        return system_error("the event loop cannot wait for events any more", why);
    return error(ErrorKind::system, "the event loop has ended without having been stopped");
}

void EventLoop::stop() {
    {
        std::lock_guard lock(state_->mutex);
        state_->stop_wanted = true;
    }
    state_->ring();
}

} // namespace pmixhost
