// See descriptor_range.h.
#include "server-glue/guard/descriptor_range.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>

namespace pmixhost {

// Twice as many as a large host has processes; the kernel's table of them takes 32 KiB.
static constexpr std::size_t wanted = 2048;

DescriptorRange::DescriptorRange(std::size_t limit)
    : first_(static_cast<int>(std::min(limit / 2, wanted))), last_(static_cast<int>(std::min(limit, 2 * wanted)) - 1),
      next_(first_) {}

DescriptorRange DescriptorRange::of_process() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        files.rlim_cur = 1024;
    return DescriptorRange(static_cast<std::size_t>(files.rlim_cur));
}

void DescriptorRange::prepare() const {
    UniqueFd any(::open("/", O_PATH | O_CLOEXEC));
    UniqueFd highest(fcntl(any.get(), F_DUPFD_CLOEXEC, last_));
}

Result<UniqueFd> DescriptorRange::move_up(UniqueFd fd) {
    int number = fcntl(fd.get(), F_DUPFD_CLOEXEC, next_);
    if (number < 0 && next_ > first_) // nothing free up to the limit: from the beginning
        number = fcntl(fd.get(), F_DUPFD_CLOEXEC, first_);
    if (number < 0)
        return system_error("no descriptor is free", errno);
    next_ = number >= first_ && number < last_ ? number + 1 : first_;
    return UniqueFd(number);
}

} // namespace pmixhost
