// Numbers for the connections that libpmix gets, apart from all other descriptors of the daemon.
//
// On some paths libpmix closes a connection twice (contrib/doc/decisions/libpmix.md, "Connections"), and between the
// two another thread may have been given the number. The kernel gives out the lowest free number, so an ordinary open
// never gets one up here; and here they go round, so that one that was closed comes again only after all others. A
// second close finds nothing.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace pmixhost {

class DescriptorRange {
  public:
    // Takes half, at most, of the descriptors that `limit` (RLIMIT_NOFILE) allows.
    explicit DescriptorRange(std::size_t limit);
    // Makes a range with the limit of this process.
    static DescriptorRange of_process();

    // Makes the kernel's table of descriptors large enough. To be called before the process has a second
    // thread: from then on the kernel waits, some 10 ms, whenever it enlarges the table.
    void prepare() const;
    // The same file under a number of the range, close-on-exec; a number beyond the range when that is full.
    Result<UniqueFd> move_up(UniqueFd fd);

    int first() const { return first_; }
    int last() const { return last_; }

  private:
    int first_, last_, next_;
};

} // namespace pmixhost
