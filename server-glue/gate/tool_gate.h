// What the gate (gate_server.h) does with the tools that come to it: each is judged by the site's rules and handed to
// the desk of its user, which is started for the first one. Here is decided who waits for what, for how long, and how
// many may.
//
//     a connection:  arrives -> the rules are asked -> its user's desk starts, or is there -> handed over
//     a desk:        none -> starting -> ready -> asked to leave, or gone
//
// What one user can cause is counted for that user: connections that wait, and connections of a second. So a flood of
// one keeps no other out. What all users share are the desks; one that serves nobody makes room.
//
// Pure: no sockets, no clock. The functions of the port may be called from within each call, and must not call back.
#pragma once

#include "common/base/rate_limit.h"
#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

class ToolGate {
  public:
    using Id = std::uint64_t; // of a connection
    struct Limits {
        std::size_t desks = 64;                      // at a time
        std::size_t waiting = 16;                    // connections of a user that no desk has yet
        Duration idle = std::chrono::minutes(10);    // a desk without tools is kept for so long
        std::size_t a_second = 100;                  // connections of a user; those beyond are refused
        Duration patience = std::chrono::seconds(8); // for the rules and for a desk that starts
    };
    struct Port {
        std::function<void(uid_t)> start_desk; // on_ready() or on_desk_gone() answers
        std::function<void(uid_t)> end_desk;   // nothing more is heard of it
        // Passes the connection on, and is then rid of it. False: the desk takes no more now.
        std::function<bool(Id, uid_t)> hand_over;
        std::function<void(Id, uid_t, const std::string &why)> refuse; // closes it
    };
    ToolGate(Limits limits, Port port) : limits_(limits), port_(std::move(port)) {}
    // Those who are here stay.
    void set_limits(Limits limits) { limits_ = limits; }

    // A connection has come. True: the rules are to be asked, and judged() told what they say.
    bool arrived(Id id, uid_t user, TimePoint now);
    // Of a connection that has been refused meanwhile, nothing happens.
    void judged(Id id, uid_t user, const Result<void> &verdict, TimePoint now);
    // What the user's desk says. Each returns false where no desk of ours says so: it is to be ended, on_desk_gone().
    bool on_ready(uid_t user, TimePoint now);
    // `given` connections have come to it. A desk that does not say so in time hangs, and has to leave.
    bool on_taken(uid_t user, std::uint64_t given, TimePoint now);
    // Of the connections that it was given none is open; `given` of them have come to it.
    bool on_quiet(uid_t user, std::uint64_t given, TimePoint now);
    // Any of these words, or why it has refused a connection, beside the others. False: it has said more than the
    // connections that it was given explain.
    bool counts_word(uid_t user);
    // A line that it has for the log, which no connection explains. False: more than a desk may say in a minute.
    bool counts_line(uid_t user, TimePoint now);
    void on_desk_gone(uid_t user, const std::string &why, TimePoint now);

    TimePoint next_time() const;
    void on_time(TimePoint now);

    std::size_t desks() const;
    std::size_t waiting() const;

  private:
    enum class Desk { none, starting, ready };
    // In a minute. A desk sends twenty; but what it has sent while the gate stood still comes at once, as much as a
    // socket holds.
    static constexpr std::size_t most_lines = 300;
    struct Waiting {
        TimePoint deadline;
        bool allowed = false; // else the rules are asked
    };
    struct User {
        std::map<Id, Waiting> waiting;
        Desk desk = Desk::none;
        TimePoint deadline = TimePoint::max(); // of one that starts, or has not taken what it was given
        std::uint64_t given = 0, taken = 0;    // by this desk
        std::uint64_t words = 0;               // of it
        RateLimit lines{most_lines};           // of it
        TimePoint idle_since = TimePoint::max();
        TimePoint second{}; // the beginning of the one in which `this_second` have come
        std::size_t this_second = 0;
        TimePoint ready_since{};
        TimePoint no_desk_before{}; // one has failed to start, or has ended at once
        std::string why_no_desk;
    };
    void refuse(uid_t user, User &of, Id id, const std::string &why);
    void refuse_allowed(uid_t user, User &of, const std::string &why);
    void no_desk_for_now(uid_t user, User &of, const std::string &why, TimePoint now);
    bool make_room();
    void need_desk(uid_t user, User &of, TimePoint now);
    void hand_over(uid_t user, User &of, TimePoint now);
    void forget_idle_users(TimePoint now);

    Limits limits_;
    Port port_;
    std::map<uid_t, User> users_;
};

} // namespace pmixhost
