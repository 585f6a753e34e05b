// The part of StepServer that brings events to the library, and ends of processes among them.
#include "server-glue/step_server.h"

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
    if (ask.source.nspace == step_.nspace)
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
    else
        return;
    if (wait_status && WIFSIGNALED(*wait_status)) {
        ended.exit_code = 128 + WTERMSIG(*wait_status);
        ended.term_status = PMIX_ERR_PROC_ABORTED_BY_SIG;
    } else if (wait_status) {
        ended.exit_code = WEXITSTATUS(*wait_status);
        ended.term_status = bad_status ? PMIX_ERR_EXIT_NONZERO_TERM : PMIX_ERR_PROC_TERM_WO_SYNC;
    }
    ends_.push_back(ended);
    if (!ends_timer_)
        ends_timer_ = loop_.after(ends_together, [this] { report_ends(); });
}

void StepServer::report_ends() {
    ends_timer_.reset();
    if (!ends_.empty())
        events_.report_ended(std::exchange(ends_, {}), static_cast<std::uint64_t>(std::time(nullptr)));
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

void StepServer::deliver(const wire::EventNotice &notice) {
    to_library(notice.info.size() + sizeof notice, [this, notice](PmixLibrary::Done done) {
        pmix_proc_t source;
        PMIX_LOAD_PROCID(&source, notice.nspace.c_str(), notice.rank);
        std::vector<pmix_info_t> info;
        std::int32_t count = 0;
        bool good = true;
        if (notice.info_count > 0 && notice.info_count <= notice.info.size()) {
            info.resize(notice.info_count);
            for (auto &one : info)
                PMIX_INFO_CONSTRUCT(&one);
            count = static_cast<std::int32_t>(info.size());
            pmix_data_buffer_t buffer;
            PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
            pmix_byte_object_t object{const_cast<char *>(notice.info.data()), notice.info.size()};
            good = PMIx_Data_embed(&buffer, &object) == PMIX_SUCCESS &&
                   PMIx_Data_unpack(nullptr, &buffer, info.data(), &count, PMIX_INFO) == PMIX_SUCCESS;
            PMIX_DATA_BUFFER_DESTRUCT(&buffer);
        }
        if (good) {
            library_->notify(notice.status, source, notice.range, info.data(),
                             static_cast<std::size_t>(count), std::move(done));
        } else {
            log_.warning("an event of rank {} cannot be read", notice.rank);
            done(PMIX_ERR_UNPACK_FAILURE);
        }
        for (auto &one : info)
            PMIX_INFO_DESTRUCT(&one);
    });
}

// Not for default handlers: what they do with any event, as those of Open MPI which end their process,
// is not meant for the end of others.
void StepServer::deliver(const wire::HostReport &report) {
    const std::string &host = step_.map.hosts()[report.host];
    auto proc_of = [this](Rank rank) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, step_.nspace.c_str(), rank);
        return proc;
    };
    auto send = [this](pmix_status_t code, pmix_proc_t source, std::uint8_t range,
                       std::shared_ptr<InfoList> info) {
        to_library(sizeof(pmix_info_t) * info->size(), [=, this](PmixLibrary::Done done) {
            library_->notify(code, source, range, info->data(), info->size(), std::move(done));
        });
    };
    auto base = [&] {
        auto info = std::make_shared<InfoList>();
        info->add(PMIX_EVENT_NON_DEFAULT, true);
        info->add(PMIX_HOSTNAME, host);
        info->add_time(PMIX_EVENT_TIMESTAMP, static_cast<time_t>(report.time));
        return info;
    };
    if (report.lost != 0) {
        auto info = base();
        std::vector<pmix_proc_t> procs;
        for (Rank rank : step_.map.ranks_on(report.host))
            procs.push_back(proc_of(rank));
        info->add_processes(PMIX_EVENT_AFFECTED_PROCS, procs);
        // In the name of that host's server, for a range that the library need not look up.
        pmix_proc_t source;
        PMIX_LOAD_PROCID(&source, (step_.nspace + ".server").c_str(), report.host);
        return send(PMIX_EVENT_NODE_DOWN, source, PMIX_RANGE_SESSION, info);
    }
    for (const auto &ended : report.processes) {
        auto info = base();
        info->add_process(PMIX_EVENT_AFFECTED_PROC, proc_of(ended.rank));
        if (ended.exit_code >= 0)
            info->add(PMIX_EXIT_CODE, static_cast<int>(ended.exit_code));
        if (ended.term_status != 0)
            info->add_status(PMIX_PROC_TERM_STATUS, ended.term_status);
        send(ended.code, proc_of(ended.rank), PMIX_RANGE_NAMESPACE, info);
    }
}

} // namespace pmixhost
