// What tools have paused by PMIx_Job_control. A pause has no end of its own, and that of `pmixhost pause` shall have
// none; but of a debugger that has daemons beside a job and goes, nothing may stay stopped
// (contrib/doc/decisions/debug.md). Pure.
#pragma once

#include "server-glue/core/signature.h"

#include <deque>
#include <set>
#include <vector>

namespace pmixhost {

class ToolPauses {
  public:
    // More are taken to be the whole job, which may be let go on twice.
    static constexpr std::size_t most_ranks = 4096;
    // Of further jobs, or tools, the first is forgotten.
    static constexpr std::size_t most_jobs = 256;

    // `caller` has these signals sent to these processes.
    void note(const Process &caller, bool is_tool, const std::vector<Process> &targets,
              const std::vector<std::int32_t> &signals);
    // Somebody lets go on: these, or, where none is named, everybody.
    void go_on(const std::vector<Process> &targets);
    bool any() const { return !paused_.empty(); }
    // What that tool has paused of that job; nothing of what another one has paused as a whole, and no single process
    // that another one has paused by itself. Forgotten with that.
    std::vector<Process> take(const Process &tool, const Bytes &nspace);

  private:
    struct Paused {
        Process tool;
        Bytes nspace;
        bool whole = false;
        std::set<Rank> ranks;
    };
    void pause(const Process &tool, const Process &target);
    void go_on(const Process &target);

    std::deque<Paused> paused_; // the oldest first
};

} // namespace pmixhost
