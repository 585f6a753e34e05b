// See job_output.h.
#include "tools/view/job_output.h"

#include "common/rendezvous/own_keys.h"
#include "common/rendezvous/server_names.h"
#include "tools/view/connection_loss.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <pmix_tool.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

struct FrameHeader {
    std::uint32_t size = 0, rank = 0;
    OutputFrame::Kind kind = OutputFrame::Kind::bytes;
    bool is_err = false;
};

// What the callbacks and follow_output() share: they run in threads of libpmix.
struct FollowedJob {
    int to = -1;
    std::string server; // its namespace
    OutputRequest request;
    std::mutex writing;
    sem_t answered;
    pmix_status_t status = PMIX_SUCCESS;
    std::size_t pull = 0; // as libpmix calls it
    bool pulls = false;
};
FollowedJob &followed_job() {
    static FollowedJob one; // of a process that does nothing else
    return one;
}

void write_frames(const std::vector<OutputFrame> &frames) {
    std::lock_guard lock(followed_job().writing);
    if (!write_output_frames(followed_job().to, frames))
        ::_exit(0);
}
void write_frame(const OutputFrame &frame) {
    write_frames({frame});
}

void on_output(std::size_t, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *payload,
               pmix_info_t info[], std::size_t count) {
    bool is_err = (channel & PMIX_FWD_STDERR_CHANNEL) != 0, ends = false;
    std::vector<OutputFrame> frames;
    std::string missing;
    for (std::size_t i = 0; i < count; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_IOF_COMPLETE))
            ends = true;
        else if (PMIX_CHECK_KEY(&info[i], own_key::output_undated))
            frames.push_back({OutputFrame::Kind::undated, is_err, source->rank, {}});
        else if (PMIX_CHECK_KEY(&info[i], own_key::output_cut))
            frames.push_back({OutputFrame::Kind::cut, is_err, source->rank, {}});
        else if (PMIX_CHECK_KEY(&info[i], own_key::output_missing) && info[i].value.type == PMIX_UINT64)
            missing = std::to_string(info[i].value.data.uint64);
    }
    if (!missing.empty())
        frames.push_back({OutputFrame::Kind::missing, is_err, source->rank, missing});
    if (payload && payload->bytes && payload->size > 0)
        frames.push_back({OutputFrame::Kind::bytes, is_err, source->rank, {payload->bytes, payload->size}});
    if (ends)
        frames.push_back({OutputFrame::Kind::ended, is_err, source->rank, {}});
    write_frames(frames);
}

void on_connection_lost(std::size_t, pmix_status_t code, const pmix_proc_t *source, pmix_info_t[], std::size_t,
                        pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    bool is_ours = is_loss_of(followed_job().server, code, source);
    if (is_ours)
        write_frame({OutputFrame::Kind::over, false, 0, {}});
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
    if (is_ours)
        ::_exit(0); // whoever pushes may wait for an answer that does not come
}

bool is_wanted(const pmix_proc_t &source, bool is_err) {
    const OutputRequest &request = followed_job().request;
    return PMIX_CHECK_NSPACE(source.nspace, request.job.c_str()) && (is_err ? request.err : request.out) &&
           (source.rank == PMIX_RANK_WILDCARD || request.ranks.empty() ||
            std::find(request.ranks.begin(), request.ranks.end(), source.rank) != request.ranks.end());
}

// Processes may notify this, too: it counts when the job's server has said it.
void on_failure(std::size_t, pmix_status_t, const pmix_proc_t *teller, pmix_info_t info[], std::size_t count,
                pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    std::vector<pmix_proc_t> sources;
    bool fails[2] = {};
    bool is_servers = teller && server_nspace_of(followed_job().request.job) == teller->nspace;
    for (std::size_t i = 0; is_servers && i < count; ++i) {
        const pmix_value_t &value = info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC) {
            sources.push_back(*value.data.proc);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS) && value.type == PMIX_DATA_ARRAY &&
                   value.data.darray && value.data.darray->type == PMIX_PROC) {
            auto *first = static_cast<pmix_proc_t *>(value.data.darray->array);
            sources.insert(sources.end(), first, first + value.data.darray->size);
        }
        fails[0] = fails[0] || PMIX_CHECK_KEY(&info[i], PMIX_FWD_STDOUT);
        fails[1] = fails[1] || PMIX_CHECK_KEY(&info[i], PMIX_FWD_STDERR);
    }
    std::vector<OutputFrame> frames;
    for (const auto &source : sources) {
        for (bool is_err : {false, true}) {
            if (fails[is_err] && is_wanted(source, is_err))
                frames.push_back({OutputFrame::Kind::failed, is_err, source.rank, {}});
        }
    }
    write_frames(frames);
    if (done)
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, data);
}

void on_answer(pmix_status_t status, void *) {
    followed_job().status = status;
    sem_post(&followed_job().answered);
}
void on_pull_answer(pmix_status_t status, std::size_t pull, void *) {
    followed_job().pull = pull;
    on_answer(status, nullptr);
}

pmix_status_t answer_to(pmix_status_t called) {
    if (called != PMIX_SUCCESS)
        return called == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : called;
    while (sem_wait(&followed_job().answered) != 0 && errno == EINTR)
        ;
    return followed_job().status;
}

std::vector<pmix_proc_t> processes_of(const std::string &job, const std::vector<std::uint32_t> &ranks) {
    std::vector<pmix_proc_t> out(std::max<std::size_t>(ranks.size(), 1));
    PMIX_LOAD_PROCID(&out[0], job.c_str(), PMIX_RANK_WILDCARD);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        pmix_rank_t rank = ranks[i];
        PMIX_LOAD_PROCID(&out[i], job.c_str(), rank);
    }
    return out;
}

std::uint32_t size_of(const std::string &job) {
    pmix_proc_t all = processes_of(job, {})[0];
    pmix_value_t *value = nullptr;
    if (PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &value) != PMIX_SUCCESS || !value || value->type != PMIX_UINT32)
        return 0;
    return value->data.uint32;
}

constexpr const char *capture_it = "start the job with PMIXHOST_IO_CAPTURE=on in the environment";

std::string why_not(pmix_status_t status, bool take_over) {
    if (status == PMIX_ERR_NOT_SUPPORTED && take_over)
        return fmt::format("!its output is the resource manager's and cannot be taken over; next: {}, or leave "
                           "--take-over out for a copy",
                           capture_it);
    if (status == PMIX_ERR_NOT_SUPPORTED)
        return "!of this output there is nothing to be had: its processes write it to files of their own or to a "
               "terminal, or it stays with the resource manager; next: look there; what goes to no file comes from a "
               "job that is started with PMIXHOST_IO_CAPTURE=on in the environment";
    if (status == PMIX_ERR_NO_PERMISSIONS)
        return "!the rules for tools refuse it to you, or to another tool that is here; next: pmixhost policy show";
    if (status == PMIX_ERR_RESOURCE_BUSY)
        return "!somebody else follows it at the same host, and has had what was written before; next: leave --since "
               "out, or say --since 0, for what comes";
    if (status == PMIX_ERR_NOT_FOUND)
        return "!there is no process of that rank";
    return fmt::format("!{}", PMIx_Error_string(status));
}

// False: the processes take no more.
bool push(const std::vector<pmix_proc_t> &targets, std::string_view bytes) {
    pmix_byte_object_t object{const_cast<char *>(bytes.data()), bytes.size()};
    pmix_info_t end;
    bool yes = true;
    PMIX_INFO_LOAD(&end, PMIX_IOF_COMPLETE, &yes, PMIX_BOOL);
    auto status = answer_to(
        PMIx_IOF_push(targets.data(), targets.size(), &object, &end, bytes.empty() ? 1 : 0, on_answer, nullptr));
    if (status == PMIX_SUCCESS)
        return true;
    std::string why = status == PMIX_ERR_IOF_COMPLETE ? "their standard input is closed"
                      : status == PMIX_ERR_NOT_SUPPORTED
                          ? fmt::format("the input of this job stays with the resource manager; next: {}", capture_it)
                          : why_not(status, false).substr(1);
    write_frame({OutputFrame::Kind::input_closed, false, 0, why});
    return false;
}

// Until the command wants no more of it.
void obey(const InputRequest &input, const std::vector<pmix_proc_t> &targets) {
    char message[1 + most_in_message];
    bool taken = true; // the processes may take more
    for (;;) {
        ssize_t got = ::recv(input.from, message, sizeof message, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        if (message[0] == leave_message)
            break;
        bool is_end = message[0] == end_message;
        taken = taken && push(targets, {message + 1, is_end ? 0 : static_cast<std::size_t>(got) - 1}) && !is_end;
    }
    if (followed_job().pulls)
        answer_to(PMIx_IOF_deregister(followed_job().pull, nullptr, 0, on_answer, nullptr));
    write_frame({OutputFrame::Kind::left, false, 0, {}});
}

} // namespace

bool write_output_frames(int to, const std::vector<OutputFrame> &frames) {
    std::string bytes;
    for (const auto &frame : frames) {
        FrameHeader header{static_cast<std::uint32_t>(frame.bytes.size()), frame.rank, frame.kind, frame.is_err};
        bytes.append(reinterpret_cast<const char *>(&header), sizeof header);
        bytes += frame.bytes;
    }
    for (std::string_view left = bytes; !left.empty();) {
        ssize_t written = ::write(to, left.data(), left.size());
        if (written < 0 && errno != EINTR)
            return false;
        left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

std::string follow_output(int to, const OutputRequest &request, const InputRequest &input) {
    FollowedJob &job = followed_job();
    job.to = to;
    job.server = request.server;
    job.request = request;
    sem_init(&job.answered, 0, 0);
    const std::pair<pmix_status_t, pmix_notification_fn_t> handlers[] = {{PMIX_ERR_LOST_CONNECTION, on_connection_lost},
                                                                         {PMIX_ERR_IOF_FAILURE, on_failure}};
    for (auto [code, handler] : handlers) {
        PMIx_Register_event_handler(&code, 1, nullptr, 0, handler, on_pull_answer, nullptr);
        if (pmix_status_t status = answer_to(PMIX_SUCCESS); status != PMIX_SUCCESS)
            return fmt::format("!PMIx_Register_event_handler: {}", PMIx_Error_string(status));
    }
    write_frame({OutputFrame::Kind::size, false, size_of(request.job), {}});
    auto sources = processes_of(request.job, request.ranks);
    auto channels = static_cast<pmix_iof_channel_t>((request.out ? PMIX_FWD_STDOUT_CHANNEL : 0) |
                                                    (request.err ? PMIX_FWD_STDERR_CHANNEL : 0));
    pmix_info_t how[2];
    bool yes = true;
    PMIX_INFO_LOAD(&how[0], request.take_over ? PMIX_IOF_REDIRECT : PMIX_IOF_COPY, &yes, PMIX_BOOL);
    if (request.take_over)
        PMIX_INFO_REQUIRED(&how[0]); // or whoever may not have it alone would get a copy
    if (request.since) {
        auto seconds = static_cast<std::uint32_t>(request.since->count());
        PMIX_INFO_LOAD(&how[1], own_key::output_since, &seconds, PMIX_UINT32);
        PMIX_INFO_REQUIRED(&how[1]);
    }
    auto pulled = answer_to(PMIx_IOF_pull(sources.data(), sources.size(), how, request.since ? 2 : 1, channels,
                                          on_output, on_pull_answer, nullptr));
    job.pulls = pulled == PMIX_SUCCESS;
    if (pulled == PMIX_ERR_NOT_SUPPORTED && input.wanted && !request.take_over && !request.since) {
        write_frame({OutputFrame::Kind::nothing, false, 0, why_not(pulled, false).substr(1)});
    } else if (pulled != PMIX_SUCCESS) {
        write_frame({OutputFrame::Kind::error, false, 0, why_not(pulled, request.take_over).substr(1)});
        return {};
    }
    write_frame({OutputFrame::Kind::listening, false, 0, {}});
    obey(input, processes_of(request.job, input.ranks));
    for (;;)
        ::pause(); // on_connection_lost() ends it, and who has started it
}

void OutputFrames::add(std::string_view bytes) {
    bytes_.erase(0, std::exchange(used_, 0));
    bytes_ += bytes;
}

std::optional<OutputFrame> OutputFrames::next() {
    FrameHeader header;
    std::string_view left = std::string_view(bytes_).substr(used_);
    if (left.size() < sizeof header)
        return std::nullopt;
    std::memcpy(&header, left.data(), sizeof header);
    if (left.size() - sizeof header < header.size)
        return std::nullopt;
    used_ += sizeof header + header.size;
    return OutputFrame{header.kind, header.is_err, header.rank, left.substr(sizeof header, header.size)};
}

} // namespace pmixhost
