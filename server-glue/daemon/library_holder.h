// The server library of a step's daemon: started in its own thread, watched, and looked at when it is stuck.
//
// It is started at once, or late (daemon.library): where no program of the step looks as if it would use PMIx
// (common/process/program_look.h), the tasks are told at once what they would need, and the library is started when
// somebody connects to where it will listen, when tasks have run for a while, or when another host
// needs it. Nobody is let in before it knows the tasks that were let go.
#pragma once

#include "server-glue/evidence/own_evidence.h"
#include "server-glue/guard/tool_visitor.h"
#include "server-glue/library/library_watch.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class ListenerTakeover;
struct ExpectedServer;

class LibraryHolder {
  public:
    struct Callbacks {
        // It is known where tools and clients connect (StepContext::library_address).
        std::function<void()> on_address;
        // The library is started late. `environment` gives what a task needs meanwhile.
        std::function<void(LocalTasks::EarlyEnvironment environment)> on_late;
        std::function<void()> on_up;
        // It could not be started, or does not answer any more.
        std::function<void(Error)> on_failure;
        // It does not answer any more. True: the daemon leaves already, and does without the library.
        std::function<bool()> on_stuck;
        ToolMayCome tool_may_come;
        ToolCame tool_came;
        // May a tool say that this is its name, although it begins like a job's?
        std::function<bool(const std::string &name)> tool_may_be_called;
    };
    // `directory` is for the library's files, `store` for its segments, if that is not empty. `evidence` says where to
    // write what a stuck library was doing.
    LibraryHolder(StepContext &context, std::unique_ptr<LibraryThread> thread, std::string directory, std::string store,
                  EvidencePlace evidence, Callbacks callbacks);
    ~LibraryHolder();

    LibraryThread &thread() { return *thread_; }
    // Starts the library, perhaps later where tasks come for their environment by themselves.
    void start(bool tasks_come);
    // Starts it now, if it is late.
    void need();
    // A task has been let go before the library was started.
    void on_task_let_go();
    // The library knows the processes of this host that have been let go.
    void on_registered();
    // If the library is being started, waits for that for a second. False: it goes on.
    bool settle();
    // Ends the library, and the thread.
    void stop();

  private:
    struct Late;
    bool may_be_late() const;
    void start_library(std::string_view why);
    static Late how_late(ExpectedServer server);
    void be_late(Late late);
    void on_started();
    bool admit();
    void on_stuck(const std::string &why);

    StepContext &context_;
    const std::string directory_, store_;
    Callbacks callbacks_;
    std::unique_ptr<LibraryThread> thread_;
    bool is_late_ = false, is_starting_ = false, has_let_go_ = false;
    struct Started;
    std::shared_ptr<Started> started_;            // what the thread has started, until on_started() takes it
    std::unique_ptr<ListenerTakeover> listening_; // while it is late
    EventLoop::Handle knock_, lateness_;
    std::unique_ptr<PmixLibrary> library_;
    std::optional<LibraryWatch> watch_;
    OwnEvidence evidence_;
};

} // namespace pmixhost
