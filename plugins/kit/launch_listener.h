// The launch listener: a thread in the command that started a step (srun), which hears what the step's daemons say
// (starter_message.h) while the step runs.
//   exit report   kept until the step is over, when the starter asks for it
//   started, launched, ended   written to whoever ran the starter for PMIx_Spawn (common/start/spawn_channel.h)
//   note          shown to the user at once, 100 of them at most, each text once, and of each subject the first, but
//                 not that processes stand where somebody hears what becomes of the step (`spawn_channel`); also ten of
//                 hosts that cannot prove their user (unproved_note.h)
//   tools         opens the way for tools of this host (tool_door.h)
//   kept          the connection may be silent from now on
//   invitation    handed to the launcher, a pmixhostd beside the starter, which is started for the first one
// It begins with the launch and ends before the starter does: when the step is over, and then the launcher, which
// waits for the jobs that it started. Without a thread, messages are read when the step is over, and nothing can be
// spawned.
//
// Anybody can connect. Whoever connects has 10 s to say a whole message; at most 256 connections that have not are
// held, 128 of one address, and the oldest makes room for the next (common/peer/stranger_limits.h).
#pragma once

#include "common/job/told_ends.h"
#include "common/peer/stranger_limits.h"

#include "plugins/kit/starter_listener.h"
#include "plugins/kit/tool_door.h"

#include <functional>
#include <map>
#include <memory>
#include <pthread.h>
#include <set>

namespace pmixhost::kit {

// A running launcher: `channel` takes invitations as u32be length | bytes; a length of 0 ends its
// jobs. Its end is the end of the channel.
struct LauncherProcess {
    pid_t pid = -1;
    UniqueFd channel;
};

class LaunchListener {
  public:
    // The functions are called in the listener's thread, or within finish().
    struct Parts {
        std::unique_ptr<Sealer> sealer;
        std::function<Result<LauncherProcess>()> start_launcher;
        std::function<Result<LauncherProcess>(int listener)> start_desk; // empty: tools cannot come by the starter
        std::string launcher_file;      // that is to tell where the job is (kit/launcher_file.h); empty: none
        bool ends_children = false;     // what the step has spawned ends with it, and it with `spawn_channel`
        bool on_a_host_of_jobs = false; // as ToolDoor::open() says
        // Hosts tell how their processes end, and finish() waits for those that say when none is left.
        ToldEnds ends = ToldEnds::none;
        UniqueFd spawn_channel; // empty unless this starter was run for PMIx_Spawn, or by `pmixhost debug`
        std::size_t hosts = 0;  // that have to say `launched` before it is told
        std::function<void(const std::string &)> complain;                     // to the user
        std::chrono::milliseconds patience = std::chrono::seconds(10);         // with a stranger
        std::chrono::milliseconds launcher_patience = std::chrono::seconds(2); // with one that does not read
        // With who does not read of ends, all in all; then these are left out.
        std::chrono::milliseconds ends_patience = std::chrono::seconds(1);
        // With one that was told to end its jobs, which has two minutes for each (daemon/launcher_server.h).
        std::chrono::milliseconds end_patience = std::chrono::seconds(150);
    };
    LaunchListener(StarterListener listener, Parts parts);
    ~LaunchListener();
    LaunchListener(const LaunchListener &) = delete;

    // Starts the thread; without one the rest works as well as it can.
    void begin();
    // The step is over. Waits for the launcher, if there is one, as long as the jobs run that it has started; one that
    // was told to end them and does not is killed. Takes no time if nothing has come, and no ends are awaited: these
    // until none has come for `limit`, and 2 ms longer for each host than that, but no more than 20 s. Who has not told
    // of them by then is said.
    std::optional<ExitReport> finish(std::chrono::milliseconds limit);

  private:
    using Clock = std::chrono::steady_clock;
    struct Visitor {
        StarterConnection connection;
        Clock::time_point until; // to say its message
        bool kept = false;       // a sender of this step's: has as long as it likes
    };
    static void *thread_main(void *self) noexcept;
    void listen();
    bool round(int wake_fd, int timeout_ms);
    void accept();
    void drop_the_late(Clock::time_point now);
    std::optional<Clock::time_point> next_deadline() const;
    bool hear(StrangerLimits::Id id, Visitor &visitor);
    void drain(std::chrono::milliseconds limit);
    bool take(const std::string &frame);
    void say_first_runs();
    void take_ends(const StarterMessage &message);
    template <typename Say> void say_on_channel(Say say);
    void pass_on_ends(const std::string &line);
    std::size_t hosts_with_ends() const; // that have not told of all
    bool awaits_ends() const { return hosts_with_ends() > 0; }
    void invite(const std::string &invitation);
    void write_channel(std::string_view frame); // none: of what is unwritten
    void launcher_ended();
    void end_holder();
    void let_tools_come(const std::string &offer);
    void tools_are_there();
    void wait_for_launcher();

    StarterListener listener_;
    Parts parts_;
    UniqueFd wake_read_, wake_write_;
    pthread_t thread_{};
    bool has_thread_ = false, has_ended_holder_ = false;
    std::map<StrangerLimits::Id, Visitor> visitors_; // oldest first
    StrangerLimits strangers_;                       // those of visitors_ that are not kept
    StrangerLimits::Id next_id_ = 1;
    std::size_t kept_ = 0;
    Clock::time_point accept_again_{}; // no descriptor was free
    std::optional<ExitReport> report_;
    std::optional<LauncherProcess> launcher_;
    std::string unwritten_; // to its channel
    bool launcher_failed_ = false;
    std::optional<ToolDoor> tools_;
    std::set<std::string> notes_; // those that were shown
    std::size_t unproved_notes_ = 0;
    std::set<int> noted_; // subjects
    bool told_started_ = false, told_launched_ = false, launch_failed_ = false;
    bool channel_is_cut_ = false, leaves_ends_out_ = false;
    Clock::duration waited_for_reader_{}; // to pass ends on
    Clock::time_point ends_came_{};       // the last ones
    std::set<std::string> launched_hosts_, speaking_hosts_,
        ended_hosts_; // by what they say first; of ends, any and all
};

} // namespace pmixhost::kit
