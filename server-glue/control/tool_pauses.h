// What tools have paused by PMIx_Job_control. A pause has no end of its own, and that of `pmixhost pause` shall have
// none; but of a debugger that has daemons beside a job and goes, nothing may stay stopped
// (contrib/doc/decisions/debug.md). Pure.
#pragma once

#include "server-glue/core/signature.h"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace pmixhost {

class ToolPauses {
  public:
    // More are taken to be the whole job, which may be let go on twice.
    static constexpr std::size_t most_ranks = 4096;
    // Of further jobs, or tools, the first is forgotten.
    static constexpr std::size_t most_jobs = 256;

    // What lets processes go on (none named: everybody), once it has been done: what was paused after it was asked for
    // stays.
    struct Resume {
        std::vector<Process> targets;
        std::uint64_t asked = 0;
    };
    // `caller` asks to have these signals sent to these processes. The last one that stops or lets go on counts. A
    // pause does from now on, since its tool may be gone before the answer comes, and who was not paused after all
    // goes on anyway; what lets go on does when went_on() is told of it, because it may fail.
    std::optional<Resume> note(const Process &caller, bool is_tool, const std::vector<Process> &targets,
                               const std::vector<std::int32_t> &signals);
    void went_on(const Resume &resume);
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
        std::uint64_t asked = 0; // when, where it is the whole
        std::map<Rank, std::uint64_t> ranks;
        bool goes_on(std::uint64_t until); // what was paused until then does; true: nothing is left
    };
    void pause(const Process &tool, const Process &target);
    void go_on(const Process &target, std::uint64_t asked);

    std::deque<Paused> paused_; // the oldest first
    std::uint64_t asked_ = 0;   // counts what is asked for
};

} // namespace pmixhost
