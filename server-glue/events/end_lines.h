// The ends of processes as lines for the user (PMIX_LOG_PROC_TERMINATION, PMIX_LOG_PROC_ABNORMAL_TERMINATION): one for
// each that ended badly, up to a hundred, and one for those that ended well. The name of the job is the caller's.
#pragma once

#include "common/wire/event_messages.h"

#include <string>
#include <vector>

namespace pmixhost {

std::vector<std::string> end_lines(const std::vector<wire::EndedProcess> &bad,
                                   const std::vector<wire::RankRange> &well);

} // namespace pmixhost
