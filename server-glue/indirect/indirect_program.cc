// pmixhost-indirect: stands between a debugger and the launcher (srun) that it has started with PMIX_LAUNCHER_RNDZ_URI:
// indirect launch (PMIx standard, "Launching Applications with Tools"; contrib/doc/decisions/debug.md). The launcher
// starts it (plugins/kit/indirect_launch.h).
//
// Two processes, since libpmix is either a server or a tool: the debugger has one for its server (debugger_process.h),
// which has the other one do at the job's server what the debugger asks for (tool_process.h). A third one sees to what
// the first one leaves when it is killed (keeper.h).
//
//   pmixhost-indirect [relay] [serve]   descriptor 3: the launcher; 4, with "relay": the other end of its input; and
//                                       the environment that the debugger gave; "serve": the launcher has no program
#include "server-glue/indirect/debugger_process.h"
#include "server-glue/indirect/keeper.h"
#include "server-glue/indirect/tool_process.h"

#include "common/base/fd_pair.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

using namespace pmixhost;
using namespace pmixhost::indirect;

namespace {

constexpr int launcher_fd = 3, input_fd = 4;

UniqueFd given(int fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return UniqueFd(fd);
}

template <typename Number> Number number_in(const char *variable, Number otherwise) {
    const char *text = std::getenv(variable);
    Number number = otherwise;
    if (text)
        std::from_chars(text, text + std::strlen(text), number);
    return number;
}

// A directory of this process' alone, which goes with this object.
class OwnDirectory {
  public:
    OwnDirectory() {
        std::error_code none;
        std::string base = std::filesystem::temp_directory_path(none);
        path_ = (base.starts_with('/') ? base : "/tmp") + "/pmixhost-indirect.XXXXXX";
        if (!::mkdtemp(path_.data()))
            path_.clear();
    }
    ~OwnDirectory() { remove(); }
    void remove() {
        if (!path_.empty())
            remove_own_directory(path_);
        path_.clear();
    }
    OwnDirectory(const OwnDirectory &) = delete;
    void leave() { path_.clear(); } // it is another process'
    const std::string &path() const { return path_; }

  private:
    std::string path_;
};

int fail(std::string_view why) {
    fmt::print(stderr, "pmixhost-indirect: {}\n", why);
    return 1;
}

// A pidfd of who has made the socket, as long as that is this process' parent. Whoever else is the parent is to get no
// signals.
UniqueFd launcher_behind(int socket) {
    ucred made_by{};
    socklen_t size = sizeof made_by;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &made_by, &size) != 0 || made_by.pid <= 0)
        return {};
    UniqueFd launcher(static_cast<int>(syscall(SYS_pidfd_open, made_by.pid, 0)));
    return getppid() == made_by.pid ? std::move(launcher) : UniqueFd();
}

// Ends this process, and nothing but: libpmix' threads may be calling up, and one may be in PMIx_server_init for ever.
int debugger_process(UniqueFd launcher_end, UniqueFd tool, UniqueFd keepalive, OwnDirectory &directory, Keeper &keeper,
                     bool relays, bool serves) {
    auto loop = EventLoop::create([](const std::string &what) { fail("internal error: " + what); });
    if (!loop)
        return fail(loop.failure().text);
    const char *nspace = std::getenv("PMIX_NAMESPACE"), *uri = std::getenv("PMIX_LAUNCHER_RNDZ_URI");
    DebuggerProcess process({**loop, given(launcher_fd), std::move(launcher_end), relays ? given(input_fd) : UniqueFd(),
                             std::move(keepalive), std::move(tool), directory.path(),
                             nspace ? nspace : fmt::format("pmixhost.indirect.{}", getpid()),
                             number_in<std::uint32_t>("PMIX_RANK", 0), uri ? uri : "", serves, keeper},
                            [&loop] { (*loop)->stop(); });
    if (auto opened = process.open(); !opened)
        return fail(opened.failure().text);
    auto ran = (*loop)->run();
    int code = ran ? 0 : fail(ran.failure().text);
    process.flush_lines(); // nothing of it is destroyed
    if (ran)
        keeper.when_killed(Keeper::Launcher::goes_on); // it has its last word
    directory.remove();
    std::fflush(nullptr);
    ::_exit(code);
}

// It ends with the launcher, which signals are for.
void ignore_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
        switch (signal) {
        case SIGCHLD:
        case SIGCONT:
        case SIGSEGV:
        case SIGBUS:
        case SIGFPE:
        case SIGILL:
        case SIGABRT:
        case SIGTRAP:
        case SIGSYS:
            break;
        default:
            std::signal(signal, SIG_IGN); // in vain for some
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    try {
        ignore_signals();
        auto asked = [&](std::string_view word) { return std::find(argv + 1, argv + argc, word) != argv + argc; };
        bool relays = asked("relay"), serves = asked("serve");
        auto sides = make_socket_pair(SOCK_STREAM, SOCK_NONBLOCK);
        if (!sides)
            return fail(sides.failure().text);
        // libpmix closes its own when the debugger is gone.
        int keepalive = number_in("PMIX_KEEPALIVE_PIPE", -1);
        UniqueFd own_keepalive(keepalive < 0 ? -1 : ::fcntl(keepalive, F_DUPFD_CLOEXEC, launcher_fd));
        UniqueFd launcher_end = launcher_behind(launcher_fd);
        OwnDirectory directory;
        if (directory.path().empty())
            return fail(fmt::format("no directory can be made: {}", std::strerror(errno)));
        auto keeper = Keeper::start(directory.path(), launcher_end);
        if (!keeper)
            return fail(keeper.failure().text);
        pid_t parent = getpid(), pid = ::fork(); // there is one thread
        if (pid < 0) {
            keeper->when_killed(Keeper::Launcher::goes_on);
            return fail(std::strerror(errno));
        }
        if (pid == 0) {
            directory.leave();
            keeper->forget();
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                return 1;
            own_keepalive.reset();
            sides->first.reset();
            for (int fd : {STDIN_FILENO, launcher_fd, relays ? input_fd : -1, keepalive})
                if (fd >= 0)
                    ::close(fd);
            ::open("/dev/null", O_RDONLY);
            return tool_process(std::move(sides->second));
        }
        sides->second.reset();
        int code = debugger_process(std::move(launcher_end), std::move(sides->first), std::move(own_keepalive),
                                    directory, *keeper, relays, serves);
        keeper->when_killed(Keeper::Launcher::goes_on); // it hears of this itself
        return code;
    } catch (const std::exception &e) {
        return fail(e.what());
    }
}
