// See agent_description.h.
#include "common/start/agent_description.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

static constexpr int all_seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

// As a program of a spawned job is written, whose environment has been made.
Result<UniqueFd> seal_agent_description(const AgentDescription &description) {
    TaskApp app;
    app.first = description.rank;
    app.count = 1;
    app.program = description.file;
    app.argv = description.argv;
    app.directory = description.directory;
    for (const auto &entry : description.environment) {
        if (std::size_t equals = entry.find('='); equals != std::string::npos)
            app.changes.push_back(
                {EnvironmentChange::Kind::set, entry.substr(0, equals), entry.substr(equals + 1), ':'});
    }
    auto text = encode_task_spec({app});
    if (!text)
        return text.failure();
    UniqueFd file(::memfd_create("pmixhost-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file)
        return system_error("memfd_create", errno);
    for (std::string_view rest = *text; !rest.empty();) {
        ssize_t n = ::write(file.get(), rest.data(), rest.size());
        if (n < 0 && errno != EINTR)
            return system_error("write", errno);
        rest.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    if (::fcntl(file.get(), F_ADD_SEALS, all_seals) != 0)
        return system_error("fcntl(F_ADD_SEALS)", errno);
    return {std::move(file)};
}

Result<AgentDescription> read_agent_description(int fd) {
    // Nothing but a file in memory has seals.
    int seals = ::fcntl(fd, F_GET_SEALS);
    struct stat status {};
    if (seals < 0 || (seals & all_seals) != all_seals || ::fstat(fd, &status) != 0 || status.st_size < 0 ||
        static_cast<std::size_t>(status.st_size) > max_task_spec)
        return error(ErrorKind::invalid, "this is no description for a fork/exec agent");
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t at = 0; at < text.size();) {
        ssize_t n = ::pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error(ErrorKind::invalid, "the description for a fork/exec agent cannot be read");
        at += static_cast<std::size_t>(n);
    }
    auto apps = decode_task_spec(text);
    if (!apps)
        return apps.failure();
    if (apps->size() != 1)
        return error(ErrorKind::invalid, "the description for a fork/exec agent has {} programs", apps->size());
    TaskApp &app = apps->front();
    AgentDescription out{app.first, std::move(app.program), std::move(app.argv), {}, std::move(app.directory)};
    for (const auto &change : app.changes)
        out.environment.push_back(change.name + "=" + change.value);
    return out;
}

// Without the URI a tool searches below PMIX_SYSTEM_TMPDIR, which is the daemon's directory, for the file of its host,
// whose name is the system's and not the RM's.
bool is_not_for_agents(std::string_view variable) {
    std::string_view name = variable.substr(0, variable.find('='));
    return name == "PMIX_NAMESPACE" || name == "PMIX_RANK" || name == "PMIX_HOSTNAME" ||
           name.starts_with("PMIX_SERVER_URI");
}

} // namespace pmixhost
