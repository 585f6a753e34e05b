// When to tell a job that its allocation's time is nearly up. Pure: what the RM knows comes through the
// port.
//
// The RM is asked for the time that is left some seconds after the start (a short job costs it nothing), and once
// more when the warning is due, because the limit may have been changed meanwhile. Should the limit be shortened or
// the job be preempted after the RM was asked, nobody notices before then.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

class TimeWarningPort {
  public:
    virtual ~TimeWarningPort() = default;
    // Seconds; UINT32_MAX: no limit. `done` may come at any time later.
    virtual void ask_time_left(std::function<void(Result<std::uint32_t>)> done) = 0;
    virtual void warn_of_time(std::uint32_t seconds_left) = 0;
    virtual TimePoint time_now() const = 0;
};

class TimeWarning {
  public:
    static constexpr Duration first_question = std::chrono::seconds(10);
    static constexpr Duration after_an_error = std::chrono::minutes(5);

    // `before`: how long before the end; 0: never.
    TimeWarning(TimeWarningPort &port, Duration before) : port_(port), before_(before) {}

    // The job runs from now on.
    void start();
    TimePoint next_time() const { return next_; }
    void on_time(TimePoint now);

  private:
    void on_answer(const Result<std::uint32_t> &seconds);
    TimeWarningPort &port_;
    const Duration before_;
    TimePoint next_ = TimePoint::max(); // when the RM is asked
};

} // namespace pmixhost
