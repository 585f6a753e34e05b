// CPU sets and what else is known of the machine: the only user of hwloc.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <memory>
#include <string>
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

// What hwloc knows of this host, with the devices that libpmix looks for.
class Topology {
  public:
    // Of what whole_machine_xml() has written on this host: what hwloc would find for this process now. What the
    // process may use is asked of the kernel. Some tenths of a millisecond. Fails (invalid).
    static Result<Topology> of_xml(const std::string &xml);
    // Whatever this process may use of it. Blocks while hwloc looks. Fails: unsupported, where there are devices of
    // which hwloc asks vendors' libraries (CUDA, NVML, ROCm, Level Zero), whose answer depends on who asks; system.
    static Result<std::string> whole_machine_xml();
    // A hwloc_topology_t, for interfaces that take one; stays this object's.
    void *handle() const { return topology_.get(); }
    // As the PMIx standard names the kind of a handle: "hwloc:2.9.0".
    static std::string source();

  private:
    explicit Topology(void *topology) : topology_(topology) {}
    struct Free {
        void operator()(void *topology) const;
    };
    std::unique_ptr<void, Free> topology_;
};

// What hwloc need not look for here: the graphics cards of X servers (32 connections) and what the vendors of OpenCL
// have installed; devices of CUDA, NVML, ROCm and the PCI bus are found all the same. Nor is another reader of XML
// loaded than its own. Sets the environment of this process, where the site has not; to be called before it has a
// second thread.
void limit_hwloc();

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
