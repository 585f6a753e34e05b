// The server of one step on one host: makes the services (step_services.h) and what they share (step_context.h), and
// brings them libpmix' upcalls, the RM's news, the other daemons' messages and the time. All in the event loop's
// thread; whoever waits for something here has a deadline.
#pragma once

#include "common/loop/deadline_timer.h"
#include "server-glue/daemon/library_holder.h"
#include "server-glue/daemon/step_ending.h"
#include "server-glue/daemon/step_peers.h"
#include "server-glue/daemon/store_directory.h"
#include "server-glue/library/upcalls.h"
#include "server-glue/spawn/launch_outcome.h"

namespace pmixhost {

class StepServer final : private BackendListener {
  public:
    struct Start {
        EventLoop &loop;
        Log &log;
        const Settings &settings;
        RmBackend &backend;
        StatusPage *page;       // may be null
        TaskTable *table;       // may be null
        UniqueFd door;          // may be empty, when the backend starts the tasks
        bool live_on;           // the job goes on when it loses processes or hosts
        bool ends_on_bad_exit;  // the RM ends it when a process ends by a signal or with another code than 0
        std::string directory;  // to make; empty: a fresh name in settings.directory_base
        EvidencePlace evidence; // should the library hang
    };
    // Begins everything. `on_end` is called once, when the daemon has nothing more to do; a failure has its text,
    // which is in the status page already.
    static Result<std::unique_ptr<StepServer>> create(Start start, std::function<void(Result<void>)> on_end);
    ~StepServer();
    void on_supervisor_gone() { ending_.on_supervisor_gone(); }
    // The end of the process is near: takes back what others can see (directory, RM's sockets).
    void leave();

  private:
    StepServer(Start start, DebugStops stops, std::unique_ptr<LibraryThread> library_thread, PrivateDirectory directory,
               std::function<void(Result<void>)> on_end);
    void begin();
    LocalTasks::Callbacks task_callbacks();

    // BackendListener
    void on_contact(std::string message) override { peers_.on_contact(message); }
    void on_rm_gone(std::string why) override;
    void want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) override;
    void on_task_started(Rank rank, pid_t pid) override { tasks_.started(rank, pid); }
    void on_task_ended(Rank rank, int wait_status) override { tasks_.ended(rank, wait_status); }
    bool wants_streams() const override { return StepIof::captures(context_); }
    void take_streams(Rank rank, TaskDescriptors streams) override {
        services_.iof.take_streams(rank, std::move(streams));
    }
    void on_daemon_left(HostIndex host) override { context_.mesh->left(host); }
    void on_exec_report(Rank rank, ExecWords words) override { tasks_.exec_report(rank, std::move(words)); }

    StepContext context_;
    StatusPage *page_;
    UniqueFd door_;
    PrivateDirectory directory_;
    std::optional<StoreDirectory> store_; // of the library
    LibraryHolder library_;               // early: what follows may hold answers
    Upcalls upcalls_;
    StepPeers peers_;
    LaunchOutcome launch_outcome_;
    LocalTasks tasks_;
    StepServices services_;
    StepEnding ending_;
    EventLoop::Handle idle_; // until the first task should have come
    DeadlineTimer timer_;
    EventLoop::Handle before_waiting_;
};

} // namespace pmixhost
