// See rendezvous_files.h.
#include "server-glue/tool_access/rendezvous_files.h"

#include "common/base/unique_fd.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <set>
#include <unistd.h>

namespace pmixhost {

std::string rendezvous_uri(const RendezvousServer &server) {
    return fmt::format("{}.{};{}", server.nspace, server.rank, server.address);
}

std::string rendezvous_text(const RendezvousServer &server) {
    tm time{};
    char line[64] = "";
    if (gmtime_r(&server.started, &time))
        strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ", &time);
    return fmt::format("{}\n{}\n{}\n{}:{}\n{}\n", rendezvous_uri(server), server.version, server.pid, server.uid,
                       server.gid, line);
}

std::vector<std::string> rendezvous_names(const std::string &host, const RendezvousServer &server,
                                          const std::string &job_nspace) {
    std::vector<std::string> names;
    for (const std::string &form : std::set<std::string>{host, host.substr(0, host.find('.'))}) {
        std::string any = fmt::format("pmix.{}.tool", form);
        names.insert(names.end(), {any, fmt::format("{}.{}", any, server.pid), fmt::format("{}.{}", any, server.nspace),
                                   fmt::format("{}.{}", any, job_nspace)});
    }
    return names;
}

static Result<void> write_file(const std::string &path, const std::string &text) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd)
        return system_error(fmt::format("cannot make the file {}", path), errno);
    ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
        return system_error(fmt::format("cannot write the file {}", path), written < 0 ? errno : ENOSPC);
    return {};
}

Result<void> write_rendezvous_files(const std::string &directory, const std::vector<std::string> &names,
                                    const std::string &text) {
    std::string whole = directory + "/rendezvous";
    if (auto written = write_file(whole, text); !written) {
        ::unlink(whole.c_str());
        return written;
    }
    for (const std::string &name : names) {
        std::string path = fmt::format("{}/{}", directory, name);
        if (::link(whole.c_str(), path.c_str()) != 0)
            return system_error(fmt::format("cannot make the file {}", path), errno);
    }
    return {};
}

} // namespace pmixhost
