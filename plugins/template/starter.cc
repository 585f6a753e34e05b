// The template's "RM": pmixhost-template HOSTS TASKS_OF_EACH PROGRAM [ARGUMENT ...]
//
// Starts a daemon for each "host", all on this machine, and the tasks, each of which fetches its environment at its
// host's task door just before its exec. The exit code is the one that a daemon names, else the first of a task that
// is not 0.
#include "common/base/fd_pair.h"
#include "common/process/exit_code.h"
#include "common/start/step_secret.h"
#include "plugins/kit/daemon_start.h"
#include "plugins/kit/door_client.h"
#include "plugins/kit/step_document.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <poll.h>
#include <sys/wait.h>

namespace pmixhost::sample {
namespace {

struct Host {
    UniqueFd daemon; // a line from it ends the job, the end of file is that of the daemon
    std::vector<pid_t> tasks;
};

struct Job {
    char **program;
    std::string directory;
    kit::StepDescription step;
    std::vector<Host> started;
};

[[noreturn]] void become_task(const Job &job, const std::string &door, Rank rank) {
    auto variables = kit::ask_at_door(door, ::getuid(), rank, std::chrono::seconds(30));
    if (variables) {
        for (auto &variable : *variables) {
            std::string name = variable.substr(1, variable.find('=') - 1);
            if (!variable.starts_with('?'))
                ::putenv(variable.data());
            else if (!::getenv(name.c_str())) // contrib/doc/task-door.md
                ::putenv(variable.data() + 1);
        }
        ::execvp(job.program[0], job.program);
    }
    fmt::print(stderr, "rank {}: {}\n", rank, variables ? std::strerror(errno) : variables.failure().text);
    ::_exit(127);
}

Result<void> start_host(Job &job, std::size_t self) {
    auto channel = make_socket_pair();
    if (!channel)
        return channel.failure();
    StartDocument document;
    Result<void> added = kit::describe_step(document, "template", job.step);
    for (const auto &[key, value] :
         {std::pair("backend", std::string("template")), std::pair("template.directory", job.directory),
          std::pair("template.starter_fd", std::to_string(channel->second.get()))})
        added = added ? document.add(key, value) : added;
    if (!added)
        return added;
    kit::DaemonLaunch launch;
    const char *other = std::getenv("PMIXHOST_PMIXHOSTD");
    launch.path = other ? other : PMIXHOST_LIBEXECDIR "/pmixhostd";
    launch.user = {::getuid(), ::getgid(), {}, {}, {}};
    launch.descriptors = {channel->second.get()};
    auto daemon = kit::start_daemon(std::move(document), job.step.hosts[self], std::move(launch));
    if (!daemon)
        return daemon.failure();
    Host &host = job.started.emplace_back();
    host.daemon = std::move(channel->first);
    for (Rank rank : job.step.ranks_by_host[self]) {
        pid_t pid = ::fork();
        if (pid == 0)
            become_task(job, daemon->door, rank);
        if (pid < 0)
            return system_error("fork", errno);
        host.tasks.push_back(pid);
    }
    return {};
}

void end_tasks(const Host &host) {
    for (pid_t pid : host.tasks)
        ::kill(pid, SIGKILL); // not waited for yet, so the number is its own
}

// Hears the daemons until the last one has ended. Returns the exit status that one of them wanted; 0: none did.
int hear_daemons(Job &job) {
    int code = 0;
    for (std::size_t left = job.started.size(); left > 0;) {
        std::vector<pollfd> wait;
        for (const auto &host : job.started)
            wait.push_back({host.daemon.get(), POLLIN, 0}); // -1 is left out
        ::poll(wait.data(), wait.size(), -1);
        for (auto &host : job.started) {
            char line[4096];
            ssize_t n = host.daemon ? ::recv(host.daemon.get(), line, sizeof line - 1, MSG_DONTWAIT) : -1;
            if (n > 0 && code == 0) {
                line[n] = '\0';
                char *text = line;
                code = static_cast<int>(std::strtol(line, &text, 10));
                fmt::print(stderr, "pmixhost-template:{}", text);
                std::for_each(job.started.begin(), job.started.end(), end_tasks);
            } else if (n == 0) {
                end_tasks(host); // it leaves when they have ended, or has died
                host.daemon.reset();
                --left;
            }
        }
    }
    return code;
}

int run(std::size_t hosts, Rank tasks_of_each, char **program) {
    const char *temporary = std::getenv("TMPDIR");
    Job job{program, fmt::format("{}/pmixhost-template.XXXXXX", temporary ? temporary : "/tmp"), {}, {}};
    if (!::mkdtemp(job.directory.data()))
        return 1;
    job.step = {std::filesystem::path(job.directory).filename(), new_step_secret(), {}, {}, {{}}};
    for (char **word = program; *word; ++word)
        job.step.apps[0].argv.emplace_back(*word);
    for (std::size_t host = 0; host < hosts; ++host) {
        job.step.hosts.push_back(fmt::format("host{}", host));
        auto &ranks = job.step.ranks_by_host.emplace_back(tasks_of_each);
        std::iota(ranks.begin(), ranks.end(), static_cast<Rank>(host) * tasks_of_each);
    }
    int code = 0;
    for (std::size_t host = 0; host < hosts && code == 0; ++host) {
        if (auto started = start_host(job, host); !started) {
            fmt::print(stderr, "pmixhost-template: {}\n", started.failure().text);
            std::for_each(job.started.begin(), job.started.end(), end_tasks);
            code = 1;
        }
    }
    int wanted = hear_daemons(job);
    for (const auto &host : job.started) {
        for (pid_t pid : host.tasks) {
            int status = 0;
            ::waitpid(pid, &status, 0);
            if (code == 0 && status != 0)
                code = exit_code_of(status);
        }
    }
    std::filesystem::remove_all(job.directory);
    return wanted != 0 ? wanted : code;
}

} // namespace
} // namespace pmixhost::sample

int main(int argc, char **argv) {
    if (argc >= 4 && std::atoi(argv[1]) > 0 && std::atoi(argv[2]) > 0)
        return pmixhost::sample::run(static_cast<std::size_t>(std::atoi(argv[1])),
                                     static_cast<pmixhost::Rank>(std::atoi(argv[2])), argv + 3);
    fmt::print(stderr, "Usage: pmixhost-template HOSTS TASKS_OF_EACH PROGRAM [ARGUMENT ...]\n");
    return 2;
}
