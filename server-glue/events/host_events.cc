// See host_events.h.
#include "server-glue/events/host_events.h"

#include "common/rendezvous/server_names.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/pack.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <pmix.h>
#include <span>

namespace pmixhost {

// Of what is told of a job's processes: a server has the job's own processes, and tools, to which "namespace" would
// not come.
constexpr pmix_data_range_t reports_range = PMIX_RANGE_SESSION;

// What an event tells. The process that it is about comes first: programs written for PRRTE, its own tests among
// them, look no further. Default handlers do not get it: what they do with any event (Open MPI's end their process)
// is not meant for the end of others.
static std::shared_ptr<InfoList> about(const std::vector<pmix_proc_t> &affected, const std::string &host,
                                       std::uint64_t time) {
    auto info = std::make_shared<InfoList>();
    if (affected.size() == 1)
        info->add_process(PMIX_EVENT_AFFECTED_PROC, affected.front());
    else if (!affected.empty())
        info->add_processes(PMIX_EVENT_AFFECTED_PROCS, affected);
    info->add(PMIX_EVENT_NON_DEFAULT, true);
    if (!host.empty())
        info->add(PMIX_HOSTNAME, host);
    info->add_time(PMIX_EVENT_TIMESTAMP, static_cast<time_t>(time));
    return info;
}

static void add_how(InfoList &info, const wire::EndedProcess &ended) {
    if (ended.exit_code >= 0)
        info.add(PMIX_EXIT_CODE, static_cast<int>(ended.exit_code));
    if (ended.term_status != 0)
        info.add_status(PMIX_PROC_TERM_STATUS, ended.term_status);
    if (ended.ends_job != 0)
        info.add(PMIX_EVENT_TERMINATE_JOB, true);
}

std::vector<HostEvent> events_of(const wire::HostReport &report, const JobMap &map, const std::string &nspace,
                                 bool lives_on) {
    const std::string &host = map.hosts()[report.host];
    std::vector<HostEvent> events;
    if (report.lost != 0) {
        auto info = about(procs_of(nspace, map.ranks_on(report.host)), host, report.time);
        info->add(lives_on ? PMIX_EVENT_TERMINATE_NODE : PMIX_EVENT_TERMINATE_JOB, true);
        // In the name of that host's server, for a range that the library need not look up.
        events.push_back({PMIX_EVENT_NODE_DOWN, proc_of(server_nspace_of(nspace), report.host), PMIX_RANGE_SESSION,
                          std::move(info)});
        return events;
    }
    for (const auto &ended : report.processes) {
        auto info = about({proc_of(nspace, ended.rank)}, host, report.time);
        add_how(*info, ended);
        events.push_back({ended.code, proc_of(nspace, ended.rank), reports_range, std::move(info)});
    }
    return events;
}

HostEvent terminated_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                           const JobMap &map, const std::string &nspace) {
    HostIndex host = map.host_of(ranks.front());
    bool of_one_host = std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) { return map.host_of(rank) == host; });
    return terminated_event(ranks, how, time, of_one_host ? map.hosts()[host] : std::string(), nspace);
}

HostEvent terminated_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                           const std::string &host, const std::string &nspace) {
    auto procs = procs_of(nspace, ranks);
    auto info = about(procs, host, time);
    add_how(*info, how);
    info->add(PMIX_EVENT_DO_NOT_CACHE, true);
    return {PMIX_EVENT_PROC_TERMINATED, procs.front(), reports_range, std::move(info)};
}

HostEvent output_failure_event(const std::vector<Rank> &ranks, std::uint8_t channels, std::uint64_t time,
                               const std::string &nspace) {
    auto procs = procs_of(nspace, ranks);
    if (procs.empty())
        procs.push_back(proc_of(nspace, PMIX_RANK_WILDCARD));
    auto info = about(procs, {}, time);
    for (auto [channel, key] :
         {std::pair(PMIX_FWD_STDOUT_CHANNEL, PMIX_FWD_STDOUT), std::pair(PMIX_FWD_STDERR_CHANNEL, PMIX_FWD_STDERR)}) {
        if (channels & channel)
            info->add(key, true);
    }
    info->add(PMIX_EVENT_DO_NOT_CACHE, true);
    return {PMIX_ERR_IOF_FAILURE, procs.front(), PMIX_RANGE_LOCAL, std::move(info)};
}

// The launcher (srun) makes one code of all the exit codes of a job, in a shell's manner.
static pmix_status_t term_status(int exit_code) {
    if (exit_code == 0)
        return PMIX_SUCCESS;
    return exit_code > 128 && exit_code < 128 + NSIG ? PMIX_ERR_JOB_ABORTED_BY_SIG : PMIX_ERR_JOB_NON_ZERO_TERM;
}

static HostEvent job_event(pmix_status_t code, const std::string &nspace, std::uint64_t time) {
    auto info = about({proc_of(nspace, PMIX_RANK_WILDCARD)}, {}, time);
    info->add(PMIX_NSPACE, nspace);
    return {code, proc_of(nspace, PMIX_RANK_UNDEF), PMIX_RANGE_SESSION, std::move(info)};
}

HostEvent job_end_event(const std::string &nspace, std::optional<int> exit_code, std::uint64_t time,
                        std::optional<FirstFailure> first) {
    HostEvent event = job_event(PMIX_EVENT_JOB_END, nspace, time);
    if (exit_code)
        event.info->add_status(PMIX_JOB_TERM_STATUS, term_status(*exit_code));
    if (first)
        event.info->add_process(PMIX_PROCID, proc_of(nspace, first->rank));
    if (first && first->exit_code >= 0)
        event.info->add(PMIX_EXIT_CODE, first->exit_code);
    else if (exit_code)
        event.info->add(PMIX_EXIT_CODE, *exit_code);
    return event;
}

std::vector<HostEvent> events_of(const wire::JobEvent &message, std::optional<FirstFailure> first) {
    switch (message.what) {
    case wire::JobEvent::started:
        return {job_event(PMIX_EVENT_JOB_START, message.nspace, message.time)};
    case wire::JobEvent::running:
        return {job_event(PMIX_LAUNCH_COMPLETE, message.nspace, message.time)};
    case wire::JobEvent::ended:
        return {job_end_event(message.nspace,
                              message.exit_code < 0 ? std::nullopt : std::optional<int>(message.exit_code),
                              message.time, first)};
    default:
        return {};
    }
}

std::vector<HostEvent> abort_events(const AbortNews &abort, const std::string &nspace) {
    // A tool is of no job.
    Rank by = abort.by.nspace == nspace ? abort.by.rank : PMIX_RANK_UNDEF;
    std::vector<HostEvent> events;
    auto add = [&](const std::vector<pmix_proc_t> &affected) {
        auto info = about(affected, abort.host, abort.time);
        info->add(PMIX_EXIT_CODE, abort.status);
        if (!abort.message.empty())
            info->add(PMIX_EVENT_TEXT_MESSAGE, abort.message);
        info->add(abort.ends_job || abort.ranks.empty() ? PMIX_EVENT_TERMINATE_JOB : PMIX_EVENT_TERMINATE_PROC, true);
        events.push_back({PMIX_ERR_PROC_REQUESTED_ABORT, proc_of(nspace, by), reports_range, std::move(info)});
    };
    if (abort.ranks.empty())
        add({proc_of(nspace, PMIX_RANK_WILDCARD)});
    for (std::size_t at = 0; at < abort.ranks.size(); at += most_processes_in_event) {
        std::size_t count = std::min(most_processes_in_event, abort.ranks.size() - at);
        add(procs_of(nspace, std::span(abort.ranks).subspan(at, count)));
    }
    return events;
}

#ifndef PMIX_ALLOC_TIMEOUT_WARNING // newer than 6.1
#define PMIX_ALLOC_TIMEOUT_WARNING -194
#endif

std::vector<HostEvent> time_warning_events(std::uint32_t seconds_left, std::uint64_t time, const std::string &nspace) {
    auto info = about({proc_of(nspace, PMIX_RANK_WILDCARD)}, {}, time);
    info->add(PMIX_NSPACE, nspace);
    info->add(PMIX_TIME_REMAINING, seconds_left);
    info->add(PMIX_EVENT_TERMINATE_SESSION, true);
    info->add(PMIX_EVENT_ACTION_TIMEOUT, static_cast<int>(seconds_left));
    info->add(PMIX_EVENT_TEXT_MESSAGE, fmt::format("the time of the allocation is over in {} s", seconds_left));
    pmix_proc_t job = proc_of(nspace, PMIX_RANK_UNDEF);
    return {{PMIX_ALLOC_TIMEOUT_WARNING, job, PMIX_RANGE_SESSION, info},
            {PMIX_JCTRL_PREEMPT_ALERT, job, PMIX_RANGE_SESSION, info}};
}

HostEvent session_event(pmix_status_t code, const std::string &allocation, const std::string &request_id,
                        std::uint64_t time, const std::string &nspace) {
    auto info = about({proc_of(nspace, PMIX_RANK_WILDCARD)}, {}, time);
    info->add(PMIX_ALLOC_ID, allocation);
    if (!request_id.empty())
        info->add(PMIX_ALLOC_REQ_ID, request_id);
    std::uint32_t number = 0;
    const char *end = allocation.data() + allocation.size();
    auto [stop, code_of] = std::from_chars(allocation.data(), end, number);
    if (code_of == std::errc() && stop == end)
        info->add(PMIX_SESSION_ID, number);
    return {code, proc_of(nspace, PMIX_RANK_UNDEF), reports_range, std::move(info)};
}

bool only_hosts_say(pmix_status_t code) {
    if (PMIX_SYSTEM_EVENT(code))
        return true;
    switch (code) {
    case PMIX_EVENT_JOB_START:
    case PMIX_LAUNCH_COMPLETE:
    case PMIX_EVENT_JOB_END:
    case PMIX_EVENT_SESSION_START:
    case PMIX_EVENT_SESSION_END:
    case PMIX_EVENT_PROC_TERMINATED:
    case PMIX_PROC_TERMINATED:
    case PMIX_ERR_PROC_ABORTED:
    case PMIX_ERR_PROC_REQUESTED_ABORT:
    case PMIX_ERR_PROC_TERM_WO_SYNC:
    case PMIX_ERR_EXIT_NONZERO_TERM:
    case PMIX_ALLOC_TIMEOUT_WARNING:
    case PMIX_JCTRL_PREEMPT_ALERT:
    case PMIX_READY_FOR_DEBUG:
    case PMIX_ERR_IOF_FAILURE:
        return true;
    default:
        return false;
    }
}

bool speaks_for_rm(const InfoList &info) {
    const auto all = info.all();
    return std::any_of(all.begin(), all.end(), [](const pmix_info_t &each) {
        return PMIX_CHECK_KEY(&each, PMIX_EVENT_TERMINATE_SESSION) || PMIX_CHECK_KEY(&each, PMIX_EVENT_TERMINATE_JOB) ||
               PMIX_CHECK_KEY(&each, PMIX_EVENT_TERMINATE_NODE) || PMIX_CHECK_KEY(&each, PMIX_EVENT_TERMINATE_PROC);
    });
}

Result<wire::CrossJobEvent> cross_job_event(const HostEvent &event) {
    auto packed = pack_infos(event.info->data(), event.info->size());
    if (!packed)
        return packed.failure();
    wire::CrossJobEvent out;
    out.status = event.code;
    out.nspace = event.source.nspace;
    out.rank = event.source.rank;
    out.range = PMIX_RANGE_SESSION;
    out.of_host = 1;
    out.info_count = static_cast<std::uint32_t>(event.info->size());
    out.info = std::move(*packed);
    return out;
}

std::size_t most_kept_bytes(std::uint32_t events_keep) {
    constexpr std::size_t in_all = 32u << 20, at_least = 1024;
    return std::max(in_all / std::max<std::size_t>(events_keep, 1), at_least);
}

Result<wire::CrossJobEvent> checkpoint_event(const wire::ControlOrder &order, const wire::ControlTarget &target,
                                             const std::string &nspace) {
    InfoList info;
    info.add(PMIX_EVENT_NON_DEFAULT, true);
    info.add(PMIX_JOB_CTRL_CHECKPOINT, order.checkpoint);
    auto procs = target.whole ? std::vector{proc_of(nspace, PMIX_RANK_WILDCARD)} : procs_of(nspace, target.ranks);
    info.add_processes(PMIX_EVENT_CUSTOM_RANGE, procs);
    auto packed = pack_infos(info.data(), info.size());
    if (!packed)
        return packed.failure();
    wire::CrossJobEvent out;
    out.status = PMIX_JCTRL_CHECKPOINT;
    out.nspace = order.nspace;
    out.rank = order.rank;
    out.range = PMIX_RANGE_CUSTOM;
    for (const auto &proc : procs)
        out.custom.push_back({proc.nspace, proc.rank});
    out.info_count = static_cast<std::uint32_t>(info.size());
    out.info = std::move(*packed);
    return out;
}

} // namespace pmixhost
