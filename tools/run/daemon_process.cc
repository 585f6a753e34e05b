// See daemon_process.h.
#include "tools/run/daemon_process.h"

#include "tools/run/session_door.h"

#include "common/base/fd_pair.h"
#include "common/config/config.h"
#include "common/local/local_text.h"
#include "common/start/spawn_channel.h"
#include "common/start/start_fd.h"
#include "common/start/task_spec.h"
#include "tools/run/layout.h"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using local::escape_line;

std::string hex(const unsigned char *bytes, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
        out += fmt::format("{:02x}", bytes[i]);
    return out;
}

// What tells a program that it belongs to another job; the tasks of this one must not believe it.
bool of_another_job(std::string_view variable) {
    auto name = variable.substr(0, variable.find('='));
    for (std::string_view known : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_ID", "PMI_RANK", "PMI_SIZE", "PMI_FD",
                                   "PMIX_HOSTNAME", "PMIX_SERVER_TMPDIR"}) {
        if (name == known)
            return true;
    }
    return name.starts_with("PMIX_SERVER_URI") || name.starts_with("OMPI_COMM_WORLD_") ||
           name.starts_with("PMIX_LAUNCHER_");
}

// A document being written: the first failure is kept.
class Writer {
  public:
    void add(std::string_view key, std::string_view value) {
        if (auto added = document_.add(key, value); !added && !failure_)
            failure_ = added.failure();
    }
    void add_fd(std::string_view key, int fd) { add(key, std::to_string(fd)); }
    Result<UniqueFd> write() const {
        if (failure_)
            return *failure_;
        return open_start_document(document_);
    }

  private:
    StartDocument document_;
    std::optional<Error> failure_;
};

std::string comma_list(const std::vector<Rank> &ranks) {
    std::string out;
    for (Rank rank : ranks)
        out += (out.empty() ? "" : ",") + std::to_string(rank);
    return out;
}

void describe_settings(const RunOptions &options, const RunIdentity &identity, Writer &document) {
    for (const auto &variable : identity.pmixhost_env) {
        if (variable.find('\n') == std::string::npos)
            document.add("env", variable);
    }
    if (!options.config.empty())
        document.add("config", options.config);
}

// The daemons raise theirs; what they start has the caller's.
void describe_limits(const RunIdentity &identity, Writer &document) {
    if (identity.open_files)
        document.add("local.open_files", std::to_string(*identity.open_files));
}

void describe_job(const RunOptions &options, const RunIdentity &identity, Writer &document) {
    document.add("local.nspace", identity.nspace);
    document.add("local.secret", identity.secret);
    document.add("local.cwd", escape_line(identity.cwd));
    document.add("local.map_by", options.map_by);
    describe_limits(identity, document);
    if (options.live_on)
        document.add("live_on", "1");
    if (options.kill_on_bad_exit)
        document.add("ends_on_bad_exit", "1");
    if (!identity.parent.empty())
        document.add("local.parent", identity.parent);
    for (std::size_t host = 0; host < options.hosts.size(); ++host) {
        document.add("local.host_name", options.hosts[host]);
        document.add("local.ranks", comma_list(options.ranks_by_host[host]));
    }
    for (std::size_t app = 0; app < options.apps.size(); ++app) {
        document.add("local.app_ranks", fmt::format("{} {}", app, comma_list(options.apps[app].ranks)));
        for (const auto &argument : options.apps[app].argv)
            document.add("local.app_arg", fmt::format("{} {}", app, escape_line(argument)));
    }
    if (!options.process_sets.empty())
        document.add("local.process_sets", format_process_sets(options.process_sets));
    for (const auto &variable : identity.task_env)
        document.add("local.task_env", escape_line(variable));
    for (const auto &fault : options.faults)
        document.add("local.fault", fault);
    describe_settings(options, identity, document);
}

std::size_t program_of(const RunOptions &options, Rank rank) {
    std::size_t app = 0;
    while (rank > options.apps[app].ranks.back())
        ++app;
    return app;
}

// Runs in the child and becomes pmixhostd. Nothing but `kept` (and 0 to 2) stays open.
[[noreturn]] void become_daemon(const std::string &program, int document, int report, const std::vector<int> &kept,
                                bool apart) {
    if (apart)
        ::setsid(); // the terminal's Ctrl-C is for us, who decide what the tasks get
    for (int number = 1; number < NSIG; ++number)
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (apart) {
        ::dup2(null, STDIN_FILENO);
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    for (int fd : kept)
        ::fcntl(fd, F_SETFD, 0);
    std::string number = std::to_string(document);
    ::execl(program.c_str(), program.c_str(), "--start-fd", number.c_str(), nullptr);
    int why = errno;
    [[maybe_unused]] ssize_t n = ::write(report, &why, sizeof why);
    ::_exit(127);
}

Result<pid_t> spawn(const std::string &program, int document, std::vector<int> kept, bool apart = true) {
    auto report = make_pipe();
    if (!report)
        return report.failure();
    kept.push_back(document);
    pid_t pid = ::fork();
    if (pid == 0)
        become_daemon(program, document, report->second.get(), kept, apart);
    if (pid < 0)
        return system_error("fork", errno);
    report->second.reset();
    int why = 0;
    ssize_t n;
    while ((n = ::read(report->first.get(), &why, sizeof why)) < 0 && errno == EINTR) {
    }
    if (n != sizeof why)
        return pid; // closed by the exec
    ::waitpid(pid, nullptr, 0);
    return system_error(fmt::format("cannot execute {}", program), why);
}

} // namespace

Result<RunIdentity> make_identity(const RunOptions &options, char *const *environment) {
    RunIdentity identity;
    std::array<unsigned char, 36> random;
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
        return system_error("random numbers", errno);
    identity.nspace = fmt::format("local.{}.{}", ::getpid(), hex(random.data(), 4));
    identity.directory =
        fmt::format("{}/pmixhost-{}.{}", options.tmpdir, ::getuid(), identity.nspace.substr(std::strlen("local.")));
    identity.secret = hex(random.data() + 4, 32);
    std::error_code failure;
    auto cwd = options.directory.empty() ? std::filesystem::current_path(failure)
                                         : std::filesystem::absolute(options.directory, failure);
    if (failure)
        return system_error("working directory", failure.value());
    identity.cwd = cwd.string();
    for (; environment && *environment; ++environment) {
        std::string variable = *environment;
        std::string_view name = std::string_view(variable).substr(0, variable.find('='));
        if (name == parent_variable)
            identity.parent = variable.substr(name.size() + 1);
        if (name == session_door_variable) {
            identity.session_door = variable.substr(name.size() + 1);
            continue;
        }
        if (name == parent_variable || name == spawn_fd_variable || name == spawn_stderr_variable)
            continue;                             // ours
        if (name.starts_with(task_spec_prefix)) { // pmixhost-task's
            identity.task_env.push_back(std::move(variable));
            continue;
        }
        if (variable.find('=') != std::string::npos && name != process_sets_variable && !of_another_job(variable))
            identity.task_env.push_back(variable);
        if (variable.starts_with("PMIXHOST_"))
            identity.pmixhost_env.push_back(std::move(variable));
    }
    if (options.tmpdir_for_tasks)
        identity.task_env.push_back("TMPDIR=" + options.tmpdir);
    return identity;
}

std::string RunIdentity::directory_of(HostIndex host) const {
    return fmt::format("{}.{}", directory, host);
}

void RunIdentity::remove_directories(HostIndex hosts) const {
    for (HostIndex host = 0; host < hosts; ++host) {
        std::string path = directory_of(host);
        struct stat status {};
        std::error_code ignored;
        if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::getuid())
            std::filesystem::remove_all(path, ignored);
    }
}

std::string pmixhostd_path() {
    if (const char *path = std::getenv("PMIXHOST_PMIXHOSTD"); path && *path)
        return path;
    std::string installed = PMIXHOST_LIBEXECDIR "/pmixhostd";
    std::error_code ignored;
    auto self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    // BUILD/tools/pmixhost, or BUILD/tools/.libs/pmixhost behind libtool's wrapper.
    for (auto top : {self / "..", self / ".." / ".."}) {
        auto built = (top / "server-glue" / "pmixhostd").lexically_normal();
        if (self.string().find("/tools") != std::string::npos && ::access(built.c_str(), X_OK) == 0)
            return built.string();
    }
    return installed;
}

Result<RoleProcess> RoleProcess::start(const std::string &role, const RunOptions &options, const RunIdentity &identity,
                                       const std::string &program) {
    auto pair = make_socket_pair();
    if (!pair)
        return pair.failure();
    RoleProcess process;
    process.invitations_ = std::move(pair->first);
    timeval patience{2, 0};
    ::setsockopt(process.invitations_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    UniqueFd theirs = std::move(pair->second);
    Writer document;
    document.add("role", role);
    document.add("backend", "local");
    document.add_fd("invitations_fd", theirs.get());
    describe_settings(options, identity, document);
    auto text = document.write();
    if (!text)
        return text.failure();
    auto pid = spawn(program, text->get(), {theirs.get()});
    if (!pid)
        return pid.failure();
    process.pid_ = *pid;
    return process;
}

Result<RoleProcess> RoleProcess::start_launcher(const RunOptions &options, const RunIdentity &identity,
                                                const std::string &program) {
    auto pair = make_socket_pair();
    if (!pair)
        return pair.failure();
    RoleProcess process;
    process.invitations_ = std::move(pair->first);
    UniqueFd theirs = std::move(pair->second);
    Writer document;
    document.add("role", "launcher");
    document.add("backend", "local");
    document.add_fd("invitations_fd", theirs.get());
    std::error_code failed;
    document.add("local.pmixhost", std::filesystem::read_symlink("/proc/self/exe", failed).string());
    for (const auto &host : options.hosts)
        document.add("local.host_name", host);
    if (options.tmpdir_for_tasks)
        document.add("local.tmpdir", options.tmpdir);
    describe_limits(identity, document);
    describe_settings(options, identity, document);
    auto text = document.write();
    if (!text)
        return text.failure();
    auto pid = spawn(program, text->get(), {theirs.get()}, false);
    if (!pid)
        return pid.failure();
    process.pid_ = *pid;
    return process;
}

void RoleProcess::end_jobs() {
    if (!invite("")) // that way is closed
        ::kill(pid_, SIGTERM);
}

void RoleProcess::no_more() {
    ::shutdown(invitations_.get(), SHUT_WR);
}

bool RoleProcess::invite(const std::string &invitation) {
    std::string frame;
    for (int shift = 24; shift >= 0; shift -= 8)
        frame.push_back(static_cast<char>(invitation.size() >> shift));
    frame += invitation;
    // It reads them as they come; one that takes none for so long is no good to anybody.
    return ::send(invitations_.get(), frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

Result<DaemonProcess> start_daemon(const RunOptions &options, const RunIdentity &identity, HostIndex host,
                                   const std::string &program) {
    DaemonProcess daemon;
    Writer document;
    std::vector<UniqueFd> theirs;
    auto pass = [&](UniqueFd fd) {
        theirs.push_back(std::move(fd));
        return theirs.back().get();
    };

    auto pair = make_socket_pair();
    if (!pair)
        return pair.failure();
    daemon.control = std::move(pair->first);
    document.add("backend", "local");
    document.add("host", options.hosts[host]);
    document.add("directory", identity.directory_of(host));
    document.add_fd("local.control_fd", pass(std::move(pair->second)));

    UniqueFd status;
    auto page = make_status_page(status);
    if (!page)
        return page.failure();
    daemon.page.reset(*page, [](StatusPage *mapped) { ::munmap(mapped, StatusPage::size); });
    document.add_fd("status_fd", pass(std::move(status)));

    for (Rank rank : options.ranks_by_host[host]) {
        TaskStreams ours;
        ours.rank = rank;
        auto out = make_pipe(), err = make_pipe();
        if (!out || !err)
            return !out ? out.failure() : err.failure();
        ours.out = std::move(out->first);
        ours.err = std::move(err->first);
        int in_fd = -1; // /dev/null
        if (options.input == rank) {
            auto in = make_pipe();
            if (!in)
                return in.failure();
            ours.in = std::move(in->second);
            in_fd = pass(std::move(in->first));
        }
        int out_fd = pass(std::move(out->second)), err_fd = pass(std::move(err->second));
        document.add("local.task",
                     fmt::format("{} {} {} {} {}", rank, program_of(options, rank), in_fd, out_fd, err_fd));
        daemon.streams.push_back(std::move(ours));
    }
    describe_job(options, identity, document);
    auto text = document.write();
    if (!text)
        return text.failure();
    std::vector<int> kept;
    for (const auto &fd : theirs)
        kept.push_back(fd.get());
    auto pid = spawn(program, text->get(), std::move(kept));
    if (!pid)
        return pid.failure();
    daemon.pid = *pid;
    return daemon;
}

} // namespace pmixhost
