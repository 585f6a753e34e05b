// Lines behind a job's comment, which is all of Slurm's record of a job that its user may write to.
//
// slurmctld can only replace a comment, and hosts and steps do not know of each other's lines: what was
// written is looked for again, at once and after a moment, and written once more where another one's write
// took it away. Two that write at the very same time may still lose one line, if slurmctld takes longer
// than that moment between the read and the write of one of them.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>

namespace pmixhost::slurm {

inline constexpr std::size_t max_comment = 1024; // with what was there before

struct CommentCalls { // block
    std::function<Result<std::string>()> read;
    std::function<Result<void>(const std::string &comment)> write;
    std::function<void(int attempt)> pause; // a moment, longer with each attempt
};

// Blocks. A line that is there already is there. Fails (limit) where it would get too long or others write
// all the time.
Result<void> append_to_comment(const std::string &line, const CommentCalls &calls);

// Of this job, by libslurm.
CommentCalls comment_calls(std::uint32_t job, void (*prepare)());

} // namespace pmixhost::slurm
