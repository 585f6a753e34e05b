// pmixhost-task: what the RM starts for each process of PMIx_Spawn. Becomes the process' program, in
// its directory and with its environment (common/start/task_spec.h), and tells the daemon whether that
// went well. Small, because it is on the way of every spawned process: no library but libc's.
#include "common/process/descriptor_message.h"
#include "common/process/exec_stop.h"
#include "common/process/output_file.h"
#include "common/process/pointers.h"
#include "common/start/agent_description.h"
#include "common/start/task_spec.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

namespace pmixhost {
namespace {

std::uint32_t number(const char *name, std::uint32_t otherwise) {
    const char *text = getenv(name);
    std::uint32_t value = otherwise;
    if (text)
        std::from_chars(text, text + std::strlen(text), value);
    return value;
}

// Says why on the daemon's descriptor; without a daemon, on the standard error.
[[noreturn]] void fail(int fd, char stage, int error_number, const std::string &text) {
    std::string line = fmt::format("-{}{} {}", stage, error_number, text);
    if (fd < 0 || ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
        fmt::print(stderr, "pmixhost: {}\n", text);
    } else {
        // When the last task has ended, the RM ends the daemon: not before it has told why.
        ::shutdown(fd, SHUT_WR);
        alarm(20);
        char byte;
        while (::read(fd, &byte, 1) > 0) {
        }
    }
    std::_Exit(error_number > 0 && error_number < 128 ? error_number : 127);
}

std::string value_of(const std::vector<std::string> &environment, std::string_view name) {
    for (const auto &entry : environment) {
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
            return entry.substr(name.size() + 1);
    }
    return {};
}

// Finds it as execvp does, with the program's own PATH, and then, as srun and mpirun do, in its directory.
std::string find_program(const std::string &name, const std::vector<std::string> &environment) {
    if (name.find('/') != std::string::npos)
        return name;
    std::string path = value_of(environment, "PATH");
    if (path.empty())
        path = "/usr/local/bin:/usr/bin:/bin";
    path += ':';
    std::string denied;
    for (std::size_t at = 0; at <= path.size();) {
        std::size_t end = std::min(path.find(':', at), path.size());
        std::string file = path.substr(at, end - at);
        file = file.empty() ? "./" + name : file + "/" + name;
        struct stat status {};
        if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
            if (::access(file.c_str(), X_OK) == 0)
                return file;
            denied = file;
        }
        at = end + 1;
    }
    return denied;
}

// A directory of a container is not there outside of it: then its prefix goes there. False: it is not in the directory.
bool enter_directory(int fd, const TaskApp &app) {
    if (app.directory.empty() || ::chdir(app.directory.c_str()) == 0)
        return true;
    int error_number = errno;
    if (app.prefix.empty() || (error_number != ENOENT && error_number != ENOTDIR))
        fail(fd, 'd', error_number,
             fmt::format("cannot enter the directory {} for {}: {}", app.directory, app.program,
                         std::strerror(error_number)));
    return false;
}

// A copy is the daemon's to make: a process of the step's would be killed with its last task, with what it has not yet
// written.
Result<void> lead_to(int fd, int stream, const std::string &file, bool only) {
    if (only)
        return lead_to_file(stream, file);
    auto copy = lead_to_copy(stream, file);
    if (!copy)
        return copy.failure();
    for (const UniqueFd *each : {&copy->writers, &copy->old_destination, &copy->file}) {
        if (auto sent = send_descriptor(fd, "c", each->get()); !sent)
            return sent;
    }
    return {};
}

void end_input(int fd) {
    ::close(STDIN_FILENO);
    if (::open("/dev/null", O_RDONLY) != STDIN_FILENO) // the lowest that is free
        fail(fd, 's', errno, fmt::format("/dev/null cannot be its input: {}", std::strerror(errno)));
}

// Relative names are of the directory that it is in.
void lead_output(int fd, const TaskApp &app, std::uint32_t rank, bool entered) {
    if (!entered && app.output.place != TaskOutput::Place::nowhere && !app.output.path.starts_with('/'))
        fail(fd, 'o', ENOENT,
             fmt::format("the output of {} cannot go to {}: its directory {} is not there outside of the container; "
                         "give the file's whole path",
                         app.program, app.output.path, app.directory));
    const char *nspace = getenv("PMIX_NAMESPACE");
    for (auto [stream, channel] : {std::pair(STDOUT_FILENO, "stdout"), std::pair(STDERR_FILENO, "stderr")}) {
        if (app.output.place == TaskOutput::Place::nowhere || (app.merge && stream == STDERR_FILENO))
            continue;
        auto led = lead_to(fd, stream, output_file(app.output, nspace ? nspace : "", rank, channel), app.output.only);
        if (!led)
            fail(fd, 'o', led.failure().kind == ErrorKind::denied ? EACCES : EIO,
                 fmt::format("the output of {} cannot go to a file: {}", app.program, led.failure().text));
    }
    if (app.merge)
        ::dup2(STDOUT_FILENO, STDERR_FILENO);
}

// The command line that is executed, and its program's file. `outside`: the environment without what the spawn changes
// for its own program.
std::string find_command(int fd, TaskApp &app, const std::vector<std::string> &environment,
                         const std::vector<std::string> &outside) {
    if (app.prefix.empty()) {
        std::string file = find_program(app.program, environment);
        if (file.empty())
            fail(fd, 'p', ENOENT, fmt::format("there is no program {} in PATH or its directory", app.program));
        return file;
    }
    std::string file = find_program(app.prefix.front(), outside);
    if (file.empty())
        fail(fd, 'p', ENOENT,
             fmt::format("there is no program {} in PATH, with which {} should be started (the setting spawn_prefix)",
                         app.prefix.front(), app.program));
    std::vector<std::string> argv = app.prefix;
    argv.push_back(app.program);
    if (!app.argv.empty())
        argv.insert(argv.end(), app.argv.begin() + 1, app.argv.end());
    app.argv = std::move(argv);
    return file;
}

// From here on the program is the agent, which asks the daemon, as a tool, what it is to start. It is in the program's
// directory, unless that is there in a container alone.
void put_agent_before(int fd, TaskApp &app, std::uint32_t rank, std::string &file,
                      std::vector<std::string> &environment) {
    // What execve(2) would say; the agent's own failure would come when the start has been told.
    struct stat status {};
    int error_number = 0;
    if (::stat(file.c_str(), &status) != 0 || ::access(file.c_str(), X_OK) != 0)
        error_number = errno;
    else if (!S_ISREG(status.st_mode))
        error_number = EACCES;
    if (error_number != 0)
        fail(fd, 'p', error_number, fmt::format("cannot execute {}: {}", file, std::strerror(error_number)));
    char *directory = ::getcwd(nullptr, 0);
    AgentDescription description{rank, file, app.argv, environment, directory ? directory : ""};
    std::free(directory);
    auto sealed = seal_agent_description(description);
    auto sent = sealed ? send_descriptor(fd, "d", sealed->get()) : Result<void>(sealed.failure());
    if (!sent)
        fail(fd, 's', EIO,
             fmt::format("the agent {} cannot be told of {} (PMIX_FORKEXEC_AGENT): {}", app.fork_agent, file,
                         sent.failure().text));
    file = find_program(app.fork_agent, environment);
    if (file.empty())
        fail(fd, 'p', ENOENT, fmt::format("there is no program {} in PATH (PMIX_FORKEXEC_AGENT)", app.fork_agent));
    app.argv = {app.fork_agent};
    std::erase_if(environment, is_not_for_agents);
}

[[noreturn]] void become() {
    int fd = static_cast<int>(number("PMIXHOST_TASK_FD", UINT32_MAX));
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        fd = -1;
    if (fd >= 0 && ::send(fd, "+", 1, MSG_NOSIGNAL) != 1)
        fd = -1;
    std::uint32_t rank = number("PMIX_RANK", UINT32_MAX);
    auto text = collect_task_spec(environ);
    if (!text)
        fail(fd, 's', EINVAL, text.failure().text);
    auto apps = decode_task_spec(*text);
    if (!apps)
        fail(fd, 's', EINVAL, apps.failure().text);
    TaskApp *app = nullptr;
    for (auto &entry : *apps) {
        if (rank - entry.first < entry.count)
            app = &entry;
    }
    if (!app)
        fail(fd, 's', EINVAL, fmt::format("there is no program for rank {}", rank));

    std::vector<std::string> environment;
    for (char **entry = environ; *entry; ++entry) {
        std::string_view variable = *entry;
        if (!variable.starts_with(task_spec_prefix) && !variable.starts_with(task_fd_variable))
            environment.emplace_back(variable);
    }
    const std::vector<std::string> outside = environment;
    apply_changes(app->changes, environment);
    bool entered = enter_directory(fd, *app);
    if (!app->prefix.empty() && !app->directory.empty())
        apply_changes({{EnvironmentChange::Kind::set, spawn_directory_variable, app->directory}}, environment);
    if (app->index_argv && !app->argv.empty())
        app->argv.front() += fmt::format("-{}", rank);
    std::string file = find_command(fd, *app, environment, outside);
    bool stops = std::any_of(app->stop_on_exec.begin(), app->stop_on_exec.end(),
                             [rank](const auto &range) { return range.first <= rank && rank <= range.second; });
    if (stops && !app->prefix.empty())
        fail(fd, 's', ENOTSUP,
             fmt::format("{} cannot be stopped at its first instruction: it is started with {} (the setting "
                         "spawn_prefix)",
                         app->program, app->prefix.front()));
    if (app->no_input)
        end_input(fd);
    lead_output(fd, *app, rank, entered);
    if (stops) {
        auto armed = arm_exec_stop();
        auto sent = armed ? send_descriptor(fd, "=", armed->get()) : Result<void>(armed.failure());
        if (!sent)
            fail(fd, 's', EIO,
                 fmt::format("{} cannot be stopped at its first instruction: {}", file, sent.failure().text));
    }
    if (!app->fork_agent.empty())
        put_agent_before(fd, *app, rank, file, environment);
    auto argv = pointers_to(app->argv), envp = pointers_to(environment);
    ::execve(file.c_str(), argv.data(), envp.data());
    fail(fd, 'p', errno, fmt::format("cannot execute {}: {}", file, std::strerror(errno)));
}

} // namespace
} // namespace pmixhost

// Without arguments it becomes a program; with one it copies output, for the daemon (common/process/output_file.h).
int main(int argc, char **argv) {
    if (argc == 2 && !std::strcmp(argv[1], pmixhost::copy_argument)) {
        pmixhost::copy_output();
        return 0;
    }
    try {
        pmixhost::become();
    } catch (const std::exception &) {
        return 127;
    }
}
