// What the host itself reports of a job, as the events that processes hear.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/control_messages.h"
#include "common/wire/event_messages.h"
#include "common/wire/spawn_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/events/first_failures.h"
#include "server-glue/library/info_list.h"

#include <memory>
#include <optional>

namespace pmixhost {

inline constexpr std::size_t most_processes_in_event = 256; // each takes some 300 bytes

struct HostEvent {
    pmix_status_t code;
    pmix_proc_t source;
    std::uint8_t range;
    std::shared_ptr<InfoList> info;
};

// The events that a report makes in a job with this map: ends of processes, or the loss of a host. They say what is
// ended for it: the job, or where that lives on, what ran on the host.
std::vector<HostEvent> events_of(const wire::HostReport &report, const JobMap &map, const std::string &nspace,
                                 bool lives_on);

// PMIX_EVENT_PROC_TERMINATED: these have ended, in whatever way; `how`, as far as it is known, is the same
// for all. The library does not keep it for those who register later.
HostEvent terminated_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                           const JobMap &map, const std::string &nspace);
// The same without the map; `host`: where they all were, or empty.
HostEvent terminated_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                           const std::string &host, const std::string &nspace);

// The events of a job that a process of this one has spawned: in that job's name, for all of the spawning one. `first`:
// for its end, who failed first.
std::vector<HostEvent> events_of(const wire::JobEvent &message, std::optional<FirstFailure> first = std::nullopt);

// PMIX_EVENT_JOB_END; without an exit code where nobody knows it. PMIX_EXIT_CODE is that of who failed first, where
// that is known (standard, "Tracking the job lifecycle").
HostEvent job_end_event(const std::string &nspace, std::optional<int> exit_code, std::uint64_t time,
                        std::optional<FirstFailure> first = std::nullopt);

// PMIX_ERR_PROC_REQUESTED_ABORT, before it is done: `by` has called PMIx_Abort on `host` for these ranks, or for the
// whole job where there are none. `ends_job`: the RM ends it also for the end of these.
struct AbortNews {
    Process by;
    std::vector<Rank> ranks;
    bool ends_job;
    int status;
    std::string message, host;
    std::uint64_t time;
};
std::vector<HostEvent> abort_events(const AbortNews &abort, const std::string &nspace);

// The allocation's time is nearly up, for the processes of this job: by the code that newer headers have for
// it, and by the one for preemption, which says the same in effect.
std::vector<HostEvent> time_warning_events(std::uint32_t seconds_left, std::uint64_t time, const std::string &nspace);

// PMIX_EVENT_SESSION_START or _END, of an allocation that a process of this job asked for (`request_id`: by what name,
// perhaps none) or has given back, or that the launcher of the job has made for it, for the debugger that has started
// that; for all processes of the job, in its name.
HostEvent session_event(pmix_status_t code, const std::string &allocation, const std::string &request_id,
                        std::uint64_t time, const std::string &nspace);

// Output of these processes (none: of all) on these channels (pmix_iof_channel_t) does not come any more to the tools
// of this host. The standard says that the channel is told, and not how: PMIX_FWD_STDOUT and PMIX_FWD_STDERR are true.
// The library does not keep it.
HostEvent output_failure_event(const std::vector<Rank> &ranks, std::uint8_t channels, std::uint64_t time,
                               const std::string &nspace);

// Is that what a host environment reports of jobs, processes and hosts, and nobody else may?
bool only_hosts_say(pmix_status_t code);
// Does an event say what the RM is about to end (PMIX_EVENT_TERMINATE_JOB and its kin), whether so or not?
bool speaks_for_rm(const InfoList &info);

// The same event for the processes of other namespaces.
Result<wire::CrossJobEvent> cross_job_event(const HostEvent &event);
// PMIX_JCTRL_CHECKPOINT for processes of this namespace alone, in the name of who asked for it.
Result<wire::CrossJobEvent> checkpoint_event(const wire::ControlOrder &order, const wire::ControlTarget &target,
                                             const std::string &nspace);

// The size above which the library shall not keep an event for late registrants, so that `events.keep` of them are
// bounded in bytes: 32 MiB in all, but 1 KiB each at least.
std::size_t most_kept_bytes(std::uint32_t events_keep);

} // namespace pmixhost
