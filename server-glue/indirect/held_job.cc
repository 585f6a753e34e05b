// See held_job.h.
#include "server-glue/indirect/held_job.h"

#include <csignal>
#include <utility>

namespace pmixhost::indirect {

static const Process the_debugger{"debugger", 0, false}; // there is but one

void HeldJob::released(const std::vector<Process> &processes, const std::string &job) {
    standing_.released(processes, job);
    pauses_.go_on(processes);
}

void HeldJob::signalled(std::vector<Process> processes, const std::vector<std::int32_t> &signals,
                        const std::string &job) {
    if (processes.empty())
        processes.push_back({job, 0, true});
    for (std::int32_t signal : signals) {
        if (signal == SIGCONT) {
            standing_.resumed(processes, job);
            pauses_.go_on(processes);
        } else if (signal == SIGSTOP) {
            (void)pauses_.note(the_debugger, true, processes, {SIGSTOP});
        }
    }
    for (const Process &each : processes)
        paused_jobs_.insert(each.nspace);
}

void HeldJob::daemons_run(const Bytes &nspace, bool go_on) {
    standing_.hand_over();
    had_daemons_ = true;
    if (!ended_.contains(nspace))
        daemons_.emplace(nspace, go_on);
}

void HeldJob::ended(const Bytes &nspace) {
    daemons_.erase(nspace);
    ended_.insert(nspace);
}

std::vector<std::vector<Process>> HeldJob::take_paused() {
    std::vector<std::vector<Process>> out;
    for (const Bytes &job : std::exchange(paused_jobs_, {})) {
        if (auto paused = pauses_.take(the_debugger, job); !paused.empty())
            out.push_back(std::move(paused));
    }
    return out;
}

std::vector<Bytes> HeldJob::take_daemons() {
    std::vector<Bytes> out;
    std::erase_if(daemons_, [&out](const auto &each) {
        if (!each.second)
            out.push_back(each.first);
        return !each.second;
    });
    return out;
}

} // namespace pmixhost::indirect
