// pmixhost-topology: has hwloc look for the topology of this host, and keeps it in a file for the daemons of all users
// (common/process/topology_file.h). Started as root by the RM's process for a step (topology_keeper.h).
//
//   pmixhost-topology FILE
//
// Root writes, and looks at nothing: a child that has become nobody looks, so that the file has nothing in it that not
// everybody may read (serial numbers in /sys/class/dmi, say), and so that hwloc's plugins are nobody's. That child has
// changed its user without an exec, and so no other process of nobody's can trace it; it has nothing but a pipe to
// root, and ends with it.
#include "common/base/fd_pair.h"
#include "common/base/small_file.h"
#include "common/process/topology.h"
#include "common/process/topology_file.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {
namespace {

constexpr uid_t nobody = 65534; // on each Linux, whatever its name
constexpr int looked = 0, failed = 1, cannot_be_kept = 3;
constexpr std::size_t max_xml = 16u << 20;

// Whoever made it is `parent`.
bool ends_with(pid_t parent) {
    return ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::getppid() == parent;
}

bool become_nobody() {
    if (::geteuid() != 0)
        return true; // a test: there is nothing to lose
    return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
           ::setresuid(nobody, nobody, nobody) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::setuid(0) != 0;
}

// In the child: writes the topology there.
int look(int out, pid_t parent) {
    if (!become_nobody() || !ends_with(parent)) // a change of the user would take that back
        return failed;
    limit_hwloc();
    auto xml = Topology::whole_machine_xml();
    if (!xml)
        return xml.failure().kind == ErrorKind::unsupported ? cannot_be_kept : failed;
    for (std::size_t at = 0; at < xml->size();) {
        ssize_t written = ::write(out, xml->data() + at, xml->size() - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return failed;
        at += static_cast<std::size_t>(written);
    }
    return looked;
}

// Empty: none can be kept here. The child must not have what `writer` has.
Result<std::string> have_it_looked_for(TopologyFileWriter &writer) {
    auto line = make_pipe();
    if (!line)
        return line.failure();
    const pid_t self = ::getpid();
    pid_t child = ::fork(); // there is one thread
    if (child < 0)
        return system_error("fork", errno);
    if (child == 0) {
        line->first.reset();
        { auto closed = std::move(writer); }
        ::_exit(look(line->second.get(), self));
    }
    line->second.reset();
    auto xml = read_all(line->first.get(), "the topology", max_xml);
    line->first.reset(); // who has more to say ends
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != looked && WEXITSTATUS(status) != cannot_be_kept))
        return error(ErrorKind::system, "the topology of this host was not found (wait status {:#x})", status);
    return WEXITSTATUS(status) == cannot_be_kept ? Result<std::string>(std::string()) : xml;
}

Result<void> keep(const std::string &file) {
    // Before hwloc looks: what changes meanwhile must not look like what it has found.
    std::string state = machine_state();
    if (topology_file_is_current(file, state))
        return {};
    auto writer = TopologyFileWriter::begin(file);
    if (!writer)
        return writer.failure();
    auto xml = have_it_looked_for(*writer);
    return xml ? writer->finish(state, *xml) : Result<void>(xml.failure());
}

} // namespace
} // namespace pmixhost

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fputs("usage: pmixhost-topology FILE\n", stderr);
        return 2;
    }
    try {
        auto kept = pmixhost::keep(argv[1]);
        if (!kept)
            fmt::print(stderr, "pmixhost-topology: {}\n", kept.failure().text);
        return kept ? 0 : 1;
    } catch (const std::exception &e) {
        fmt::print(stderr, "pmixhost-topology: {}\n", e.what());
        return 1;
    }
}
