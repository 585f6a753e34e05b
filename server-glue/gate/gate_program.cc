// pmixhost-gate: lets the tools of a host's users find their jobs by the system's server. A service manager starts it
// (contrib/systemd); see gate_server.h.
//
//   pmixhost-gate [--config FILE] [--user NAME] [--daemon FILE]
//
// --user NAME    who to be, when it is started as root
// --daemon FILE  the pmixhostd that desks run; the default is the one beside this program
//
// Listening sockets may be handed over (sd_listen_fds(3)): one of the loopback network, and others to which tools of
// other hosts come (remote_door.h). Else any port of the loopback network is taken, and other hosts are not served.
// SIGHUP: the configuration is read again, and the file for tools is looked at, as each hour. SIGTERM: it ends, and the
// desks with it.
#include "common/peer/peer_address.h"
#include "common/process/program_beside.h"
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
#include <netinet/in.h>
#include <pmix_version.h> // numbers alone
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

namespace pmixhost {
namespace {

// What cleans /tmp removes what was not touched for days.
constexpr Duration look_at_file_every = std::chrono::hours(1);
constexpr int tools_in_line = 4096; // the kernel's own limit is lower on some
constexpr int most_listeners = 8;

// Of the library that desks' daemons have, by which tools know how to speak.
const std::string library_version =
    fmt::format("{}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE);

struct Options {
    std::string config, user, daemon;
};

Result<Options> parse(int argc, char **argv) {
    Options options;
    options.daemon = program_beside("pmixhostd");
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

struct Listeners {
    UniqueFd for_this_host;
    std::string address; // of that, as tools name it
    std::vector<UniqueFd> for_other_hosts;
    std::vector<std::string> other_addresses; // of these
};

// Puts the socket where it belongs, by its address.
Result<void> add_listener(Listeners &all, UniqueFd fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("getsockname", errno);
    int type = 0;
    socklen_t type_length = sizeof type;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &type_length);
    if (type != SOCK_STREAM || (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return error(ErrorKind::invalid, "a socket that it was handed is none of TCP; next: ListenStream=ADDRESS:PORT");
    if (::listen(fd.get(), tools_in_line) != 0)
        return system_error("listen", errno);
    auto &four = reinterpret_cast<const sockaddr_in &>(address);
    bool is_ipv4 = address.ss_family == AF_INET;
    PeerAddress own(address);
    // The port is at the same place in both families.
    std::string text = is_ipv4 ? fmt::format("tcp4://{}:{}", own.numeric(), ntohs(four.sin_port))
                               : fmt::format("tcp6://[{}]:{}", own.numeric(), ntohs(four.sin_port));
    if (is_ipv4 && ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) {
        if (all.for_this_host)
            return error(ErrorKind::invalid, "it was handed two sockets of 127.0.0.0/8; next: one of them");
        all.for_this_host = std::move(fd);
        all.address = std::move(text);
    } else {
        all.for_other_hosts.push_back(std::move(fd));
        all.other_addresses.push_back(std::move(text));
    }
    return {};
}

// Those that the service manager has, or an own one.
Result<Listeners> listeners() {
    Listeners all;
    const char *pid = std::getenv("LISTEN_PID"), *count = std::getenv("LISTEN_FDS");
    if (pid && count && std::to_string(::getpid()) == pid) {
        int handed = std::atoi(count);
        if (handed < 1 || handed > most_listeners)
            return error(ErrorKind::invalid,
                         "{} sockets were handed over; next: one ListenStream= of the loopback "
                         "network, and others for tools of other hosts",
                         count);
        for (int number = 3; number < 3 + handed; ++number) {
            UniqueFd fd(number);
            ::fcntl(number, F_SETFD, FD_CLOEXEC);
            ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
            if (auto added = add_listener(all, std::move(fd)); !added)
                return added.failure();
        }
        if (!all.for_this_host)
            return error(ErrorKind::invalid,
                         "none of its sockets is one of 127.0.0.0/8: elsewhere the kernel does not say whose a "
                         "connection is, and tools of this host need one; next: ListenStream=127.0.0.1:PORT");
        return {std::move(all)};
    }
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&any), sizeof any) != 0)
        return system_error("a socket for tools", errno);
    if (auto added = add_listener(all, std::move(fd)); !added)
        return added.failure();
    return {std::move(all)};
}

Result<void> serve(EventLoop &loop, Log &log, GateRules::Read rules, const std::string &config, Listeners listening,
                   UniqueFd starter) {
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    RendezvousServer server{"pmixhost-gate", 0,           listening.address, library_version,
                            ::getpid(),      ::geteuid(), ::getegid(),       std::time(nullptr)};
    std::string directory = rules.settings.gate_directory;
    Result<void> result;
    auto gate = GateServer::open({loop, log, std::move(rules), config, std::move(listening.for_this_host),
                                  std::move(listening.for_other_hosts), std::move(starter), [&](Error why) {
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
    log.warning("tools of this host's users are served at {}", listening.address);
    for (const auto &each : listening.other_addresses)
        log.warning("tools of other hosts are served at {}.0;{}", server.nspace, each);
    auto ran = loop.run();
    return ran ? result : ran;
}

Result<void> run(const Options &options, Log &log) {
    auto listening = listeners();
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
