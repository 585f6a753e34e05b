// The output of a spawned job on its way to the process that spawned it: at the host where it comes together, one
// message after the other goes to the parent's host, through the session, and the next one when that has been taken.
// What waits is bounded by the window of the output's flow (output_flow.h). What was sent by a session that has gone is
// sent again, and left out there where it had come (ForwardedOutput::before).
//
// Pure: messages in, messages out; the caller has the clock.
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/iof_messages.h"
#include "server-glue/core/signature.h"

#include <functional>

namespace pmixhost {

class OutputForward {
  public:
    // The parent's host may come to the session later than this one: a lobby by some programs of the RM, on a busy
    // host. One that has been there and is not, has gone, unless the session is a new one.
    static constexpr Duration comes_within = std::chrono::seconds(20), returns_within = std::chrono::seconds(5),
                              comes_look = std::chrono::milliseconds(50);

    struct Callbacks {
        std::function<void(wire::ForwardedOutput)> send;
        std::function<void(std::uint32_t cost)> taken; // of what add() was given
        std::function<void(std::uint64_t lost)> over;  // nobody takes it any more; so many bytes had been given
    };
    OutputForward(Bytes nspace, HostIndex host, Callbacks callbacks)
        : nspace_(std::move(nspace)), host_(host), callbacks_(std::move(callbacks)) {}

    // The session can be reached from now on.
    void open();
    void add(wire::OutputPiece piece, std::uint32_t cost);
    void on_reply(TimePoint now, const wire::ForwardedOutputTaken &reply);
    void on_session_gone(TimePoint now);
    bool waits() const { return !pieces_.empty() || id_ != 0; }
    TimePoint next_time() const { return again_; }
    void on_time(TimePoint now);

  private:
    void send();
    void give_up();

    Bytes nspace_;
    HostIndex host_;
    Callbacks callbacks_;
    bool open_ = false, over_ = false;
    bool has_come_ = false; // the parent's host
    std::vector<wire::OutputPiece> pieces_, sent_;
    std::uint32_t cost_ = 0, sent_cost_ = 0;
    std::uint64_t id_ = 0, last_id_ = 0; // of what is under way; 0: nothing is
    std::uint64_t taken_ = 0;            // pieces; after a session that has gone, perhaps more than is known here
    TimePoint again_ = TimePoint::max(), patience_ = TimePoint::max();
};

} // namespace pmixhost
