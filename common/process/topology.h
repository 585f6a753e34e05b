// CPU sets and what else is known of the machine: the only user of hwloc.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace pmixhost {

// The CPUs a process is bound to.
class CpuSet {
  public:
    // The set as the kernel has it now; works for any process of the same user.
    static Result<CpuSet> of_process(pid_t pid);
    // Reads hwloc's list form. Fails (invalid).
    static Result<CpuSet> of_list(const std::string &list);
    // hwloc's list form: "0-3,8".
    std::string list() const;
    // A hwloc_bitmap_t, for interfaces that take one; stays this object's.
    void *bitmap() const { return bitmap_.get(); }

  private:
    explicit CpuSet(void *bitmap) : bitmap_(bitmap) {}
    struct Free {
        void operator()(void *bitmap) const;
    };
    std::unique_ptr<void, Free> bitmap_;
};

// What hwloc finds on this host.
struct MachineShape {
    unsigned packages = 0, cores = 0, cpus = 0;
    unsigned own_cpus = 0; // of them, those that this process may use
};
// Blocks while it looks: mostly some ten ms. Fails (system) where hwloc cannot tell.
Result<MachineShape> look_at_machine();

// Physical memory of this host, bytes.
std::uint64_t physical_memory();

} // namespace pmixhost
