// The stops of debuggers in a job: tells tools and the spawner when all who were asked for have stopped, and the user
// where nobody else may hear it; and lets go on whom nobody asked for, those at their first instruction, those whom
// PMIx_Job_control has paused, and all when nobody else will any more (stop_board.h; contrib/doc/decisions/debug.md).
#pragma once

#include "server-glue/debug/debugger_door.h"
#include "server-glue/debug/exec_stop_watch.h"
#include "server-glue/debug/stop_ask.h"
#include "server-glue/debug/stop_board.h"
#include "server-glue/events/step_events.h"

namespace pmixhost {

class StepDebug final : public StepService, private StopPort {
  public:
    StepDebug(StepContext &context, StepEvents &events);

    // A process of this host is about to execute its program, and stops then (exec_stop_watch.h); `stands` is called
    // once, with whether it has.
    void await_exec_stop(Rank rank, UniqueFd armed, std::function<void(bool)> stands);

    // Once, before tools can find this daemon: debuggers may say whom they take hold of (debugger_door.h). Without
    // that door, for which there may be no room, all else is as it is.
    void open_door();

    // Whoever has had processes of that other job stop has gone: they go on, from wherever they stand or will stand.
    void leave_alone(const std::string &nspace);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    void on_host_gone(HostIndex host, bool) override { board_.on_host_gone(host); }
    void on_signalling(Rank rank, int signal) override;
    void on_signalled(Rank rank, int signal) override;
    bool wants_event(pmix_status_t code, const Bytes &source) const override;
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;

  private:
    // StopPort
    void all_stopped(StopPlace place, std::uint32_t round, const Bytes &breakpoint, const RankRanges &ranks) override;

    void tell_user(StopPlace place, const RankRanges &ranks);
    void on_ready(const Process &source, const InfoList &info);
    void stopped_on_exec(Rank rank);
    void go_on(Rank rank);
    void end_pause(Rank rank);
    bool is_paused(pid_t process) const; // by a tool (PMIX_JOB_CTRL_PAUSE), and not at its first instruction
    void stopped(const StopAsk &ask);
    void release(Rank rank);

    StepContext &context_;
    StepEvents &events_;
    const DebugStops &stops_;
    ExecStopWatch exec_stops_;
    StopBoard board_;
    // Of this host: who goes on with SIGCONT, from its first instruction or a pause; and who of these from the former.
    std::set<Rank> standing_, at_exec_;
    bool told_user_ = false;
    std::unique_ptr<DebuggerDoor> door_;
};

} // namespace pmixhost
