// Whether allocations that processes of this host have been given have ended: by their time, or because somebody has
// cancelled them. The RM tells at most the command that has asked for one, so it is asked, ever more seldom, and when
// the time is up. Pure: what the RM knows comes through the port.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"
#include "server-glue/core/recent_names.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace pmixhost {

class SessionWatchPort {
  public:
    virtual ~SessionWatchPort() = default;
    // Has it ended? Fails: not_found (the RM has forgotten it), unsupported (it cannot be asked), any other for now.
    // `done` may come at any time later, but not from within the call.
    virtual void ask_whether_over(const std::string &allocation, std::function<void(Result<bool>)> done) = 0;
    // Once for each that is watched, unless it is given back.
    virtual void session_ended(const std::string &allocation, const std::string &request_id) = 0;
    virtual TimePoint time_now() const = 0;
};

class SessionWatch {
  public:
    static constexpr std::size_t max_watched = 64; // of a host; others are not watched
    static constexpr std::size_t max_asked = 8;    // at a time: who asks the RM for himself waits behind these
    // How long after it was granted, and then twice as long each time.
    static constexpr Duration first_question = std::chrono::seconds(2), longest_pause = std::chrono::minutes(1);

    explicit SessionWatch(SessionWatchPort &port) : port_(port) {}

    // It has been granted, for so many seconds; UINT32_MAX: without end. `request_id`: what its owner calls it.
    void begin(const std::string &allocation, const std::string &request_id, std::uint32_t seconds);
    // Somebody has been told that it has ended. False: so had this, that is known.
    bool ended(const std::string &allocation);

    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Session {
        std::string request_id;
        TimePoint next; // when the RM is asked; max: it is being asked
        TimePoint end;  // of its time, as it was granted
        Duration pause;
    };
    void on_answer(const std::string &allocation, const Result<bool> &over);

    SessionWatchPort &port_;
    std::map<std::string, Session> sessions_;
    std::size_t asked_ = 0; // questions without an answer
    RecentNames told_{max_watched};
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
