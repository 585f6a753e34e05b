// See children_ends.h.
#include "server-glue/spawn/children_ends.h"

#include "common/text/printable.h"
#include "common/wire/session_messages.h"
#include "server-glue/events/end_lines.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/rm/user_notes.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <ctime>
#include <pmix_common.h>

namespace pmixhost {

void ChildrenEnds::take_messages(StepMessages &messages) {
    messages.on<wire::ChildEnds>(StepMessages::Peer::session, [this](HostIndex, const auto &ends, const auto &) {
        context_.send_to_session(wire::ChildEndsTaken{ends.id, PMIX_SUCCESS});
        on_ends(ends);
    });
    messages.on<wire::JobEvent>(StepMessages::Peer::launcher,
                                [this](HostIndex, const auto &job, const auto &) { on_job_event(job); });
}

// --- jobs -------------------------------------------------------------------------------------------

// The end of a job that has failed names who failed first, which its own hosts tell. Whoever waits for that job in the
// session hears of it; a job that never had to do with the session is not known there, and nobody else can tell.
void ChildrenEnds::on_job_event(const wire::JobEvent &job) {
    if (job.what != wire::JobEvent::ended)
        return tell_of(job, std::nullopt);
    const Bytes &nspace = job.nspace;
    if (!jobs_.ended(nspace)) // its hosts have told before
        return;
    if (job.exit_code != wire::JobEvent::not_known)
        fate_.fate().on_job_ended(context_.now(), nspace, job.exit_code);
    if (context_.session_is_there() || collectives_.waits_for(nspace))
        context_.send_to_session(wire::NamespaceEnded{nspace});
    if (job.asked == 0 || job.exit_code == 0) {
        first_.forget(nspace);
        tell_of(job, std::nullopt);
        return jobs_.told(nspace);
    }
    first_.take(context_.now(), nspace, [this, job](std::optional<FirstFailure> first) {
        tell_of(job, first);
        jobs_.told(job.nspace);
    });
}

void ChildrenEnds::on_lost_child_ended(const Bytes &nspace, std::optional<int> exit_code) {
    wire::JobEvent job;
    job.nspace = nspace;
    job.what = wire::JobEvent::ended;
    job.exit_code = exit_code.value_or(wire::JobEvent::not_known);
    job.time = static_cast<std::uint64_t>(std::time(nullptr));
    job.asked = jobs_.tells_end(nspace, exit_code) ? 1 : 0;
    context_.log.info("{}, which was spawned here, has ended, say its hosts", printable(nspace));
    on_job_event(job);
}

// As if the other namespace had sent it: to every host of this step.
void ChildrenEnds::tell_of(const wire::JobEvent &job, std::optional<FirstFailure> first) {
    auto events = events_of(job, first);
    if (job.what == wire::JobEvent::ended)
        tell_debuggers(job, events);
    if (job.asked == 0)
        return;
    for (const auto &event : events) {
        if (auto message = cross_job_event(event))
            events_.tell_step(std::move(*message));
        else
            context_.log.warning("{}", message.failure().text);
    }
}

// They would hear of the end in any case (debug/job_end.h), but not always how it came.
void ChildrenEnds::tell_debuggers(const wire::JobEvent &job, const std::vector<HostEvent> &events) {
    const std::vector<Bytes> daemons = jobs_.debuggers_of(job.nspace);
    if (daemons.empty())
        return;
    for (const auto &event : events) {
        auto message = cross_job_event(event);
        if (!message)
            return context_.log.warning("{}", message.failure().text);
        message->nspaces = daemons;
        events_.tell_job(std::move(*message));
    }
}

// --- processes --------------------------------------------------------------------------------------

// A quick job's may come before the answer that names the job.
void ChildrenEnds::on_ends(const wire::ChildEnds &ends) {
    auto failed = std::find_if(ends.bad.begin(), ends.bad.end(), [](const auto &one) { return one.exit_code != 0; });
    bool over = jobs_.has_ended(ends.source) && !first_.waits(ends.source);
    if (failed != ends.bad.end() && !over)
        first_.note(context_.now(), ends.source, ends.time, {failed->rank, failed->exit_code});
    if (ends.logs != 0)
        log(ends);
}

void ChildrenEnds::log(const wire::ChildEnds &ends) {
    for (const auto &what : end_lines(ends.bad, ends.well)) {
        if (lines_left_ == 0)
            return;
        --lines_left_;
        std::string line = fmt::format("{}: {}", printable(ends.source), what);
        context_.log.info("{}", line);
        if (auto *notes = context_.backend.user_notes())
            notes->tell_user({std::move(line)}, [](Result<void>) {});
    }
}

} // namespace pmixhost
