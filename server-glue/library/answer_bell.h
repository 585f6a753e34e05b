// Wakes the thread of an event base that is not ours, libpmix', without taking the lock of that base: whoever rings
// writes to a descriptor which the base waits for. What is rung for is the business of who hears it (direct_answers.h).
//
// To shift something to that thread with libevent's own calls takes the lock, which a thread that turns within libevent
// never gives back (contrib/doc/decisions/libpmix.md); the event loop may not wait for it.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <functional>
#include <memory>

struct event;
struct event_base;

namespace pmixhost {

class AnswerBell {
  public:
    // `heard` is called in the base's thread, once or more often after a ring, and must not throw. `base` has a lock,
    // and outlives this. Takes that lock. Failure: unsupported (a base that does not wait for changes alone), system.
    static Result<std::unique_ptr<AnswerBell>> hang(event_base *base, std::function<void()> heard);
    // Not within `heard`. Waits for `heard` to return where it runs, and takes the lock.
    ~AnswerBell();
    AnswerBell(const AnswerBell &) = delete;

    // What rings: in any thread, without waiting; also after this object has gone, when nobody hears it.
    std::function<void()> rope() const;

  private:
    explicit AnswerBell(std::function<void()> heard) : heard_(std::move(heard)) {}
    struct FreeEvent {
        void operator()(event *one) const;
    };
    std::function<void()> heard_;
    std::shared_ptr<const UniqueFd> counter_; // who rings has it too
    std::unique_ptr<event, FreeEvent> event_;
};

} // namespace pmixhost
