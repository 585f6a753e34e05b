// Lines behind a job's comment, which is all of Slurm's record of a job that its user may write to.
//
// slurmctld can only replace a comment, and hosts and steps do not know of each other's lines: so a line that was
// written is looked for again, at once and after a moment, and written once more where another write took it away.
// Two that write at the very same time may still lose one line, if slurmctld takes longer than that moment between
// the read and the write of one of them.
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

// Blocks. Does nothing when the line is there already. Fails (limit) where the comment would get too long or others
// write all the time.
Result<void> append_to_comment(const std::string &line, const CommentCalls &calls);

// The calls for a job, by libslurm. `prepare` calls slurm_init(), once.
CommentCalls comment_calls(std::uint32_t job, void (*prepare)());

} // namespace pmixhost::slurm
