// See prefork.h.
#include "plugins/slurm/shim/prefork.h"

#include "common/base/fd_pair.h"
#include "common/start/spawn_channel.h"
#include "common/start/start_fd.h"
#include "plugins/kit/daemon_channels.h"
#include "plugins/kit/daemon_launch.h"
#include "plugins/kit/topology_keeper.h"
#include "plugins/slurm/base/contacts_directory.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/attach_output.h"
#include "plugins/slurm/shim/daemon_path.h"
#include "plugins/slurm/shim/hook_env.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

namespace pmixhost::slurm {

namespace {

constexpr unsigned cleaning_seconds = 30;
// How long the ends wait where a cgroup has to be emptied.
constexpr auto removing_patience = std::chrono::seconds(5), killing_patience = std::chrono::seconds(5);
// And how long a daemon has where there is none.
constexpr auto leaving_patience = std::chrono::seconds(5);

// What the daemon is given besides the document.
struct Channels {
    UniqueFd door, page, document, lifeline, output;
};

UniqueFd hold(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Result<StartDocument> start_document(const Surroundings &around, const Prepared &prepared, const Channels &channels,
                                     char *const *environment) {
    auto map = collect_task_map(environment);
    if (!map)
        return map.failure();
    StartDocument document;
    Result<void> added;
    auto add = [&](std::string_view key, std::string_view value) {
        if (added)
            added = document.add(key, value);
    };
    add("backend", "slurm");
    add("door_fd", std::to_string(channels.door.get()));
    add("status_fd", std::to_string(channels.page.get()));
    add("host", prepared.host);
    add("job", std::to_string(prepared.step.job_id));
    add("step", std::to_string(prepared.step.step_id));
    add("slurm.job_id", std::to_string(prepared.step.job_id));
    add("slurm.step_id", std::to_string(prepared.step.step_id));
    if (prepared.step.het_component)
        add("slurm.het_component", std::to_string(*prepared.step.het_component));
    add("slurm.task_map", *map);
    if (auto report = find_variable(environment, report_variable); !report.empty())
        add("slurm.report", report);
    if (!prepared.secret.empty())
        add("slurm.secret", prepared.secret);
    if (auto parent = find_variable(environment, parent_variable); !parent.empty())
        add("slurm.parent", parent);
    if (find_variable(environment, live_on_variable) == "1")
        add("live_on", "1");
    if (find_variable(environment, bad_exit_variable) == "1")
        add("ends_on_bad_exit", "1");
    if (find_variable(environment, launcher_file_awaited) == "1")
        add("slurm.launcher_file", "1");
    if (find_variable(environment, launch_awaited) == "1") {
        add("slurm.tells_launch", "1");
        if (auto ends = told_ends_of(find_variable(environment, ends_awaited)); ends != ToldEnds::none)
            add("slurm.tells_ends", word_of(ends));
    }
    if (auto use = find_variable(environment, pmix_use_variable); !use.empty())
        add("slurm.pmix_use", use);
    if (!around.topology_file.empty())
        add("slurm.topology", around.topology_file);
    if (!around.contacts.empty())
        add("slurm.contacts", around.contacts);
    add("slurm.lifeline_fd", std::to_string(channels.lifeline.get()));
    if (channels.output)
        add("slurm.output_fd", std::to_string(channels.output.get()));
    for (const auto &variable : user_variables(environment))
        add("env", variable);
    if (!added)
        return added.failure();
    return document;
}

Result<void> start(const Surroundings &around, char *const *environment, Prepared &prepared) {
    auto own = around.own_step(prepared.step, prepared.host);
    if (!own)
        return own.failure();
    prepared.uid = own->uid;
    auto user = around.user(own->uid);
    if (!user)
        return user.failure();
    if (!around.contacts.empty()) {
        if (auto made = make_contacts_directory(around.contacts); !made)
            return made.failure();
    }
    if (around.mount_namespace)
        prepared.mount_namespace = around.mount_namespace(prepared.step);

    Channels channels;
    auto page = make_status_page(channels.page);
    if (!page)
        return page.failure();
    prepared.page = *page;
    auto door = kit::make_task_door(prepared.door);
    if (!door)
        return door.failure();
    channels.door = std::move(*door);
    auto line = make_pipe();
    if (!line)
        return line.failure();
    channels.lifeline = std::move(line->first);
    prepared.lifeline = std::move(line->second);
    if (auto source = around.output_source ? around.output_source(*own) : nullptr)
        prepared.output = OutputOffer::make(std::move(source), channels.output);
    auto document = start_document(around, prepared, channels, environment);
    if (!document)
        return document.failure();
    auto file = open_start_document(*document);
    if (!file)
        return file.failure();
    channels.document = std::move(*file);

    kit::DaemonLaunch launch;
    launch.path = around.daemon;
    launch.arguments = {"--start-fd", std::to_string(channels.document.get())};
    launch.arguments.insert(launch.arguments.end(), around.daemon_args.begin(), around.daemon_args.end());
    launch.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + user->home, "USER=" + user->name,
                          "LOGNAME=" + user->name};
    if (!around.slurm_conf_file.empty())
        launch.environment.push_back("SLURM_CONF=" + around.slurm_conf_file);
    launch.descriptors = {channels.door.get(), channels.page.get(), channels.document.get(), channels.lifeline.get()};
    if (channels.output)
        launch.descriptors.push_back(channels.output.get());
    launch.door = channels.door.get();
    launch.host = prepared.host;
    launch.page = prepared.page;
    launch.user = *user;
    launch.mount_namespace = prepared.mount_namespace.get();
    launch.contain = [&](pid_t pid) {
        prepared.daemon = hold(pid);
        if (prepared.daemon && !around.job_cgroup.empty())
            prepared.cgroup = DaemonCgroup::make(around.job_cgroup, prepared.step, pid);
        return prepared.cgroup || !around.contain || around.contain(pid);
    };
    auto pid = kit::launch_daemon(launch);
    if (!pid)
        return pid.failure();
    prepared.user = std::move(*user);
    // For the steps that come; in the daemon's cgroup, or it would keep the job's. A step does without.
    if (around.keep_topology && !around.topology_file.empty())
        (void)around.keep_topology(around.topology_file,
                                   [&](pid_t pid) { return !prepared.cgroup || prepared.cgroup->add(pid); });
    return {};
    // The door closes here with `channels`: if the daemon is gone, it is shut for the tasks.
}

// Slurm's own names in a path: %n is the node, %h the host, without its domain.
std::string expanded(std::string path, const std::string &node) {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    const std::string host(name, std::strcspn(name, "."));
    for (const auto &[sign, text] : {std::pair<std::string_view, const std::string &>("%n", node), {"%h", host}}) {
        for (std::size_t at = 0; (at = path.find(sign, at)) != std::string::npos; at += text.size())
            path.replace(at, sign.size(), text);
    }
    return path;
}

} // namespace

static void await_end(const UniqueFd &process, std::chrono::milliseconds patience) {
    auto deadline = std::chrono::steady_clock::now() + patience;
    while (process) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd end{process.get(), POLLIN, 0};
        int ready = ::poll(&end, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
        if (ready >= 0 || errno != EINTR)
            return;
    }
}

// The daemon's directory, if it has not removed it; empty: there is nothing to remove.
static std::string directory_left(const Prepared &prepared) {
    return prepared.page && prepared.user ? prepared.page->directory_left(prepared.uid) : std::string();
}

// Starts the process that removes the directory; none where there is nothing to do.
static UniqueFd remove_directory(const Prepared &prepared) {
    UniqueFd process;
    std::string path = directory_left(prepared);
    if (path.empty())
        return process;
    kit::DaemonLaunch launch;
    launch.user = *prepared.user;
    launch.path = "/bin/rm";
    launch.arguments = {"-rf", "--one-file-system", "--", path,
                        std::string(StatusPage::store_base) + path.substr(path.rfind('/'))};
    launch.environment = {"PATH=/usr/bin:/bin"};
    launch.mount_namespace = prepared.mount_namespace.get();
    // The process is not put into the step's container: that is over when Slurm calls fini, and a process in it would
    // keep Slurm from removing it. Nor does it stay where slurmstepd is, if that can be helped: it would keep the
    // job's.
    launch.contain = [&](pid_t pid) {
        process = hold(pid);
        return !prepared.cgroup || prepared.cgroup->add(pid);
    };
    launch.lifetime = cleaning_seconds;
    (void)kit::launch_daemon(launch);
    return process;
}

bool clean_up(Prepared &prepared, std::chrono::milliseconds daemon_patience) {
    prepared.output.reset();
    prepared.lifeline.reset();
    if (!prepared.cgroup) {
        // Slurm has killed it with the container, or it leaves because the lifeline is closed, and removes it itself.
        if (!directory_left(prepared).empty())
            await_end(prepared.daemon, leaving_patience);
        remove_directory(prepared);
        return true;
    }
    await_end(prepared.daemon, daemon_patience); // its supervisor, which ends last
    if (!directory_left(prepared).empty()) {
        prepared.cgroup->kill_all();
        await_end(remove_directory(prepared), removing_patience);
    }
    return prepared.cgroup->end(killing_patience);
}

// The descriptor is Slurm's, and stays open for Slurm; tasks must not inherit it.
static UniqueFd namespace_of_container(const StepName &step) {
    int fd = container_g_join_external ? container_g_join_external(step.job_id) : -1;
    if (fd <= 0) // 0: this plugin makes none
        return {};
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

Surroundings slurmstepd_surroundings(void *step) {
    Surroundings around;
    if (const char *node = getenv("SLURMD_NODENAME"))
        around.host = node;
    around.step_name = own_step_name;
    around.own_step = look_up_own_step;
    around.user = kit::look_up_user;
    DaemonPath daemon = daemon_path(plugin_directory());
    around.daemon = std::move(daemon.path);
    around.daemon_args = std::move(daemon.arguments);
    if (&slurm_conf) {
        if (slurm_conf.slurm_conf)
            around.slurm_conf_file = slurm_conf.slurm_conf;
        if (slurm_conf.slurmd_spooldir)
            around.topology_file = expanded(slurm_conf.slurmd_spooldir, around.host) + "/pmixhost_topology";
        if (jobs_have_namespaces(slurm_conf)) {
            around.contacts = contacts_directory;
            around.mount_namespace = namespace_of_container;
        }
    }
    if (const char *file = getenv("SLURM_CONF"); around.slurm_conf_file.empty() && file)
        around.slurm_conf_file = file;
    around.job_cgroup = own_job_cgroup();
    const std::string beside = around.daemon.substr(0, around.daemon.rfind('/'));
    around.keep_topology = [program = beside + "/pmixhost-topology"](const std::string &file,
                                                                     std::function<bool(pid_t)> contain) {
        return kit::keep_topology(file, program, std::move(contain));
    };
    around.output_source = output_of_slurmstepd;
    if (proctrack_g_add)
        around.contain = [step](pid_t pid) { return proctrack_g_add(step, pid) == SLURM_SUCCESS; };
    return around;
}

Prepared prepare_step(const Surroundings &surroundings, char **environment) {
    Prepared prepared;
    prepared.secret = take_secret(environment);
    auto step = surroundings.step_name();
    if (step && !step->has_value())
        return prepared;
    prepared.wanted = true;
    prepared.host = surroundings.host;
    Result<void> started;
    if (!step) {
        started = step.failure();
    } else if (surroundings.host.empty()) {
        started = error(ErrorKind::not_found, "slurmstepd has no SLURMD_NODENAME");
    } else {
        prepared.step = **step;
        started = start(surroundings, environment, prepared);
    }
    if (!started)
        prepared.failure = fmt::format("{}: {}", prepared.host, started.failure().text);
    return prepared;
}

} // namespace pmixhost::slurm
