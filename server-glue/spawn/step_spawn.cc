// See step_spawn.h.
#include "server-glue/spawn/step_spawn.h"

#include "server-glue/library/inner_client.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
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

// Whether whoever waits for the answer is still there: libpmix does not say when a tool goes.
static constexpr Duration tools_look = std::chrono::seconds(1);

// Jobs at once: their commands are of the gate's control group, whose number of processes all users share.
static constexpr std::size_t most_of_lobby = 8;

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

static SpawnedJob::TellsEnd tells_end(const wire::SpawnRequest &request) {
    if (!has_flag(request, PMIX_NOTIFY_COMPLETION) && !has_flag(request, PMIX_NOTIFY_JOB_EVENTS))
        return SpawnedJob::TellsEnd::no;
    return has_flag(request, PMIX_EVENT_SILENT_TERMINATION) ? SpawnedJob::TellsEnd::if_bad
                                                            : SpawnedJob::TellsEnd::always;
}

static bool asks_for_ends(const wire::SpawnRequest &request) {
    static constexpr std::string_view keys[] = {PMIX_NOTIFY_COMPLETION, PMIX_NOTIFY_JOB_EVENTS,
                                                PMIX_LOG_PROC_TERMINATION, PMIX_LOG_PROC_ABNORMAL_TERMINATION};
    return std::any_of(std::begin(keys), std::end(keys), [&](std::string_view key) { return has_flag(request, key); });
}

// An answer that does something before or after it is given on, which `pass` does.
using Pass = std::function<void(SpawnAnswer &waiting, pmix_status_t status, const std::string &nspace)>;
static SpawnAnswer around(SpawnAnswer reply, Pass pass) {
    auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
    return {[waiting, pass = std::move(pass)](pmix_status_t status, const std::string &nspace) {
                pass(*waiting, status, nspace);
            },
            PMIX_ERROR, std::string()};
}

StepSpawn::StepSpawn(StepContext &context, SpawnedJobs &spawned, ChildrenIo &io, CrossJobs &jobs, SessionLink &session,
                     const ToolChildren &of_tools, SpawnPlaces &places)
    : StepService(context.services), context_(context), spawned_(spawned), io_(io), jobs_(jobs), session_(session),
      of_tools_(of_tools), places_(places), spawn_([this](std::uint8_t type, SharedBytes payload) {
          return context_.send(context_.launcher_peer(), type, std::move(payload));
      }) {
    spawned_.when_ended([this](const Bytes &nspace) { io_.ended(nspace); });
}

void StepSpawn::take_asks(UpcallHandlers &handlers) {
    handlers.on<SpawnAsk>(policy::Action::spawn, [this](SpawnAsk ask) { spawn(std::move(ask)); });
}

void StepSpawn::take_messages(StepMessages &messages) {
    messages.on<wire::SpawnReply>(StepMessages::Peer::launcher,
                                  [this](HostIndex, auto &&message, const auto &) { on_spawned(std::move(message)); });
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
    const std::size_t jobs = has_two_jobs(ask.request) ? 2 : 1, others = spawned_.how_many() + starting_.count();
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
                              around(std::move(*reply), [starting, stay = std::move(stay)](
                                                            SpawnAnswer &waiting, pmix_status_t result,
                                                            const std::string &nspace) { waiting(result, nspace); }));
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
    reply = noted(caller, request, std::move(reply));
    start(caller, std::move(request), std::move(reply));
}

void StepSpawn::start(const Process &caller, wire::SpawnRequest request, SpawnAnswer reply) {
    auto target = debug_target_of(request);
    SpawnedJob job;
    job.spawner = caller;
    job.tool_is_here = of_tools_.connection_of(caller);
    job.debugged = target ? target->nspace : Bytes();
    job.goes_on = says_nohup(request);
    job.stands = !target && has_stops(request);
    job.tells_end = tells_end(request);
    reply =
        around(std::move(reply), [this, job](SpawnAnswer &waiting, pmix_status_t status, const std::string &nspace) {
            if (status == PMIX_SUCCESS)
                spawned_.runs(nspace, job);
            waiting(status, nspace);
        });
    if (!target)
        return ask_launcher(std::move(request), std::move(reply), job);
    if (!context_.may(caller, policy::Action::debug))
        return reply(PMIX_ERR_NO_PERMISSIONS, {});
    auto held = std::make_shared<std::pair<wire::SpawnRequest, SpawnAnswer>>(std::move(request), std::move(reply));
    find_target(*target, held->first, [this, held, job, since = context_.now()](pmix_status_t status, auto targets) {
        auto &[waiting, answer] = *held;
        take_from_start_limit(waiting, context_.now() - since);
        if (status == PMIX_SUCCESS && targets.empty())
            status = PMIX_ERR_NOT_FOUND;
        if (status != PMIX_SUCCESS || context_.ending)
            return answer(status != PMIX_SUCCESS ? status : PMIX_ERR_JOB_CANCELED, {});
        waiting.targets = std::move(targets);
        ask_launcher(std::move(waiting), std::move(answer), job);
    });
}

void StepSpawn::ask_launcher(wire::SpawnRequest request, SpawnAnswer reply, const SpawnedJob &job) {
    if (job.ends_with_tool() && !job.tool_is_here())
        return reply(PMIX_ERR_JOB_CANCELED, {}); // it has gone while its target was looked for
    places_.note_sent();
    const auto lasts = job.ends_with_tool() ? SpawnService::Lasts::with_us : SpawnService::Lasts::without_us;
    spawn_.spawn(std::move(request), std::move(reply), lasts, job.tool_is_here);
    if (job.tool_is_here)
        look_at_tools_ = std::min(look_at_tools_, context_.now() + tools_look);
}

void StepSpawn::on_time(TimePoint now) {
    if (now >= look_at_tools_)
        look_at_tools_ = spawn_.end_what_nobody_awaits() ? now + tools_look : TimePoint::max();
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
    reply = noted(caller, request, std::move(reply));
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
                       spawned_.answered(nspace); // no other answer names it
                   },
                   PMIX_ERROR, std::string()});
    };
    start(caller, std::move(request), {std::move(started), PMIX_ERROR, std::string()});
}

// Whoever waits for the answer hears it before anything is delivered: libpmix notes then who gets it. Only then is
// anybody told that the job, which may have been quick, has ended.
SpawnAnswer StepSpawn::noted(const Process &caller, const wire::SpawnRequest &request, SpawnAnswer reply) {
    const std::uint8_t channels = forwarded_channels(request.directives);
    if (channels != 0)
        io_.begins();
    return around(std::move(reply),
                  [this, caller, channels](SpawnAnswer &waiting, pmix_status_t status, const std::string &nspace) {
                      const bool runs = status == PMIX_SUCCESS;
                      if (runs && channels == 0)
                          io_.runs_unforwarded(nspace);
                      else if (runs)
                          io_.runs(nspace, caller, channels); // it may pull as soon as it has the answer
                      waiting(status, nspace);
                      if (channels != 0)
                          io_.answered();
                      if (runs)
                          spawned_.answered(nspace);
                  });
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
    spawned_.starts(message.nspace);
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
    jobs_.learn_child(info, [this, message = std::move(message)]() mutable { spawn_.on_reply(std::move(message)); });
}

void StepSpawn::on_leaving(bool badly) {
    spawn_.leave();
    if (!spawn_.used() || !context_.mesh->connected(context_.launcher_peer()))
        return;
    wire::StepOver over;
    over.badly = badly;
    context_.send(context_.launcher_peer(), over);
}

} // namespace pmixhost
