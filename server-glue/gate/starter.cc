// See starter.h.
#include "server-glue/gate/starter.h"

#include "common/base/fd_pair.h"
#include "common/rendezvous/desk_word.h"
#include "server-glue/gate/desk_channel.h"
#include "server-glue/gate/privileges.h"

#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

namespace pmixhost {

namespace {

constexpr int channel_there = 3, before_there = 4;
constexpr std::size_t most_users = 4096;
constexpr unsigned seconds_to_become = 20; // a directory service may not answer

// What is for the gate alone, or would lead a desk elsewhere. The rest is its unit's.
void clean_environment() {
    std::vector<std::string> gone;
    for (char **variable = environ; *variable; ++variable) {
        std::string_view name(*variable, std::strcspn(*variable, "="));
        for (std::string_view begin : {"LISTEN_", "NOTIFY_SOCKET", "PMIX", "LD_", "INVOCATION_ID", "JOURNAL_STREAM"}) {
            if (name.starts_with(begin))
                gone.emplace_back(name);
        }
    }
    for (const auto &name : gone)
        ::unsetenv(name.c_str());
}

// `before`: the pidfd of the desk that this user had last, or -1.
[[noreturn]] void become_desk(const std::string &program, uid_t user, UniqueFd channel, int before) {
    auto give_up = [](const Error &why) {
        say(channel_there, desk_failed(why));
        _exit(1);
    };
    for (int signal : {SIGCHLD, SIGHUP, SIGINT, SIGPIPE})
        ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setsid();
    // Nothing of the gate: not its log either, since what a user's process writes there is the user's.
    UniqueFd null(::open("/dev/null", O_RDWR));
    // From the lowest number on, so that none is in another's way: the channel has been the starter's own.
    if (!null || ::dup2(channel.get(), channel_there) < 0 || (before >= 0 && ::dup2(before, before_there) < 0))
        _exit(1);
    ::fcntl(channel_there, F_SETFD, 0); // also where it had that number
    for (int fd = 0; fd <= 2; ++fd)
        ::dup2(null.get(), fd);
    int first = before >= 0 ? before_there + 1 : before_there;
    if (::syscall(SYS_close_range, first, UINT_MAX, 0) != 0) {
        for (int fd = first; fd < 1024; ++fd) // before Linux 5.9; a starter has few
            ::close(fd);
    }
    null.release();
    channel.release();
    ::alarm(seconds_to_become);
    if (auto became = become_user(user); !became)
        give_up(became.failure());
    ::alarm(0);
    // It has been told to leave; where its user keeps it from that, it would be one more each time.
    if (before >= 0) {
        ::syscall(SYS_pidfd_send_signal, before_there, SIGKILL, nullptr, 0);
        ::close(before_there);
    }
    ::umask(077);
    if (::chdir("/") != 0)
        give_up(system_error("chdir", errno));
    clean_environment();
    std::string number = std::to_string(channel_there);
    ::execl(program.c_str(), program.c_str(), "--gate-desk", number.c_str(), nullptr);
    give_up(system_error("cannot run " + program, errno));
    _exit(1);
}

// A pidfd is readable when its process has ended.
void forget_ended(std::map<uid_t, UniqueFd> &desks) {
    std::vector<pollfd> asked;
    for (const auto &[user, desk] : desks)
        asked.push_back({desk.get(), POLLIN, 0});
    if (::poll(asked.data(), asked.size(), 0) <= 0)
        return;
    auto answer = asked.begin();
    std::erase_if(desks, [&answer](const auto &) { return (answer++)->revents != 0; });
}

[[noreturn]] void serve_gate(int gate, const std::string &program) {
    std::map<uid_t, UniqueFd> desks; // the last one of each
    for (;;) {
        auto asked = receive_descriptor(gate, 0);
        if (asked && !*asked)
            continue;
        if (!asked || (*asked)->bytes.empty())
            _exit(0);
        uid_t user = 0;
        UniqueFd channel = std::move((*asked)->fd);
        if ((*asked)->bytes.size() != sizeof user || !channel)
            continue;
        std::memcpy(&user, (*asked)->bytes.data(), sizeof user);
        if (user == 0 || user == static_cast<uid_t>(-1)) {
            say(channel.get(), desk_failed(error(ErrorKind::denied, "there is no desk of this user")));
            continue;
        }
        forget_ended(desks);
        auto before = desks.find(user);
        if (before == desks.end() && desks.size() >= most_users) {
            say(channel.get(), desk_failed(error(ErrorKind::limit, "{} users' desks run already", desks.size())));
            continue;
        }
        pid_t child = ::fork();
        if (child == 0)
            become_desk(program, user, std::move(channel), before == desks.end() ? -1 : before->second.get());
        if (child < 0) {
            say(channel.get(), desk_failed(system_error("fork", errno)));
            continue;
        }
        UniqueFd started(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
        if (started)
            desks[user] = std::move(started);
        else
            desks.erase(user);
    }
}

} // namespace

Result<UniqueFd> make_starter(const std::string &program) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    if (!ends)
        return ends.failure();
    pid_t gate = ::getpid(), child = ::fork();
    if (child < 0)
        return system_error("fork", errno);
    if (child > 0)
        return {std::move(ends->first)};
    ::signal(SIGCHLD, SIG_IGN); // nobody need wait for them
    for (int signal : {SIGHUP, SIGINT})
        ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // the gate has the same user
    ::prctl(PR_SET_NAME, "pmixhost-start", 0, 0, 0);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != gate)
        _exit(1);
    // No listener, no connection.
    if (ends->second.get() != channel_there && ::dup3(ends->second.get(), channel_there, O_CLOEXEC) < 0)
        _exit(1);
    ::syscall(SYS_close_range, channel_there + 1, UINT_MAX, 0);
    serve_gate(channel_there, program);
}

Result<void> ask_for_desk(int starter, uid_t user, int channel) {
    return send_descriptor(starter, std::string(reinterpret_cast<const char *>(&user), sizeof user), channel);
}

} // namespace pmixhost
