// The standard streams of this host's tasks that the daemon has taken (contrib/doc/task-door.md): what a task writes is
// passed on to where the RM takes it, and a copy is offered to whoever wants one; what comes from the RM goes to the
// task's standard input, and so does what is pushed.
//
// A stream of the RM that does not take what was written stops the task, as it would without the daemon; nothing else
// does. Regular files and terminals are not taken.
//
// What is pushed to a task that has not yet handed over its streams waits for that, or for the task's end: its job may
// be just beginning.
//
// All in the loop's thread. Callbacks are never called from within the functions here but give(), and replies but from
// there, add() and task_gone().
#pragma once

#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/iof_messages.h"
#include "server-glue/core/task_descriptors.h"
#include "server-glue/iof/recent_output.h"
#include "server-glue/library/replies.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace pmixhost {

class TaskStreams {
  public:
    static constexpr std::size_t piece_bytes = 32u << 10; // are read at once

    struct Callbacks {
        // Is a copy wanted; and shall the RM not get it?
        std::function<bool(Rank, std::uint8_t channel)> wanted, taken_over;
        // Of what the task has written; `end`: it has closed the stream. May give_back(), also what it is given.
        std::function<void(Rank, std::uint8_t channel, std::string_view bytes, bool end)> on_output;
        // May it write more? Else look_for_room() says when to ask again.
        std::function<bool(Rank, std::uint8_t channel)> room;
        // Of a stream that has ended: may give_back() still come?
        std::function<bool(Rank, std::uint8_t channel)> may_come_back;
    };
    // `kept`: bytes of each stream, for who comes late.
    TaskStreams(EventLoop &loop, std::size_t kept, Callbacks callbacks)
        : loop_(loop), most_kept_(kept), callbacks_(std::move(callbacks)) {}

    void add(Rank rank, TaskDescriptors descriptors);
    bool has(Rank rank) const { return tasks_.contains(rank); }
    // What the stream's task wrote last (RecentOutput::last()), whether it has closed it, and RecentOutput::is_cut().
    struct Kept {
        std::string_view bytes;
        bool end, cut;
    };
    std::optional<Kept> kept(Rank rank, std::uint8_t channel, TimePoint since = TimePoint::min()) const;
    // As InputPort::give().
    void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply);
    void look_for_room();
    // What was offered as on_output() goes to the RM after all, if that still takes it: behind what waits for it, and
    // no more is read of the task before it has gone there. Where the stream has ended, so does the RM's when nothing
    // more may come back.
    void give_back(Rank rank, std::uint8_t channel, std::string_view bytes);
    // From now on a task's input does not end where that of the RM does, but when that is given; or it does again.
    void hold_input(bool hold);
    // The task has ended: nobody reads what is for it.
    void task_gone(Rank rank);

    // Is there output that the RM has not taken, or that has not been read though there is room for it?
    bool rm_waits() const;
    // Is a stream still open at its task's end?
    bool any_open() const;

  private:
    struct Output {
        explicit Output(std::size_t most_kept) : kept(most_kept) {}
        enum class Waits { for_nothing, for_task, for_rm, for_room };
        Rank rank = 0;
        std::uint8_t channel = 0;
        UniqueFd rms, ours;
        EventLoop::Handle watch;
        Waits waits = Waits::for_nothing;
        Bytes pending; // for the RM
        RecentOutput kept;
        bool ended = false;
    };
    struct Input {
        struct Piece {
            SharedBytes bytes;
            std::size_t written = 0;
            bool end = false;
            StatusReply reply;
        };
        UniqueFd rms, ours;
        EventLoop::Handle rms_watch, ours_watch;
        std::deque<Piece> pieces;
        bool rms_ended = false;
    };
    struct Task {
        std::map<std::uint8_t, Output> outputs; // by channel
        std::unique_ptr<Input> input;
    };
    void watch(Output &stream);
    void read_output(Output &stream);
    void flush(Output &stream);
    void end_rms_if_over(Output &stream);
    void watch_rms(Rank rank, Input &input);
    bool take_from_rms(Input &input); // false: there is nothing now
    void read_rms(Rank rank);
    void read_all_of_rms(Rank rank);
    void write_input(Rank rank);
    void close_input(Input &input, pmix_status_t status);

    EventLoop &loop_;
    const std::size_t most_kept_;
    Callbacks callbacks_;
    std::map<Rank, Task> tasks_;
    std::map<Rank, std::vector<Input::Piece>> early_; // for those that are not yet there; who pushes bounds them
    std::set<Rank> gone_;
    bool hold_input_ = false;
};

} // namespace pmixhost
