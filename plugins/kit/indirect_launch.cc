// See indirect_launch.h.
#include "plugins/kit/indirect_launch.h"

#include "common/base/fd_pair.h"
#include "common/job/debug_stops.h"
#include "plugins/kit/clean_spawn.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace pmixhost::kit {

namespace {

constexpr auto keepalive_variable = "PMIX_KEEPALIVE_PIPE";

// The descriptor that a variable names; -1: none.
int descriptor(const char *variable) {
    const char *text = getenv(variable);
    int fd = -1;
    if (text) {
        auto [end, code] = std::from_chars(text, text + std::strlen(text), fd);
        if (code != std::errc() || *end != '\0' || fd <= STDERR_FILENO || fcntl(fd, F_GETFD) < 0)
            fd = -1;
    }
    return fd;
}

} // namespace

bool is_debuggers(std::string_view variable) {
    static constexpr std::string_view all[] = {debugger_uri_variable,    "PMIX_NAMESPACE",     "PMIX_RANK",
                                               "PMIX_SERVER_NSPACE",     "PMIX_SERVER_RANK",   "PMIX_SECURITY_MODE",
                                               "PMIX_BFROP_BUFFER_TYPE", "PMIX_GDS_MODULE",    "PMIX_SERVER_TMPDIR",
                                               "PMIX_SYSTEM_TMPDIR",     "PMIX_HOSTNAME",      "PMIX_VERSION",
                                               keepalive_variable,       indirect_fd_variable, holder_variable,
                                               own_allocation_variable};
    return std::find(std::begin(all), std::end(all), variable) != std::end(all) ||
           variable.starts_with("PMIX_SERVER_URI");
}

// A terminal's input goes to who has the terminal, and is left alone.
static Result<FdPair> input_for_debugger() {
    struct stat what {};
    bool is_terminal = ::fstat(STDIN_FILENO, &what) == 0 && S_ISCHR(what.st_mode) && ::isatty(STDIN_FILENO);
    return is_terminal ? Result<FdPair>(FdPair()) : make_pipe();
}

std::string holder_of_starter() {
    const char *words = getenv(std::string(holder_variable).c_str());
    return words ? words : "";
}

static void forget_debuggers_variables() {
    std::vector<std::string> names;
    for (char **entry = environ; *entry; ++entry) {
        std::string name(*entry, std::strcspn(*entry, "="));
        if (is_debuggers(name) && name != holder_variable)
            names.push_back(std::move(name));
    }
    for (const auto &name : names)
        unsetenv(name.c_str());
}

Result<void> begin_indirect_launch(const std::string &program, bool allocates) {
    auto channel = make_socket_pair();
    auto input = channel ? input_for_debugger() : Result<FdPair>(channel.failure());
    if (!input)
        return input.failure();
    auto own = moved_up(channel->first.get()); // above the standard streams, which may be closed
    if (!own)
        return own.failure();
    channel->first.reset();
    struct stat what {};
    int named = descriptor(keepalive_variable);
    bool is_pipe = named >= 0 && ::fstat(named, &what) == 0 && S_ISFIFO(what.st_mode);
    UniqueFd keepalive(is_pipe ? named : -1); // the end of the debugger is not this process' business
    CleanSpawn spawn{"the debugger's launcher", {program}, {}, environ};
    std::vector<UniqueFd> moved;
    auto give = [&](const UniqueFd &fd) -> Result<void> {
        auto high = moved_up(fd.get());
        if (!high)
            return high.failure();
        spawn.descriptors.push_back(high->get());
        moved.push_back(std::move(*high));
        return {};
    };
    Result<void> given = give(channel->second);
    if (given && input->second) {
        given = give(input->second);
        spawn.words.push_back("relay");
    }
    if (!holder_of_starter().empty())
        spawn.words.push_back("serve");
    if (given && keepalive) {
        given = give(keepalive);
        setenv(keepalive_variable, std::to_string(STDERR_FILENO + spawn.descriptors.size()).c_str(), 1);
    } else {
        unsetenv(keepalive_variable);
    }
    auto pid = given ? spawn_clean(spawn) : Result<pid_t>(given.failure());
    forget_debuggers_variables();
    if (!pid)
        return pid.failure();
    if (input->first)
        ::dup2(input->first.get(), STDIN_FILENO);
    setenv(std::string(indirect_fd_variable).c_str(), std::to_string(own->release()).c_str(), 1);
    if (allocates)
        setenv(std::string(own_allocation_variable).c_str(), "1", 1);
    return {};
}

bool take_own_allocation() {
    const char *says = getenv(std::string(own_allocation_variable).c_str());
    const bool allocates = says && std::string_view(says) == "1";
    unsetenv(std::string(own_allocation_variable).c_str());
    return allocates;
}

void say_allocated(int channel, const Allocated &allocation) {
    const std::string line = allocation.line();
    [[maybe_unused]] ssize_t said = ::send(channel, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool take_holder() {
    bool holds = !holder_of_starter().empty();
    unsetenv(std::string(holder_variable).c_str());
    return holds;
}

UniqueFd take_indirect_channel() {
    int fd = descriptor(std::string(indirect_fd_variable).c_str());
    unsetenv(std::string(indirect_fd_variable).c_str());
    ucred made_by{};
    socklen_t length = sizeof made_by;
    // The user's environment may say anything.
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &made_by, &length) != 0 || made_by.pid != ::getpid())
        return {};
    return UniqueFd(fd);
}

Result<Released> await_release(int channel, std::chrono::milliseconds look_again,
                               const std::function<Result<void>()> &goes_on) {
    constexpr std::size_t longest = DebugStops::max_text + 8192;
    std::string line;
    for (char c; line.size() < longest;) {
        pollfd said{channel, POLLIN, 0};
        int ready = ::poll(&said, 1, static_cast<int>(look_again.count()));
        if (auto still = ready == 0 ? goes_on() : Result<void>(); !still)
            return still.failure();
        if (ready <= 0)
            continue;
        ssize_t got = ::read(channel, &c, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error(ErrorKind::unreachable, "the debugger that has started this job is gone");
        if (c == '\n')
            return parse_released(line);
        line += c;
    }
    return error(ErrorKind::limit, "what shall stop for the debugger has over {} bytes", longest);
}

namespace {
struct ExitChannel {
    int fd;        // a copy, so that the other side sees the end when this process ends
    pid_t process; // a fork of it ends earlier, and does not speak
};

void say_exit_code(int status, void *data) {
    const auto *channel = static_cast<const ExitChannel *>(data);
    if (::getpid() != channel->process)
        return;
    char line[32];
    int length = std::snprintf(line, sizeof line, "%.*s%d\n", static_cast<int>(exited_word.size()), exited_word.data(),
                               status & 0xff);
    [[maybe_unused]] ssize_t sent =
        ::send(channel->fd, line, static_cast<std::size_t>(length), MSG_NOSIGNAL | MSG_DONTWAIT);
}
} // namespace

void tell_exit_code(int channel) {
    Dl_info here{};
    if (::dladdr(reinterpret_cast<void *>(&say_exit_code), &here) == 0)
        return;
    int copy = ::fcntl(channel, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0)
        return;
    // A program that this is linked into is no library, and stays.
    if (here.dli_fname)
        (void)::dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    ::on_exit(say_exit_code, new ExitChannel{copy, ::getpid()}); // for as long as the process is there
}

} // namespace pmixhost::kit
