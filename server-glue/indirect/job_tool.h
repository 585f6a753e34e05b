// A PMIx tool of the job's server, which does there what a debugger asks of the job's launcher: calls, what it
// notifies, and the events that it listens to. What processes that were spawned for it write, and their input, is
// passed on.
//
// One for a process. All in the loop's thread; calls of libpmix in a thread of their own.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/indirect/side_messages.h"
#include "server-glue/library/library_thread.h"

#include <pmix_common.h>

#include <functional>
#include <set>

namespace pmixhost::indirect {

class JobTool {
  public:
    struct Events {
        std::function<void(Result<void>)> on_connected; // once
        std::function<void(Answer)> on_answer;
        std::function<void(Heard)> on_heard;
        std::function<void(Output)> on_output;
        std::function<void()> on_lost; // the connection: the job has ended
    };
    // Fails (limit).
    static Result<std::unique_ptr<JobTool>> create(EventLoop &loop, Events events);
    ~JobTool();
    JobTool(const JobTool &) = delete;

    // To the server whose URI this is.
    void connect(std::string uri);
    // What comes before it is connected waits; it is answered in any case.
    void call(Call call);
    void notify(Notify event);
    void listen(const Listen &codes);

  private:
    friend struct ToolCalled;
    JobTool(EventLoop &loop, Events events) : loop_(loop), events_(std::move(events)) {}
    void connected(pmix_status_t status);
    void run(const char *name, std::function<void()> call);

    EventLoop &loop_;
    Events events_;
    std::unique_ptr<LibraryThread> calls_;
    pmix_proc_t self_{}; // in the calls' thread
    bool connected_ = false;
    std::vector<std::pair<const char *, std::function<void()>>> waiting_;
    std::set<std::int32_t> listens_; // codes
    bool listens_to_all_ = false;
};

} // namespace pmixhost::indirect
