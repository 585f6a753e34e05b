// The part of StepServer that brings events to the library, and ends of processes among them.
#include "server-glue/step_server.h"

#include "common/config_options.h"
#include "server-glue/host_events.h"
#include "server-glue/upcall_tools.h"

#include <ctime>
#include <pmix.h>
#include <sys/wait.h>

namespace pmixhost {

// What ends at about the same time is told together.
static constexpr auto ends_together = std::chrono::milliseconds(5);
// Of events that other hosts sent, and that the library has not yet taken.
static constexpr std::uint64_t max_in_library = 64ull << 20;
static constexpr std::size_t max_early_events = 1024;
// How often the fill of the links is looked at while they are not empty.
static constexpr auto look_again = std::chrono::milliseconds(10);

void StepServer::notify(NotifyAsk ask) {
    if (ask.range == PMIX_RANGE_RM)
        log_.info("rank {} on {} tells the resource manager: {}", ask.source.rank,
                  step_.map.hosts()[step_.self], PMIx_Error_string(ask.status));
    if (ask.status == PMIX_GROUP_INVITED && ask.source.nspace == step_.nspace)
        inviters_.insert(ask.source.rank);
    if (GroupInvitations::is_of_interest(ask.status)) {
        if (auto info = unpack_infos(ask.info, ask.info_count))
            hear_of_group(ask.status, ask.source, **info);
    }
    // What a monitor finds comes from the library alone: once from each, and from that of its host first.
    bool known = Upcalls::is_monitors(ask.status) &&
                 (!ask.of_library || step_.map.host_of(ask.source.rank) != step_.self);
    if (ask.source.nspace == step_.nspace && !known)
        events_.notify(std::move(ask));
    watch_events();
}

void StepServer::watch_events() {
    std::size_t waiting = mesh_->queued_bytes();
    upcalls_.events->waiting = waiting;
    events_timer_.reset();
    if (waiting > 0)
        events_timer_ = loop_.after(look_again, [this] { watch_events(); });
}

// --- ends of processes ------------------------------------------------------------------------------

// The code does not depend on the wait status where a process left PMIx without a word: the status is
// not always to be had.
void StepServer::note_end(Rank rank, std::optional<int> wait_status) {
    wire::EndedProcess ended;
    ended.rank = rank;
    bool bad_status = wait_status && *wait_status != 0;
    if (tasks_.connected(rank) && !tasks_.finalized(rank))
        ended.code = PMIX_ERR_PROC_ABORTED;
    else if (bad_status)
        ended.code = WIFSIGNALED(*wait_status) ? PMIX_ERR_PROC_ABORTED : PMIX_ERR_EXIT_NONZERO_TERM;
    else if (tasks_.finalized(rank))
        return note_orderly_end(rank, wait_status.has_value());
    else
        return; // it never had to do with PMIx
    if (wait_status && WIFSIGNALED(*wait_status)) {
        ended.exit_code = 128 + WTERMSIG(*wait_status);
        ended.term_status = PMIX_ERR_PROC_ABORTED_BY_SIG;
    } else if (wait_status) {
        ended.exit_code = WEXITSTATUS(*wait_status);
        ended.term_status = bad_status ? PMIX_ERR_EXIT_NONZERO_TERM : PMIX_ERR_PROC_TERM_WO_SYNC;
    }
    table_.note_ended(ended);
    ends_.push_back(ended);
    if (!ends_timer_)
        ends_timer_ = loop_.after(ends_together, [this] { report_ends(); });
}

void StepServer::report_ends() {
    ends_timer_.reset();
    if (ends_.empty())
        return;
    wire::HostReport report;
    report.host = step_.self;
    report.time = static_cast<std::uint64_t>(std::time(nullptr));
    report.processes = std::exchange(ends_, {});
    report_abroad(report);
    events_.report_ended(std::move(report.processes), report.time);
}

// --- to the library ---------------------------------------------------------------------------------

void StepServer::to_library(std::size_t bytes, std::function<void(PmixLibrary::Done)> notify) {
    if (events_in_library_ + bytes > max_in_library ||
        (!library_ && early_events_.size() >= max_early_events)) {
        if (!std::exchange(events_dropped_, true))
            log_.warning("events come faster than the processes of this host take them: some are lost");
        return;
    }
    events_in_library_ += bytes;
    auto give = [this, bytes, notify = std::move(notify)] {
        notify([this, bytes](pmix_status_t) {
            events_in_library_ -= bytes;
            events_dropped_ = events_dropped_ && events_in_library_ > 0;
        });
    };
    if (library_)
        give();
    else
        early_events_.push_back(std::move(give));
}

void StepServer::event_lost(HostIndex to) {
    log_.warning("events come faster than the daemon on {} takes them: it, and the hosts it passes events "
                 "on to, lose some",
                 step_.map.hosts()[to]);
}

void StepServer::deliver(const wire::EventNotice &notice) {
    note_fate(notice);
    to_library(notice.info.size() + sizeof notice, [this, notice](PmixLibrary::Done done) {
        pmix_proc_t source;
        PMIX_LOAD_PROCID(&source, notice.nspace.c_str(), notice.rank);
        auto info = unpack_infos(notice.info, notice.info_count);
        if (!info) {
            log_.warning("an event of rank {} of {}: {}", notice.rank, printable(notice.nspace),
                         info.failure().text);
            return done(PMIX_ERR_UNPACK_FAILURE);
        }
        if (notice.info.size() > most_kept_bytes(settings_.events_keep))
            (*info)->add(PMIX_EVENT_DO_NOT_CACHE, true);
        library_->notify(notice.status, source, notice.range, *info, std::move(done));
        if (GroupInvitations::is_of_interest(notice.status))
            hear_of_group(notice.status, upcall::process_of(source), **info);
    });
}

void StepServer::deliver(const wire::HostReport &report) {
    note_fate(report);
    tell_session_of(report);
    if (report.lost != 0)
        table_.note_lost(report.host);
    for (const auto &ended : report.processes)
        table_.note_ended(ended);
    for (auto &event : events_of(report, step_.map, step_.nspace)) {
        to_library(sizeof(pmix_info_t) * event.info->size(), [this, event](PmixLibrary::Done done) {
            library_->notify(event.code, event.source, event.range, event.info, std::move(done));
        });
    }
    for (const auto &ended : report.processes) {
        to_library(2 * sizeof(pmix_info_t) * 8, [this, ended, time = report.time](PmixLibrary::Done done) {
            tell_of_terminated({ended.rank}, ended, time, std::move(done));
        });
    }
    tell_of_failed(report); // last: there may be more of these than the library is given at once
}

// --- other namespaces -------------------------------------------------------------------------------

void StepServer::send_abroad(wire::EventAbroad event) {
    events_abroad_ = true;
    if (!send_to_session(wire::EventAbroad::type, share(wire::encode(event))))
        log_.debug("the session cannot be reached: an event does not leave the job");
}

// To those who have connected with this namespace. Who saw first that a host is lost is not agreed upon:
// `once` is the same from all.
void StepServer::report_abroad(const wire::HostReport &report) {
    if (!foreign_.any())
        return;
    for (const auto &event : events_of(report, step_.map, step_.nspace)) {
        auto message = abroad(event);
        if (!message) {
            log_.warning("{}", message.failure().text);
            continue;
        }
        message->related = 1;
        if (report.lost != 0)
            message->once = fmt::format("{}:{}", event.code, event.source.rank);
        send_abroad(std::move(*message));
    }
}

// As if the other namespace had sent it: to every host of this step.
void StepServer::on_job_event(const wire::JobEvent &job) {
    if (job.what == wire::JobEvent::ended)
        on_child_ended(job);
    if (job.asked == 0)
        return;
    for (const auto &event : events_of(job)) {
        auto message = abroad(event);
        if (message)
            events_.on_abroad(std::move(*message));
        else
            log_.warning("{}", message.failure().text);
    }
}

void StepServer::ask_time_left(std::function<void(Result<std::uint32_t>)> done) {
    ask_rm({RmQuestion::Kind::time_remaining, {}}, loop_.now() + QueryService::patience,
           [this, done = std::move(done)](Result<RmAnswer> answer) {
               done(answer ? Result<std::uint32_t>(answer->seconds) : Result<std::uint32_t>(answer.failure()));
               arm_timer();
           });
}

void StepServer::warn_of_time(std::uint32_t seconds_left) {
    log_.info("{} seconds are left of the allocation", seconds_left);
    auto now = static_cast<std::uint64_t>(std::time(nullptr));
    for (const auto &event : time_warning_events(seconds_left, now, step_.nspace)) {
        if (auto message = abroad(event))
            events_.on_abroad(std::move(*message));
        else
            log_.warning("{}", message.failure().text);
    }
}

void StepServer::come_to_session() {
    if (!ending_)
        send_to_session(wire::HearEvents::type, share(wire::encode(wire::HearEvents{})));
}

} // namespace pmixhost
