// Wakes the thread of an event base that is not ours, libpmix', without taking the lock of that base: whoever rings
// writes to a descriptor which the base waits for. In that thread itself there is nothing to be woken, and no system
// call is made. What is rung for is the business of who hears it (direct_answers.h).
//
// To shift something to that thread with libevent's own calls takes the lock, which a thread that turns within libevent
// never gives back (contrib/doc/decisions/libpmix.md); the event loop may not wait for it.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <memory>

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
    struct Hung;
    AnswerBell(std::shared_ptr<Hung> hung, std::function<void()> heard);
    const std::shared_ptr<Hung> hung_; // who rings has it too
    const std::function<void()> heard_;
};

} // namespace pmixhost
