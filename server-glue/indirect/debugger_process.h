// The process of pmixhost-indirect that the debugger has for its server. It waits for the debugger's release, lets the
// launcher (srun) go on, has the other process do what the debugger asks of the job, and tells the debugger what
// becomes of it. When the debugger is gone the launcher is ended, unless it was asked to go on then (PMIX_NOHUP); when
// the launcher has ended so does this.
//
// Of a launcher without a program (common/start/starter_command.h) the job does nothing: it has the server by which the
// debugger spawns. It waits for no release, nothing is told of it, and it ends with the debugger in any case.
//
// All in the loop's thread.
#pragma once

#include "common/base/line_writer.h"
#include "common/transport/link.h"
#include "server-glue/events/host_events.h"
#include "server-glue/indirect/debugger_server.h"
#include "server-glue/indirect/held_job.h"
#include "server-glue/indirect/input_relay.h"
#include "server-glue/indirect/job_life.h"
#include "server-glue/indirect/keeper.h"
#include "server-glue/indirect/launcher_control.h"

#include <map>
#include <unistd.h>

namespace pmixhost::indirect {

class DebuggerProcess final : private LauncherPort {
  public:
    struct Start {
        EventLoop &loop;
        UniqueFd launcher;      // common/start/indirect_words.h
        UniqueFd launcher_end;  // a pidfd of it
        UniqueFd input;         // of the launcher; may be empty
        UniqueFd keepalive;     // closes when the debugger ends; may be empty
        UniqueFd tool;          // the other process: side_messages.h
        std::string directory;  // private: for libpmix, and the file that tells where the job's server is
        std::string nspace;     // of this process, by the debugger
        std::uint32_t rank = 0; // likewise
        std::string debugger_uri;
        bool serves = false; // the launcher has no program
        Keeper &keeper;
    };
    DebuggerProcess(Start start, std::function<void()> on_end);
    // Fails (limit, system).
    Result<void> open();
    // Behind the loop's end: waits a moment for whoever reads the lines for the user.
    void flush_lines() { lines_.flush(); }

  private:
    // LauncherPort
    Result<void> may_be_obeyed() override;
    bool signal_launcher(int signal) override;
    void refuse_job(const std::string &why) override;
    void kill_launcher_later() override;

    void on_released(Result<LaunchWishes> wishes);
    void begin_service(); // once the debugger is there; where it serves
    void let_go(const LaunchWishes &wishes);
    void on_notify(const Notify &event);
    void refuse(const std::string &why);
    void watch_debugger();
    void told_end();
    void on_call(Call call, DebuggerServer::Reply reply);
    void note_release(const Notify &event);
    void note_ready(const Heard &event);
    DebuggerServer::Reply noting_who_goes_on(const Call &call, DebuggerServer::Reply reply);
    void let_job_go_on(); // the debugger is gone
    void tell_keeper();   // whenever somebody may have come to stand, or has gone on
    void control(const std::vector<Process> &whom, const char *what);
    void on_input(Bytes bytes, bool last, const DebuggerServer::Reply &reply);
    void on_tool_message(std::uint8_t type, const Bytes &payload);
    void on_tool_gone();
    void not_reached(std::string_view why);
    bool end_launcher(); // true: it was there
    void read_launcher();
    void launcher_says(std::string_view line);
    void launcher_over();
    void debugger_gone();
    void end_for_debugger();
    void tell(const HostEvent &event);
    void tell_allocation();
    void fail_calls(pmix_status_t status);
    void note_end(const Heard &event);
    void note_daemons_end(const Heard &event);
    template <typename Message> void to_tool(const Message &message) {
        if (tool_)
            tool_->send(Message::type, share(wire::encode(message)));
    }

    Start start_;
    std::function<void()> on_end_;
    std::unique_ptr<DebuggerServer> server_;
    std::optional<InputRelay> input_;
    std::unique_ptr<Link> tool_;
    EventLoop::Handle launcher_watch_, keepalive_watch_, patience_, look_, kill_, signals_[3];
    std::string said_;   // by the launcher, not yet a line
    std::string nspace_; // of the job
    std::uint32_t processes_ = 0;
    std::map<std::uint64_t, DebuggerServer::Reply> calls_;
    std::uint64_t next_call_ = 1;
    HeldJob held_;
    LauncherControl control_{*this};
    // For the user, where it takes as long as its reader does.
    LineWriter lines_{STDERR_FILENO,
                      [](std::uint64_t lost) { return fmt::format("pmixhost: {} lines were left out\n", lost); }};
    JobLife life_{{[this](const HostEvent &event) { tell(event); },
                   [this](const std::string &line) { lines_.write(fmt::format("pmixhost: {}\n", line)); }}};
    bool is_ours_ = false; // the debugger, as the kernel has said
    // goes_on_: without the debugger, which is gone; may_go_on_: without this process, as the keeper knows.
    bool released_ = false, refused_ = false, goes_on_ = false, reached_ = false, connected_ = false, told_end_ = false,
         works_ = false, over_ = false, killed_ = false, may_go_on_ = false;
    int pausing_ = 0;                    // pauses that are not answered
    std::optional<Allocated> allocated_; // by the launcher, and not told yet
    std::optional<int> exit_code_;       // the launcher's
};

} // namespace pmixhost::indirect
