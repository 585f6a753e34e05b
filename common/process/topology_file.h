// The topology of this host in a file, as it was found once on root's behalf (pmixhost-topology): hwloc needs ten
// milliseconds to find it, on large hosts some hundred, and each daemon of each step would do so again.
//
// The file begins with what the topology depends on: the boot, the processors and the memory that are there, and
// the devices of the PCI bus with their drivers. Who finds that it is different now does not use the file. What of the
// host a process may use (its cgroup, its CPU set) is not in it: that is asked of the kernel each time
// (Topology::of_xml). It holds what hwloc writes as XML (topology.h), and nothing here needs hwloc: an RM's plugin must
// not bring it along.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>
#include <string_view>

namespace pmixhost {

// The text on which a topology depends, lines of at most 1 MiB in all. Small reads below /proc and /sys, one for each
// PCI device and each network interface: some tenths of a millisecond, with 2,000 interfaces 5 ms. `root` is what
// stands before these names, for tests.
std::string machine_state(const std::string &root = "");

// The XML in the file. Fails: not_found, where there is none, or one of another state; denied, where others than root
// or this process' user may have written it; unsupported, where it says that no topology of this host can be kept;
// limit, above 16 MiB.
Result<std::string> read_topology_file(const std::string &path, const std::string &state);
// Whether it is there, whole, trusted and of that state, so that nobody need write it; reads only its beginning and
// end.
bool topology_file_is_current(const std::string &path, const std::string &state);

// Writes the file so that a reader sees the old one or the new one, and for everybody to read. One process writes at a
// time: the others need not look for the topology either.
class TopologyFileWriter {
  public:
    // Fails (limit) while another process writes it, else as system_error() says.
    static Result<TopologyFileWriter> begin(const std::string &path);
    // Empty `xml`: none can be kept. To be called once. Fails as system_error() says, and (limit) above 16 MiB.
    Result<void> finish(const std::string &state, std::string_view xml);

  private:
    TopologyFileWriter(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::string path_;
    UniqueFd fd_; // of path_ with ".new" behind it, locked
};

} // namespace pmixhost
