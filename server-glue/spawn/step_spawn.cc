// See step_spawn.h.
#include "server-glue/spawn/step_spawn.h"

#include "common/text/printable.h"
#include "common/wire/session_messages.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/inner_client.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <pmix.h>

namespace pmixhost {

// For the answer to where the job is that shall be debugged, unless the caller says how long it waits.
static Duration target_patience(const wire::SpawnRequest &request) {
    for (const auto &directive : request.directives) {
        bool is_time = directive.key == PMIX_TIMEOUT || directive.key == PMIX_SPAWN_TIMEOUT;
        if (is_time && directive.number > 0 && directive.number < 86'400)
            return std::chrono::seconds(directive.number);
    }
    return std::chrono::seconds(30);
}

// Jobs at once: their commands are of the gate's control group, whose number of processes all users share.
static constexpr std::size_t most_of_lobby = 8;
// For what a job has written to come when it has ended: as long as its daemons hold it (daemon/step_ending.h).
static constexpr Duration output_patience = std::chrono::seconds(20), look_again = std::chrono::milliseconds(20);

static std::uint32_t size_of(const wire::NamespaceInfo &job) {
    std::uint32_t size = 0;
    for (const auto &host : job.hosts) {
        for (const auto &run : host.ranks)
            size += run.count;
    }
    return size;
}

// Of the job, or of one of its programs, as the planner takes it (WishReader).
static bool has_flag(const wire::SpawnRequest &request, std::string_view key) {
    auto says = [key](const std::vector<wire::SpawnDirective> &directives) {
        return std::any_of(directives.begin(), directives.end(),
                           [key](const auto &directive) { return directive.key == key && directive.number != 0; });
    };
    return says(request.directives) ||
           std::any_of(request.apps.begin(), request.apps.end(), [&](const auto &app) { return says(app.directives); });
}

static bool tells_end(const wire::SpawnRequest &request) {
    return has_flag(request, PMIX_NOTIFY_COMPLETION) || has_flag(request, PMIX_NOTIFY_JOB_EVENTS);
}

static bool asks_for_ends(const wire::SpawnRequest &request) {
    static constexpr std::string_view keys[] = {PMIX_NOTIFY_COMPLETION, PMIX_NOTIFY_JOB_EVENTS,
                                                PMIX_LOG_PROC_TERMINATION, PMIX_LOG_PROC_ABNORMAL_TERMINATION};
    return std::any_of(std::begin(keys), std::end(keys), [&](std::string_view key) { return has_flag(request, key); });
}

StepSpawn::StepSpawn(StepContext &context, Children &children, ChildrenIo &io, CrossJobs &jobs, StepFate &fate,
                     StepEvents &events, const StepCollectives &collectives, SessionLink &session,
                     ToolChildren &of_tools, ChildrenEnds &ends, SpawnPlaces &places)
    : StepService(context.services), context_(context), children_(children), io_(io), jobs_(jobs), fate_(fate),
      events_(events), collectives_(collectives), session_(session), of_tools_(of_tools), ends_(ends), places_(places),
      spawn_([this](std::uint8_t type, SharedBytes payload) {
          return context_.send(context_.launcher_peer(), type, std::move(payload));
      }) {}

void StepSpawn::take_asks(UpcallHandlers &handlers) {
    handlers.on<SpawnAsk>([this](SpawnAsk ask) { spawn(std::move(ask)); });
}

void StepSpawn::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::SpawnReply>(Peer::launcher,
                                  [this](HostIndex, auto &&message, const auto &) { on_spawned(std::move(message)); });
    messages.on<wire::JobEvent>(Peer::launcher,
                                [this](HostIndex, const auto &message, const auto &) { on_job_event(message); });
}

// Of the rank's first process, which in a script is not the one that calls. Empty: of a tool, or of one that has ended.
static std::string directory_of(const Process &caller, const StepContext &context) {
    bool is_task = caller.nspace == context.step.nspace && !caller.wildcard;
    pid_t pid = is_task && context.tasks ? context.tasks->watch().pid_of(caller.rank) : 0;
    std::error_code failed;
    std::string path =
        pid > 0 ? std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", pid), failed).string() : std::string();
    return path.ends_with(" (deleted)") ? std::string() : path;
}

void StepSpawn::spawn(SpawnAsk ask) {
    if (ask.refused != PMIX_SUCCESS) {
        places_.tell_refusal(ask.why); // no launcher will
        return ask.reply(ask.refused, {});
    }
    if (!context_.backend.spawned_step())
        return ask.reply(PMIX_ERR_NOT_SUPPORTED, {});
    ask.request.nspace = ask.caller.nspace;
    ask.request.rank = ask.caller.rank;
    ask.request.lives_on = context_.live_on ? 1 : 0;
    if (std::string base = directory_of(ask.caller, context_); base.starts_with('/'))
        place_directories(ask.request, base);
    const std::size_t jobs = has_two_jobs(ask.request) ? 2 : 1,
                      others = children_.running.size() - learnt_ + starting_.count();
    if (context_.step.is_lobby && others + jobs > most_of_lobby) {
        places_.note_refusal(fmt::format("{} jobs of this tool run or are being started, and a tool has {} at most; "
                                         "next: wait for an end",
                                         others, most_of_lobby));
        return ask.reply(PMIX_ERR_OUT_OF_RESOURCE, {});
    }
    auto starting = starting_.add(jobs);
    auto reply = std::make_shared<SpawnAnswer>(std::move(ask.reply));
    places_.find(ask.caller, std::move(ask.request),
                 [this, caller = ask.caller, reply, starting](pmix_status_t status, SpawnPlaces::Stay stay,
                                                              wire::SpawnRequest request) {
                     if (status != PMIX_SUCCESS)
                         return (*reply)(status, {});
                     // The place is kept until the answer, and the jobs count.
                     spawn_in(caller, std::move(request), starting,
                              {[reply, starting, stay = std::move(stay)](
                                   pmix_status_t result, const std::string &nspace) { (*reply)(result, nspace); },
                               PMIX_ERROR, std::string()});
                 });
}

void StepSpawn::spawn_in(const Process &caller, wire::SpawnRequest request, const Starting &starting,
                         SpawnAnswer reply) {
    // Who names a personality is an MPI library and will connect with the children: the connection to
    // the session is made while they start.
    if (std::any_of(request.directives.begin(), request.directives.end(),
                    [](const auto &directive) { return directive.key == PMIX_PERSONALITY; }))
        context_.mesh->invite(context_.session_peer());
    // The children's hosts tell this one of ends through the session.
    if (asks_for_ends(request))
        session_.come();
    if (of_tools_.connection_of(caller) && !library_marks_forwarded_output_twice())
        leave_formats_to_library(request);
    auto cospawned = take_cospawned(request);
    if (auto daemons = take_daemons(request)) {
        if (cospawned) {
            context_.log.warning("a PMIx_Spawn is refused: it has both PMIX_DEBUGGER_DAEMONS and PMIX_COSPAWN_APP; "
                                 "next: two requests");
            return reply(PMIX_ERR_NOT_SUPPORTED, {});
        }
        if (!context_.may(caller, policy::Action::debug)) // before the job has started for nothing
            return reply(PMIX_ERR_NO_PERMISSIONS, {});
        return spawn_both(caller, std::move(request), {std::move(*daemons), true, starting}, std::move(reply));
    }
    if (cospawned)
        return spawn_both(caller, std::move(request), {std::move(*cospawned), false, starting}, std::move(reply));
    spawn_one(caller, std::move(request), std::move(reply));
}

void StepSpawn::spawn_one(const Process &caller, wire::SpawnRequest request, SpawnAnswer reply) {
    reply = with_forwarding(caller, request, std::move(reply));
    start(caller, std::move(request), std::move(reply));
}

void StepSpawn::start(const Process &caller, wire::SpawnRequest request, SpawnAnswer reply) {
    if (SpawnPlaces::Stay stay = places_.stay()) {
        auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
        reply = {[this, stay = std::move(stay), waiting](pmix_status_t status, const std::string &nspace) {
                     (*waiting)(status, nspace);
                     if (status == PMIX_SUCCESS && !children_.ended.contains(nspace))
                         stays_[nspace] = stay;
                     else if (status == PMIX_SUCCESS)
                         let_go(nspace, stay);
                 },
                 PMIX_ERROR, std::string()};
    }
    if (tells_end(request)) {
        auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
        reply = {[this, silent = has_flag(request, PMIX_EVENT_SILENT_TERMINATION), waiting](pmix_status_t status,
                                                                                            const std::string &nspace) {
                     if (status == PMIX_SUCCESS && !children_.ended.contains(nspace))
                         told_ends_[nspace] = silent;
                     (*waiting)(status, nspace);
                 },
                 PMIX_ERROR, std::string()};
    }
    // The answer of a quick job may come behind its end.
    auto target = debug_target_of(request);
    const bool goes_on = says_nohup(request), stands = !target && has_stops(request);
    const auto is_here = of_tools_.connection_of(caller);
    // Of one that shall go on, but stands first, nobody would let go who stands.
    const auto lasts = is_here && (!goes_on || stands) ? SpawnService::Lasts::with_us : SpawnService::Lasts::without_us;
    if (is_here && (!goes_on || stands || target)) {
        ToolChildren::Child child{caller, is_here, target ? target->nspace : Bytes()};
        child.goes_on = goes_on && !target;
        const bool outlive = goes_on && target;
        auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
        reply = {[this, outlive, child = std::move(child), waiting](pmix_status_t status, const std::string &nspace) {
                     ToolChildren::Child running = child;
                     running.has_ended = children_.ended.contains(nspace);
                     if (status == PMIX_SUCCESS && outlive)
                         of_tools_.outlived_by(nspace, std::move(running));
                     else if (status == PMIX_SUCCESS && (!running.has_ended || !running.debugged.empty()))
                         of_tools_.runs(nspace, std::move(running));
                     (*waiting)(status, nspace);
                 },
                 PMIX_ERROR, std::string()};
    }
    if (!target) {
        places_.note_sent();
        return spawn_.spawn(std::move(request), std::move(reply), lasts);
    }
    if (!context_.may(caller, policy::Action::debug))
        return reply(PMIX_ERR_NO_PERMISSIONS, {});
    auto held = std::make_shared<std::pair<wire::SpawnRequest, SpawnAnswer>>(std::move(request), std::move(reply));
    find_target(*target, held->first, [this, held, lasts, since = context_.now()](pmix_status_t status, auto targets) {
        auto &[waiting, answer] = *held;
        take_from_start_limit(waiting, context_.now() - since);
        if (status == PMIX_SUCCESS && targets.empty())
            status = PMIX_ERR_NOT_FOUND;
        if (status != PMIX_SUCCESS || context_.ending)
            return answer(status != PMIX_SUCCESS ? status : PMIX_ERR_JOB_CANCELED, {});
        waiting.targets = std::move(targets);
        SpawnAnswer noting = {
            [this, held, of = debug_target_of(waiting)->nspace](pmix_status_t result, const std::string &nspace) {
                if (result == PMIX_SUCCESS && !children_.ended.contains(nspace))
                    debuggers_.emplace(of, nspace);
                held->second(result, nspace);
            },
            PMIX_ERROR, std::string()};
        places_.note_sent();
        spawn_.spawn(std::move(waiting), std::move(noting), lasts);
    });
}

// Where the processes are that shall be debugged.
void StepSpawn::find_target(const Process &target, const wire::SpawnRequest &request,
                            std::function<void(pmix_status_t, std::vector<wire::TargetHost>)> then) {
    jobs_.look_for(target.nspace, context_.now() + target_patience(request),
                   [this, target, then = std::move(then)](pmix_status_t status) {
                       const StepInfo *job =
                           target.nspace == context_.step.nspace ? &context_.step : jobs_.jobs().find(target.nspace);
                       if (status != PMIX_SUCCESS || !job)
                           return then(status != PMIX_SUCCESS ? status : PMIX_ERR_NOT_FOUND, {});
                       then(PMIX_SUCCESS, target_hosts(*job, target));
                   });
}

// Two jobs, one after the other: daemons can only be placed beside processes that are. Both, or none.
void StepSpawn::spawn_both(const Process &caller, wire::SpawnRequest request, Second second, SpawnAnswer reply) {
    reply = with_forwarding(caller, request, std::move(reply));
    auto held = std::make_shared<std::pair<Second, SpawnAnswer>>(std::move(second), std::move(reply));
    auto started = [this, caller, held](pmix_status_t status, const std::string &nspace) {
        if (status != PMIX_SUCCESS)
            return held->second(status, {});
        held->first.starting->one_less(); // it runs
        if (held->first.debugs)
            set_debug_target(held->first.request, nspace);
        spawn_one(caller, std::move(held->first.request),
                  {[this, held, nspace](pmix_status_t result, const std::string &) {
                       if (result == PMIX_SUCCESS)
                           return held->second(PMIX_SUCCESS, nspace);
                       context_.log.info("the {} of {} does not start: it is ended",
                                         held->first.debugs ? "debugger" : "other job", nspace);
                       context_.send(context_.launcher_peer(), wire::EndChild{nspace});
                       held->second(result, {});
                   },
                   PMIX_ERROR, std::string()});
    };
    start(caller, std::move(request), {std::move(started), PMIX_ERROR, std::string()});
}

// Whoever waits for the answer hears it before anything is delivered: libpmix notes then who gets it.
SpawnAnswer StepSpawn::with_forwarding(const Process &caller, const wire::SpawnRequest &request, SpawnAnswer reply) {
    std::uint8_t channels = forwarded_channels(request.directives);
    auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
    if (channels == 0)
        return {[this, waiting](pmix_status_t status, const std::string &nspace) {
                    if (status == PMIX_SUCCESS && !children_.ended.contains(nspace))
                        io_.runs_unforwarded(nspace);
                    (*waiting)(status, nspace);
                },
                PMIX_ERROR, std::string()};
    io_.begins();
    return {[this, caller, channels, waiting](pmix_status_t status, const std::string &nspace) {
                if (status == PMIX_SUCCESS)
                    io_.runs(nspace, caller, channels); // it may pull as soon as it has the answer
                if (children_.ended.contains(nspace))
                    io_.ended(nspace);
                (*waiting)(status, nspace);
                io_.answered();
            },
            PMIX_ERROR, std::string()};
}

// The children's job information goes to their parent with the answer (libpmix takes it along, if it knows
// the namespace by then). Not where the children would not know the parent's alike: Open MPI 5 asks at the connect
// who of the other job is local, and if the sides differ its collectives do, with wrong results. There the namespace
// is known right behind the answer, before the parent can ask for it.
void StepSpawn::on_spawned(wire::SpawnReply message) {
    if (message.status != 0) {
        if (context_.step.is_lobby) // else the launcher's terminal has it
            places_.note_refusal(message.reason);
        return spawn_.on_reply(std::move(message));
    }
    if (!children_.ended.contains(message.nspace)) // a quick job's end may come first
        children_.running.insert(message.nspace);
    if (!context_.calls_steps())
        session_.come(); // as the children do
    wire::NamespaceInfo info = std::exchange(message.info, {});
    if (std::uint32_t size = context_.step.is_lobby ? size_of(info) : 0)
        io_.has_size(message.nspace, size);
    if (info.nspace != message.nspace)
        return spawn_.on_reply(std::move(message));
    if (!InnerClient::possible()) {
        spawn_.on_reply(std::move(message));
        return jobs_.learn_child(info, [] {});
    }
    ++learnt_;
    jobs_.learn_child(info, [this, message = std::move(message)]() mutable {
        --learnt_;
        spawn_.on_reply(std::move(message));
    });
}

// The end of a job that has failed names who failed first, which its own hosts tell.
void StepSpawn::on_job_event(const wire::JobEvent &job) {
    if (job.what != wire::JobEvent::ended)
        return tell_of(job, std::nullopt);
    if (children_.ended.contains(job.nspace)) // its hosts have told before
        return;
    SpawnPlaces::Stay stay = on_child_ended(job);
    if (job.asked == 0 || job.exit_code == 0) {
        ends_.forget(job.nspace);
        tell_of(job, std::nullopt);
        return let_go(job.nspace, std::move(stay));
    }
    ends_.take_first(job.nspace, [this, job, stay = std::move(stay)](std::optional<FirstFailure> first) {
        tell_of(job, first);
        let_go(job.nspace, stay);
    });
}

void StepSpawn::on_lost_child_ended(const Bytes &nspace, std::optional<int> exit_code) {
    wire::JobEvent job;
    job.nspace = nspace;
    job.what = wire::JobEvent::ended;
    job.exit_code = exit_code.value_or(wire::JobEvent::not_known);
    job.time = static_cast<std::uint64_t>(std::time(nullptr));
    auto told = told_ends_.find(nspace);
    job.asked = told != told_ends_.end() && !(told->second && exit_code == 0) ? 1 : 0;
    context_.log.info("{}, which was spawned here, has ended, say its hosts", printable(nspace));
    on_job_event(job);
}

bool StepSpawn::has_lasting_daemons(const Bytes &nspace) const {
    auto [first, last] = debuggers_.equal_range(nspace);
    return std::any_of(first, last, [this](const auto &entry) { return !of_tools_.has(entry.second); });
}

// As if the other namespace had sent it: to every host of this step.
void StepSpawn::tell_of(const wire::JobEvent &job, std::optional<FirstFailure> first) {
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
void StepSpawn::tell_debuggers(const wire::JobEvent &job, const std::vector<HostEvent> &events) {
    std::erase_if(debuggers_, [&](const auto &entry) { return entry.second == job.nspace; });
    auto [first, last] = debuggers_.equal_range(job.nspace);
    std::vector<Bytes> daemons;
    for (auto at = first; at != last; ++at)
        daemons.push_back(at->second);
    debuggers_.erase(first, last);
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

// Whoever waits for that job in the session hears of it. A job that never had to do with the session
// is not known there, and nobody else can tell.
SpawnPlaces::Stay StepSpawn::on_child_ended(const wire::JobEvent &job) {
    const Bytes &nspace = job.nspace;
    of_tools_.ended(nspace);
    io_.ended(nspace);
    auto stay = stays_.extract(nspace);
    told_ends_.erase(nspace);
    if (job.exit_code != wire::JobEvent::not_known)
        fate_.fate().on_job_ended(context_.now(), nspace, job.exit_code);
    children_.ended.insert(nspace);
    children_.running.erase(nspace);
    if (context_.session_is_there() || collectives_.waits_for(nspace))
        context_.send_to_session(wire::NamespaceEnded{nspace});
    return stay ? std::move(stay.mapped()) : nullptr;
}

// The output that is forwarded comes through the session of the allocation, which ends with it.
void StepSpawn::let_go(const Bytes &nspace, SpawnPlaces::Stay stay) {
    if (!stay || io_.is_drained(nspace))
        return;
    leaving_[nspace] = {std::move(stay), context_.now() + output_patience};
    next_look_ = context_.now() + look_again;
}

void StepSpawn::on_time(TimePoint now) {
    if (leaving_.empty() || now < next_look_)
        return;
    next_look_ = now + look_again;
    std::erase_if(leaving_,
                  [&](const auto &entry) { return now >= entry.second.until || io_.is_drained(entry.first); });
}

void StepSpawn::on_launcher_gone() {
    spawn_.on_launcher_gone();
    stays_.clear();
    leaving_.clear();
}

void StepSpawn::on_leaving(bool badly) {
    ends_.finish();
    spawn_.leave();
    if (!spawn_.used() || !context_.mesh->connected(context_.launcher_peer()))
        return;
    wire::StepOver over;
    over.badly = badly;
    context_.send(context_.launcher_peer(), over);
}

} // namespace pmixhost
