// Ends what a job leaves behind: processes whose parents have ended and that the kernel has handed
// to us, because we are their "child subreaper" (prctl(2)). Only what is a child of this process
// is ever killed, and a child's pid is ours until we wait for it: nobody else can be hit.
#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

namespace pmixhost {

// From now on, descendants that lose their parent become children of this process. False when the kernel refuses.
bool adopt_orphans();

// The children of this process, zombies included, from /proc.
std::vector<pid_t> children_of_this_process();

// Kills (SIGKILL) and waits for all children, and theirs, until there is none or `limit` is over; children in `keep`
// are spared. Blocks meanwhile, so it is for who has no event loop or is past its end (else child_sweep.h). Returns
// those that would not end.
std::vector<pid_t> sweep_children(std::chrono::milliseconds limit, const std::vector<pid_t> &keep = {});

// Waits for children that have ended already, without blocking, except those in `keep`.
void reap_orphans(const std::vector<pid_t> &keep);

} // namespace pmixhost
