// The server library of a step's daemon: started in its own thread, watched, and looked at when it is stuck.
#pragma once

#include "server-glue/daemon/own_evidence.h"
#include "server-glue/library/library_watch.h"
#include "server-glue/library/tool_visitor.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class LibraryHolder {
  public:
    struct Callbacks {
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
    void start();
    // Ends the library, and the thread.
    void stop();

  private:
    void on_started(Result<std::unique_ptr<PmixLibrary>> library);
    void on_stuck(const std::string &why);

    StepContext &context_;
    const std::string directory_, store_;
    Callbacks callbacks_;
    std::unique_ptr<LibraryThread> thread_;
    std::unique_ptr<PmixLibrary> library_;
    std::optional<LibraryWatch> watch_;
    OwnEvidence evidence_;
};

} // namespace pmixhost
