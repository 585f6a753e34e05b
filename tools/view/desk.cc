// See desk.h.
#include "tools/view/desk.h"

#include "common/config/config.h"
#include "common/process/captured_command.h"
#include "common/process/posix_spawn.h"
#include "common/rendezvous/desk_word.h"
#include "common/rendezvous/gate_door.h"
#include "common/text/printable.h"
#include "tools/run/daemon_process.h"
#include "tools/view/gate_knock.h"
#include "tools/view/job_owner.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t longest_word = 4096;

// What the desk says first; a failure says why nothing came.
Result<std::string> first_word(int fd, Clock::time_point deadline, const StopAsking &stop) {
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0 || (stop && stop()))
            return error(ErrorKind::timeout, "it was not reached in time; next: pmixhost doctor");
        pollfd poll{fd, POLLIN, 0};
        int ready = ::poll(&poll, 1, static_cast<int>(stop ? std::min<long long>(left, 100) : left));
        if (ready < 0 && errno != EINTR)
            return system_error("poll", errno);
        if (ready <= 0)
            continue;
        char bytes[longest_word];
        ssize_t there = ::recv(fd, bytes, sizeof bytes, 0);
        if (there > 0)
            return std::string(bytes, static_cast<std::size_t>(there));
        return error(ErrorKind::system, "the desk has ended without a word; next: pmixhost doctor");
    }
}

// What ends a command waits as long as this lives: between a directory that has been made and the process that removes
// it whatever comes.
class EndsWait {
  public:
    EndsWait() {
        sigset_t ends;
        sigemptyset(&ends);
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            sigaddset(&ends, signal);
        ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
    }
    bool one_waits() const {
        sigset_t waiting;
        ::sigpending(&waiting);
        return sigismember(&waiting, SIGINT) || sigismember(&waiting, SIGTERM) || sigismember(&waiting, SIGHUP);
    }
    ~EndsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    EndsWait(const EndsWait &) = delete;

  private:
    sigset_t before_{};
};

} // namespace

Desk::Desk(Desk &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), runs_it_(other.runs_it_), life_(std::move(other.life_)),
      directory_(std::move(other.directory_)), server_(std::move(other.server_)) {}

Desk::~Desk() {
    life_.reset();
    // Before its process is ended, which may be about to do it: until then, that one does it where we are ended. And
    // again, as it may have been writing there.
    directory_.remove();
    if (pid_ > 0) {
        ::kill(pid_, SIGTERM);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
            ;
    }
}

Result<Desk> Desk::open(const std::string &job, std::chrono::seconds patience, const StopAsking &stop) {
    Desk desk;
    std::optional<EndsWait> whole(std::in_place);
    auto directory = HeldDirectory::make("pmixhost-desk");
    if (!directory)
        return directory.failure();
    desk.directory_ = std::move(*directory);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair", errno);
    desk.life_.reset(ends[0]);
    UniqueFd theirs(ends[1]);

    constexpr int fd_there = 3;
    std::string program = pmixhostd_path(), number = std::to_string(fd_there), name = job,
                path = desk.directory_.path();
    std::vector<char *> words{program.data(), const_cast<char *>("--desk"), name.data(), path.data(), number.data(),
                              nullptr};
    SpawnFiles files;
    posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files.actions, 1, "/dev/null", O_WRONLY, 0);
    // A number onto itself loses close-on-exec all the same.
    posix_spawn_file_actions_adddup2(&files.actions, theirs.get(), fd_there);
    SpawnAttributes attributes(POSIX_SPAWN_SETSID); // the terminal's Ctrl-C is for the tool
    int code =
        ::posix_spawn(&desk.pid_, program.c_str(), &files.actions, &attributes.attributes, words.data(), environ);
    if (whole->one_waits()) // which may have ended that process, too, as it has just been of our group
        desk.directory_.remove();
    whole.reset();
    if (code != 0) {
        desk.pid_ = -1;
        return system_error(fmt::format("cannot run {}", program), code);
    }
    theirs.reset();
    auto word = first_word(desk.life_.get(), Clock::now() + patience, stop);
    if (!word)
        return word.failure();
    if (auto serving = parse_desk_word(*word); !serving)
        return Error{serving.failure().kind, one_line(serving.failure().text)};
    if (auto read = desk.read_server(); !read)
        return read.failure();
    return desk;
}

Error not_for_others(const std::string &job) {
    return error(
        ErrorKind::denied,
        "job {0}: debuggers are a step of the job, which the resource manager starts for its user alone; next: "
        "as that user, pmixhost debug --attach {0} or pmixhost stacks {0}",
        printable(job));
}

Result<void> Desk::read_server() {
    auto server = server_of_file(directory_.path() + "/" + desk_file);
    if (!server)
        return server.failure();
    server_ = std::move(*server);
    return {};
}

Result<Desk> Desk::visit(const std::string &job, uid_t owner, std::chrono::seconds patience, const AskedRun *run,
                         const StopAsking &stop) {
    if (std::getenv(asked_by_variable))
        return error(ErrorKind::denied, "it is a job of uid {}, and not of the user whose desk runs this", owner);
    auto config = load_config({}, config_environment(environ));
    if (!config)
        return config.failure();
    if (config->settings.gate_door.empty())
        return error(ErrorKind::unsupported,
                     "it is a job of uid {}, and gate.door is empty in {}; next: who may do something with "
                     "jobs of others comes by the gate (pmixhost-gate(8))",
                     owner, default_config_path());
    auto knocked = knock_at_gate(config->settings.gate_door, patience);
    if (!knocked)
        return error(ErrorKind::unsupported,
                     "it is a job of uid {}. Who may do something with jobs of others reaches them by the gate of this "
                     "host (pmixhost-gate(8)), which is not there: {}",
                     owner, knocked.failure().text);
    Desk desk;
    desk.life_ = std::move(*knocked);
    std::string wish = visit_word({owner, job, run ? std::optional(*run) : std::nullopt});
    if (::send(desk.life_.get(), wish.data(), wish.size(), MSG_NOSIGNAL) < 0)
        return system_error("the gate", errno);
    auto word = first_word(desk.life_.get(), Clock::now() + patience, stop);
    if (!word)
        return word.failure();
    if (run && *word == run_ready) {
        desk.runs_it_ = true;
        return desk;
    }
    auto rendezvous = parse_desk_word(*word);
    if (!rendezvous)
        return error(rendezvous.failure().kind, "it is a job of uid {}, by way of the gate: {}", owner,
                     one_line(rendezvous.failure().text));
    auto directory = HeldDirectory::make("pmixhost-desk");
    if (!directory)
        return directory.failure();
    desk.directory_ = std::move(*directory);
    if (auto written = write_rendezvous_files(desk.directory_.path(), {desk_file}, *rendezvous); !written)
        return written.failure();
    if (auto read = desk.read_server(); !read)
        return read.failure();
    // Another user has said it: nothing that we ask of this job shall go to one of our own.
    if (servers_of({desk.server_}, job).empty() || !desk.server_.server.address.starts_with("tcp4://127."))
        return error(ErrorKind::invalid, "the desk of uid {} leads to {} at {}", owner, printable(desk.server_.job),
                     printable(desk.server_.server.address));
    return desk;
}

bool Desk::serves() const {
    pollfd poll{life_.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 0;
}

Result<Desk> Desk::reach(const std::string &job, std::chrono::seconds patience, const AskedRun *run,
                         const StopAsking &stop) {
    auto own = open(job, patience, stop);
    if (own || own.failure().kind != ErrorKind::unsupported)
        return own;
    auto owner = owner_of(job, patience, stop);
    if (!owner || *owner == ::geteuid())
        return own;
    return visit(job, *owner, patience, run, stop);
}

std::vector<ListedServer> servers_here() {
    return std::getenv(asked_by_variable) ? std::vector<ListedServer>() : servers_below(rendezvous_root());
}

Result<FoundServer> find_server(const std::string &name, std::chrono::seconds patience, const AskedRun *run,
                                const StopAsking &stop) {
    auto all = servers_here();
    auto meant = name.empty() ? all : servers_of(all, name);
    auto other = std::find_if(meant.begin(), meant.end(), [&](const auto &one) { return one.job != meant[0].job; });
    if (other != meant.end()) {
        std::string choice = fmt::format("{}, {}, ...", printable(meant[0].job), printable(other->job));
        return name.empty() ? error(ErrorKind::limit, "there are several jobs here; next: name one of {}", choice)
                            : error(ErrorKind::limit, "job {} has several steps here; next: name one of {}",
                                    printable(name), choice);
    }
    if (!meant.empty())
        return FoundServer{meant[0], std::nullopt};
    if (name.empty())
        return error(ErrorKind::not_found, "no job of yours is on this host; next: name one");
    auto desk = Desk::reach(name, patience, run, stop);
    if (!desk)
        return error(desk.failure().kind,
                     "no PMIx server of job {} is on this host, and none was reached elsewhere: {}", printable(name),
                     desk.failure().text);
    ListedServer server = desk->server();
    return FoundServer{std::move(server), std::move(*desk)};
}

Result<FoundServer> await_server(const std::string &name, std::chrono::seconds patience, std::chrono::seconds wait,
                                 const std::function<bool()> &stop, const AskedRun *run) {
    for (auto until = Clock::now() + wait;;) {
        std::optional<AskedRun> asked;
        if (run) { // the desk may be there before the job is
            asked = *run;
            if (auto left = std::chrono::ceil<std::chrono::seconds>(until - Clock::now()); left.count() > 0)
                asked->words.push_back(fmt::format("--wait={}", left.count()));
        }
        auto found = find_server(name, patience, asked ? &*asked : nullptr, stop);
        if (found || Clock::now() >= until || stop())
            return found;
        auto kind = found.failure().kind;
        if (kind != ErrorKind::not_found && kind != ErrorKind::unsupported && kind != ErrorKind::unreachable &&
            kind != ErrorKind::timeout)
            return found;
        ::poll(nullptr, 0, 4000); // a gate lets one user in some 20 times a minute
    }
}

} // namespace pmixhost
