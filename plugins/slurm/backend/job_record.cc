// See job_record.h.
#include "plugins/slurm/backend/job_record.h"

#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/base/slurm_abi.h"

#include <cerrno>
#include <fmt/format.h>
#include <memory>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <thread>
#include <unistd.h>

namespace pmixhost::slurm {

namespace {

constexpr int max_attempts = 8;
constexpr std::string_view between = "; ";

// Does the comment have the line as a whole, not as a part of a longer one?
bool has_line(std::string_view comment, std::string_view line) {
    for (std::size_t at = comment.find(line); at != comment.npos; at = comment.find(line, at + 1)) {
        std::string_view rest = comment.substr(at + line.size());
        if (rest.empty() || rest.starts_with(between))
            return true;
    }
    return false;
}

Error failure(std::uint32_t job) {
    int why = errno;
    ErrorKind kind =
        why == ESLURM_ACCESS_DENIED || why == ESLURM_USER_ID_MISSING ? ErrorKind::denied : ErrorKind::unreachable;
    return error(kind, "the comment of job {}: {}", job, slurm_strerror(why));
}

} // namespace

Result<void> append_to_comment(const std::string &line, const CommentCalls &calls) {
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        auto comment = calls.read();
        if (!comment)
            return comment.failure();
        if (!has_line(*comment, line)) {
            std::string longer = *comment + (comment->empty() ? "" : std::string(between)) + line;
            if (longer.size() > max_comment)
                return error(ErrorKind::limit, "the job's comment would get longer than {} bytes", max_comment);
            if (auto written = calls.write(longer); !written)
                return written;
        }
        calls.pause(attempt);
        comment = calls.read();
        if (!comment)
            return comment.failure();
        if (has_line(*comment, line))
            return {};
    }
    return error(ErrorKind::limit, "others write to the job's comment all the time");
}

CommentCalls comment_calls(std::uint32_t job, void (*prepare)()) {
    CommentCalls calls;
    calls.read = [job, prepare]() -> Result<std::string> {
        prepare();
        job_info_msg_t *raw = nullptr;
        if (slurm_load_job(&raw, job_argument(job), SHOW_ALL) != SLURM_SUCCESS)
            return failure(job);
        LoadedJobs owner(raw);
        if (raw->record_count == 0)
            return error(ErrorKind::unreachable, "job {}: there is none", job);
        const char *comment = raw->job_array[0].comment;
        return std::string(comment ? comment : "");
    };
    calls.write = [job](const std::string &comment) -> Result<void> {
        std::string copy = comment;
        job_desc_msg_t wish;
        slurm_init_job_desc_msg(&wish);
        job_number(wish) = job;
        wish.comment = copy.data();
        errno = 0;
        if (slurm_update_job(&wish) != SLURM_SUCCESS)
            return failure(job);
        return {};
    };
    calls.pause = [](int attempt) { // not the same for all
        std::this_thread::sleep_for(std::chrono::milliseconds(1000 + attempt * (100 + ::getpid() % 400)));
    };
    return calls;
}

} // namespace pmixhost::slurm
