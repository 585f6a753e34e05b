// Of which standard streams of a host's tasks there is something for tools: those in which this daemon stands between
// task and RM (task_streams.h), or of which the RM has a copy (rm_output_copy.h). Files that the RM has opened for the
// tasks (srun with --output=FILE%t), and where the daemon stands in between a terminal (--pty), are the tasks' own: of
// those a tool gets nothing, and is told so.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/iof_messages.h"

#include <set>

namespace pmixhost {

class ReadableStreams {
  public:
    explicit ReadableStreams(std::size_t tasks) : tasks_(tasks) {}
    // `channels`: wire::stdout_channel, wire::stderr_channel.
    void note(Rank rank, std::uint8_t channels) {
        noted_.insert(rank);
        found_ |= channels;
    }
    // Of at least one task; both, as long as not all are known.
    std::uint8_t there() const { return noted_.size() < tasks_ ? wire::stdout_channel | wire::stderr_channel : found_; }

  private:
    const std::size_t tasks_;
    std::set<Rank> noted_;
    std::uint8_t found_ = 0;
};

} // namespace pmixhost
