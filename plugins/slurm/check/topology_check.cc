// See topology_check.h.
#include "plugins/slurm/check/topology_check.h"

#include "common/process/topology_file.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::slurm {

std::string topology_path(const ControllerConfig &config, const std::string &node, const std::string &host) {
    std::string path = config["SlurmdSpoolDir"];
    if (path.empty())
        return path;
    path += "/pmixhost_topology";
    for (const auto &[sign, text] : {std::pair<std::string_view, const std::string &>("%n", node), {"%h", host}}) {
        for (std::size_t at = 0; (at = path.find(sign, at)) != std::string::npos; at += text.size())
            path.replace(at, sign.size(), text);
    }
    return path;
}

static constexpr char check[] = "topology file";

static bool others_may_write(const std::string &path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

// Where there is none of now.
static Finding to_be_made(const std::string &why, const std::string &program) {
    for (const auto &path : {program, program.substr(0, program.rfind('/') + 1)}) {
        if (others_may_write(path))
            return doubtful(check,
                            fmt::format("{}, and none is made, as others than root may write {}: each daemon of a step "
                                        "looks for itself",
                                        why, path),
                            fmt::format("chown root {0} && chmod go-w {0}", path));
    }
    return fine(check, why + ": the next step makes it");
}

Finding finding_of_topology_file(const std::string &path, const std::string &state, const std::string &program,
                                 const Settings &settings) {
    if (settings.daemon_topology != "kept")
        return fine(check, fmt::format("not used (daemon.topology = \"{}\")", settings.daemon_topology));
    if (path.empty())
        return fine(check, "the controller does not tell SlurmdSpoolDir");
    if (::access(path.c_str(), R_OK) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return to_be_made(path + " is not there", program);
        return doubtful(check,
                        fmt::format("{}: {}; so each daemon of a step looks for itself", path, std::strerror(errno)),
                        fmt::format("let users read it: chmod o+x {}", path.substr(0, path.rfind('/'))));
    }
    auto xml = read_topology_file(path, state);
    if (xml)
        return fine(check, fmt::format("{}, {} KiB", path, (xml->size() + 1023) / 1024));
    if (xml.failure().kind == ErrorKind::not_found)
        return to_be_made(xml.failure().text, program);
    if (xml.failure().kind == ErrorKind::unsupported)
        return fine(check, xml.failure().text);
    return doubtful(check, xml.failure().text + "; so each daemon of a step looks for itself",
                    fmt::format("rm {}: the next step makes it anew", path));
}

} // namespace pmixhost::slurm
