// See step_debug.h.
#include "server-glue/debug/step_debug.h"

#include "common/process/process_stat.h"
#include "common/rendezvous/own_keys.h"
#include "common/text/printable.h"
#include "server-glue/debug/release.h"
#include "server-glue/debug/standing_note.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <pmix.h>
#include <utility>

namespace pmixhost {

// An event that names more would be too long, or too long for the library to keep it for tools that come later; it then
// names nobody. Of a process, some bytes are not its namespace.
static std::size_t most_named(const std::string &nspace, std::uint32_t events_keep) {
    return std::min<std::size_t>(4096, most_kept_bytes(events_keep) / 2 / (nspace.size() + 8));
}

StepDebug::StepDebug(StepContext &context, StepEvents &events)
    : StepService(context.services), context_(context), events_(events), stops_(context.stops),
      exec_stops_(context.loop, [&context](Rank rank) { return context.tasks->watch().pid_of(rank); }),
      board_(context, *this, context.step.map, context.self(), stops_) {}

void StepDebug::open_door() {
    auto door = DebuggerDoor::open(context_.loop, context_.log, context_.directory,
                                   [this](pid_t process) { return is_paused(process); });
    if (door)
        door_ = std::move(*door);
    else
        context_.log.warning("whom debuggers leave stopped that are killed will stand: {}", door.failure().text);
}

bool StepDebug::is_paused(pid_t process) const {
    return std::any_of(standing_.begin(), standing_.end(), [&](Rank rank) {
        return !at_exec_.contains(rank) && context_.tasks && context_.tasks->watch().pid_of(rank) == process;
    });
}

void StepDebug::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<StopAsk>([this](StopAsk ask) { stopped(ask); });
}

void StepDebug::take_messages(StepMessages &messages) {
    messages.on<wire::RanksStopped>(
        StepMessages::Peer::host,
        [this](HostIndex from, const auto &message, const auto &) { board_.on_stopped(from, message); });
}

void StepDebug::on_process_gone(Rank rank, std::optional<int>) {
    standing_.erase(rank);
    at_exec_.erase(rank);
    board_.ended(rank);
}

// Who stood at its first instruction may have been let go by others than this daemon: by a debugger's own daemons, or
// the RM. It is not at its stop any more, then.
void StepDebug::on_signalling(Rank rank, int signal) {
    if (signal != SIGSTOP || !at_exec_.contains(rank))
        return;
    auto now = read_process_stat(context_.tasks->watch().pid_of(rank));
    if (now && now->state != 'T' && now->state != 't') {
        at_exec_.erase(rank);
        standing_.erase(rank);
    }
}

// A debugger that comes to a job which runs has it stop so, and lets it go on as any other.
void StepDebug::on_signalled(Rank rank, int signal) {
    if (signal == SIGSTOP) {
        standing_.insert(rank);
    } else if (signal == SIGCONT) {
        standing_.erase(rank);
        at_exec_.erase(rank);
    } else if (signal == end_of_pause) {
        end_pause(rank);
    }
}

void StepDebug::stopped(const StopAsk &ask) {
    const Process &who = ask.source;
    // Events that other hosts have told are heard too.
    if (who.wildcard || who.nspace != context_.step.nspace || context_.step.map.host_of(who.rank) != context_.self())
        return;
    StopPlace place = ask.breakpoint == init_breakpoint ? StopPlace::init : StopPlace::app;
    if (stops_.at(place).empty())
        return; // it does so by itself
    if (!board_.is_wanted(place, who.rank) || context_.tasks->gone(who.rank))
        return release(who.rank);
    context_.log.debug("rank {} has stopped at {}", who.rank, printable(ask.breakpoint));
    board_.stopped(place, who.rank, ask.breakpoint);
    if (board_.is_left_alone())
        release(who.rank);
}

void StepDebug::await_exec_stop(Rank rank, UniqueFd armed, std::function<void(bool)> stands) {
    exec_stops_.await(rank, std::move(armed), [this, rank, stands = std::move(stands)](bool stopped) {
        if (stopped)
            stopped_on_exec(rank);
        else if (!context_.tasks->gone(rank))
            context_.log.error("rank {} has not stopped at its first instruction", rank);
        stands(stopped);
    });
}

void StepDebug::stopped_on_exec(Rank rank) {
    standing_.insert(rank);
    at_exec_.insert(rank);
    context_.log.debug("rank {} has stopped at its first instruction", rank);
    board_.stopped(StopPlace::exec, rank, exec_breakpoint);
    if (board_.is_left_alone())
        go_on(rank);
}

// Where it stands still.
void StepDebug::go_on(Rank rank) {
    at_exec_.erase(rank);
    if (standing_.erase(rank) == 0)
        return;
    if (auto sent = context_.tasks->watch().signal(rank, SIGCONT); !sent)
        context_.log.warning("rank {} cannot be continued: {}", rank, sent.failure().text);
}

// The tool has gone that had paused it. At its first instruction it stands for somebody else; in a stop that it waits
// in itself it goes on waiting.
void StepDebug::end_pause(Rank rank) {
    if (!at_exec_.contains(rank))
        go_on(rank);
}

// In PMIx_Init libpmix holds all processes of a host, whomever the attribute names.
void StepDebug::release(Rank rank) {
    InfoList info;
    info.add(PMIX_EVENT_NON_DEFAULT, true);
    info.add_processes(PMIX_EVENT_CUSTOM_RANGE, {proc_of(context_.step.nspace, rank)});
    auto packed = pack_infos(info.data(), info.size());
    if (!packed)
        return context_.log.error("rank {} cannot be released: {}", rank, packed.failure().text);
    wire::EventNotice notice;
    notice.status = PMIX_DEBUGGER_RELEASE;
    notice.nspace = context_.step.server_nspace();
    notice.rank = context_.self();
    notice.range = PMIX_RANGE_CUSTOM;
    notice.info_count = static_cast<std::uint32_t>(info.size());
    notice.info = std::move(*packed);
    events_.deliver(notice);
}

void StepDebug::leave_alone(const std::string &nspace) {
    if (!context_.library) // which packs
        return context_.when_library([this, nspace] { leave_alone(nspace); });
    auto event = release_of({{nspace, 0, true}}, {context_.step.server_nspace(), context_.self(), false}, true);
    if (!event)
        return context_.log.error("the processes of {} cannot be released: {}", printable(nspace),
                                  event.failure().text);
    events_.tell_job(std::move(*event));
}

bool StepDebug::wants_event(pmix_status_t code, const Bytes &source) const {
    return (code == PMIX_DEBUGGER_RELEASE && (!standing_.empty() || !stops_.empty())) ||
           (code == pause_is_over && !standing_.empty()) ||
           (code == PMIX_READY_FOR_DEBUG && !stops_.empty() && source == context_.step.nspace);
}

// In the name of the job, and not of a process, a host says so.
void StepDebug::on_ready(const Process &source, const InfoList &info) {
    std::optional<std::string_view> breakpoint; // a program may give its own no name
    std::uint32_t round = 0;
    for (std::size_t i = 0; i < info.size() && source.rank == PMIX_RANK_UNDEF; ++i) {
        const pmix_info_t &each = info.data()[i];
        if (PMIX_CHECK_KEY(&each, PMIX_BREAKPOINT) && each.value.type == PMIX_STRING && each.value.data.string)
            breakpoint = each.value.data.string;
        else if (PMIX_CHECK_KEY(&each, own_key::stop_round) && each.value.type == PMIX_UINT32)
            round = each.value.data.uint32;
    }
    if (!breakpoint || round == 0)
        return;
    board_.was_told(breakpoint == init_breakpoint   ? StopPlace::init
                    : breakpoint == exec_breakpoint ? StopPlace::exec
                                                    : StopPlace::app,
                    round);
}

void StepDebug::on_event(pmix_status_t code, const Process &source, const InfoList &info) {
    if (code == PMIX_READY_FOR_DEBUG)
        return on_ready(source, info);
    auto targets = let_go_by(info.data(), info.size());
    if (!targets)
        return;
    const bool is_release = code == PMIX_DEBUGGER_RELEASE; // else the end of a pause
    if (is_release && leaves_alone(info.data(), info.size(), context_.step.nspace)) {
        context_.log.info("nobody is there any more who lets processes go that stop for a debugger: each goes on");
        board_.leave_alone();
    }
    for (Rank rank : context_.ranks_here()) {
        bool meant = targets->empty() || std::any_of(targets->begin(), targets->end(), [&](const Process &target) {
                         return target.nspace == context_.step.nspace && (target.wildcard || target.rank == rank);
                     });
        if (!meant)
            continue;
        if (!is_release) {
            end_pause(rank);
            continue;
        }
        board_.released(rank);
        go_on(rank);
    }
}

// Somebody else may know of it: a spawner, a debugger that has started the launcher, or a tool that waits to hear where
// the job is. What else has started it (`pmixhost debug`) is known where the line would be shown (UserNote::Subject).
void StepDebug::tell_user(StopPlace place, const RankRanges &ranks) {
    const StepInfo &step = context_.step;
    if (step.parent || step.tells_launch || step.launcher_file || std::exchange(told_user_, true))
        return;
    if (auto *notes = context_.backend.user_notes())
        notes->tell_user({standing_note(place, ranks, step.job_id), UserNote::Subject::stands}, [](Result<void>) {});
}

// The tools of this job hear it, and a spawner, as an event of the other job, with all of its job and its tools.
void StepDebug::all_stopped(StopPlace place, std::uint32_t round, const Bytes &breakpoint, const RankRanges &ranks) {
    if (board_.is_left_alone())
        return; // they have been let go
    tell_user(place, ranks);
    const std::string &nspace = context_.step.nspace;
    std::size_t most = most_named(nspace, context_.settings.events_keep);
    std::vector<pmix_proc_t> named;
    for (auto [first, last] : ranks.ranges()) {
        for (Rank rank = first; rank <= last && named.size() <= most; ++rank)
            named.push_back(proc_of(nspace, rank));
    }
    HostEvent event;
    event.code = PMIX_READY_FOR_DEBUG;
    event.source = proc_of(nspace, PMIX_RANK_UNDEF);
    event.range = PMIX_RANGE_SESSION;
    event.info = std::make_shared<InfoList>();
    event.info->add(PMIX_EVENT_NON_DEFAULT, true);
    event.info->add(PMIX_NSPACE, nspace);
    event.info->add(PMIX_BREAKPOINT, breakpoint);
    event.info->add(own_key::stop_round, round);
    // Not as those whom the event affects: a debugger may listen to what affects its server alone.
    if (named.size() <= most)
        event.info->add_processes(PMIX_DEBUG_TARGET, named);
    event.info->add_time(PMIX_EVENT_TIMESTAMP, std::time(nullptr));
    auto message = cross_job_event(event);
    if (!message)
        return context_.log.error("nobody can be told that the processes have stopped: {}", message.failure().text);
    context_.log.info("all who shall stop at {} have", printable(breakpoint));
    events_.tell_step(*message);
    if (!context_.step.parent)
        return;
    message->nspaces = {context_.step.parent->nspace};
    message->once = fmt::format("stopped:{}:{}", static_cast<int>(place), round);
    events_.tell_job(std::move(*message));
}

} // namespace pmixhost
