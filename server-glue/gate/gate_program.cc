// pmixhost-gate: lets the tools of a host's users find their jobs by the system's server. A service manager starts it
// (contrib/systemd); see gate_server.h.
//
//   pmixhost-gate [--config FILE] [--user NAME] [--daemon FILE]
//
// --user NAME    who to be, when it is started as root
// --daemon FILE  the pmixhostd that desks run; the default is the one beside this program
//
// A listening socket may be handed over (sd_listen_fds(3)); otherwise any port is taken. SIGHUP: the configuration is
// read again, and the file for tools is looked at, as each hour. SIGTERM: it ends, and the desks with it.
#include "common/rendezvous/rendezvous_files.h"
#include "server-glue/gate/gate_server.h"
#include "server-glue/gate/privileges.h"
#include "server-glue/gate/starter.h"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <pmix_version.h> // numbers alone
#include <sys/resource.h>
#include <sys/socket.h>

namespace pmixhost {
namespace {

// What cleans /tmp removes what was not touched for days.
constexpr Duration look_at_file_every = std::chrono::hours(1);
constexpr int tools_in_line = 4096; // the kernel's own limit is lower on some

// Of the library that desks' daemons have, by which tools know how to speak.
const std::string library_version =
    fmt::format("{}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE);

struct Options {
    std::string config, user, daemon;
};

Result<Options> parse(int argc, char **argv) {
    Options options;
    std::error_code failed;
    options.daemon = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / "pmixhostd";
    for (int i = 1; i < argc; i += 2) {
        std::string_view name = argv[i];
        std::string *value = name == "--config"   ? &options.config
                             : name == "--user"   ? &options.user
                             : name == "--daemon" ? &options.daemon
                                                  : nullptr;
        if (!value || i + 1 == argc)
            return error(ErrorKind::invalid, "'{}' is no option with a value; allowed: --config, --user, --daemon",
                         name);
        *value = argv[i + 1];
    }
    return options;
}

// The one that the service manager has, or an own one.
Result<UniqueFd> listener() {
    UniqueFd fd;
    const char *pid = std::getenv("LISTEN_PID"), *count = std::getenv("LISTEN_FDS");
    if (pid && count && std::to_string(::getpid()) == pid) {
        if (std::strcmp(count, "1") != 0)
            return error(ErrorKind::invalid,
                         "{} sockets were handed over; next: one ListenStream= of the loopback network", count);
        fd.reset(3);
        ::fcntl(3, F_SETFD, FD_CLOEXEC);
        ::fcntl(3, F_SETFL, ::fcntl(3, F_GETFL) | O_NONBLOCK);
    } else {
        fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&any), sizeof any) != 0)
            return system_error("a socket for tools", errno);
    }
    if (::listen(fd.get(), tools_in_line) != 0)
        return system_error("listen", errno);
    return {std::move(fd)};
}

Result<std::string> address_of(int fd) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("getsockname", errno);
    if (address.sin_family != AF_INET || ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
        return error(ErrorKind::invalid,
                     "its socket is not one of 127.0.0.0/8: elsewhere the kernel does not say whose a "
                     "connection is; next: ListenStream=127.0.0.1:PORT");
    std::uint32_t ip = ntohl(address.sin_addr.s_addr);
    return fmt::format("tcp4://{}.{}.{}.{}:{}", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255,
                       ntohs(address.sin_port));
}

Result<void> serve(EventLoop &loop, Log &log, GateRules::Read rules, const std::string &config, UniqueFd listening,
                   UniqueFd starter) {
    auto address = address_of(listening.get());
    if (!address)
        return address.failure();
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    RendezvousServer server{"pmixhost-gate", 0,           *address,    library_version,
                            ::getpid(),      ::geteuid(), ::getegid(), std::time(nullptr)};
    std::string directory = rules.settings.gate_directory;
    Result<void> result;
    auto gate = GateServer::open(
        {loop, log, std::move(rules), config, std::move(listening), std::move(starter), [&](Error why) {
             result = std::move(why);
             loop.stop();
         }});
    if (!gate)
        return gate.failure();
    auto files = SystemFiles::write(directory, host, rendezvous_text(server));
    if (!files)
        return files.failure();
    EventLoop::Handle next_look;
    std::function<void()> look = [&] {
        if (auto renewed = files->renew(); !renewed)
            log.error("{}", renewed.failure().text);
        next_look = loop.after(look_at_file_every, [&look] { look(); });
    };
    look();
    auto ends = loop.on_signal(SIGTERM, [&loop] { loop.stop(); });
    auto interrupts = loop.on_signal(SIGINT, [&loop] { loop.stop(); });
    auto reloads = loop.on_signal(SIGHUP, [&] {
        look();
        (*gate)->reload();
    });
    sigset_t heard;
    sigemptyset(&heard);
    for (int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&heard, signal);
    pthread_sigmask(SIG_UNBLOCK, &heard, nullptr);
    log.warning("tools of this host's users are served at {}", *address);
    auto ran = loop.run();
    return ran ? result : ran;
}

Result<void> run(const Options &options, Log &log) {
    auto listening = listener();
    if (!listening)
        return listening.failure();
    if (auto kept = keep_setuid_alone(options.user); !kept)
        return kept;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files); // the starter has one for each desk
    }
    auto starter = make_starter(options.daemon);
    if (!starter)
        return starter.failure();
    if (auto kept = keep_nothing(); !kept)
        return kept;
    auto rules = GateRules::read(options.config);
    if (auto level = parse_log_level(rules.settings.log_level))
        log.set_level(*level);
    log.do_not_wait();
    auto loop = EventLoop::create([&log](const std::string &what) {
        log.error("internal error, an event was not handled to its end: {}", what);
    });
    if (!loop)
        return loop.failure();
    return serve(**loop, log, std::move(rules), options.config, std::move(*listening), std::move(*starter));
}

} // namespace
} // namespace pmixhost

int main(int argc, char **argv) {
    using namespace pmixhost;
    ::signal(SIGPIPE, SIG_IGN);
    // Until they are heard; one that comes earlier is not lost.
    sigset_t heard, before;
    sigemptyset(&heard);
    for (int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&heard, signal);
    pthread_sigmask(SIG_BLOCK, &heard, &before);
    Log log(2, LogLevel::warning, fmt::format("pmixhost-gate[{}]", ::getpid()));
    auto options = parse(argc, argv);
    if (!options) {
        log.error("{}", options.failure().text);
        return 2;
    }
    auto ran = run(*options, log);
    if (!ran)
        log.error("{}", ran.failure().text);
    log.flush();
    _exit(ran ? 0 : 1); // a thread may still wait for a directory service
}
