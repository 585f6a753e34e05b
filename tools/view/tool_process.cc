// See tool_process.h.
#include "tools/view/tool_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pmix_tool.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

bool leads_tools_elsewhere(std::string_view variable) {
    return variable.starts_with("PMIX_SERVER_URI") || variable == "PMIX_NAMESPACE" || variable == "PMIX_RANK" ||
           variable == "PMIX_SYSTEM_TMPDIR" || variable == "PMIX_SERVER_TMPDIR" || variable == "PMIX_SERVER_RANK" ||
           variable == "PMIX_KEEPALIVE_PIPE" || variable == "PMIX_LAUNCHER_RNDZ_URI" ||
           variable == "PMIX_LAUNCHER_RNDZ_FILE";
}

namespace {

constexpr char end_mark = '\x04';              // without it the asking process came to grief
constexpr std::size_t max_answer = 256u << 20; // a table of a million processes has some 100 MiB

std::string answer_of(const std::string &file, const std::function<std::string()> &ask, const std::string &own_name) {
    std::vector<std::string> others;
    for (char **variable = environ; *variable; ++variable) {
        std::string name(*variable, std::strcspn(*variable, "="));
        if (leads_tools_elsewhere(name))
            others.push_back(std::move(name));
    }
    for (const auto &name : others)
        ::unsetenv(name.c_str());
    ::setenv(security_variable, gives_no_credential, 1);
    pmix_proc_t self;
    pmix_info_t directives[3];
    pmix_rank_t rank = 0;
    PMIX_INFO_LOAD(&directives[0], PMIX_TOOL_ATTACHMENT_FILE, file.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&directives[1], PMIX_TOOL_NSPACE, own_name.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&directives[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    if (pmix_status_t status = PMIx_tool_init(&self, directives, own_name.empty() ? 1 : 3); status != PMIX_SUCCESS)
        return fmt::format("!PMIx_tool_init: {}", PMIx_Error_string(status));
    return ask();
}

void write_answer(int to, std::string_view answer) {
    while (!answer.empty()) {
        ssize_t written = ::write(to, answer.data(), answer.size());
        if (written < 0 && errno != EINTR)
            return;
        answer.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
}

// What libpmix has to say on its own would mix with what we say.
void be_quiet() {
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
}

// In the asking process; never returns. Its end is enough for the server: finalizing may wait, too.
[[noreturn]] void ask_and_end(int to, const std::string &file, const std::function<std::string()> &ask,
                              const std::string &own_name) {
    be_quiet();
    write_answer(to, answer_of(file, ask, own_name) + end_mark);
    ::_exit(0);
}

// As fork(2); the child ends with the thread that made it. Ctrl-C is sent to both, and is the command's to hear: it
// would take a child that has ended for a loss.
Result<pid_t> fork_tool() {
    std::signal(SIGCHLD, SIG_DFL); // inherited otherwise, nobody could be waited for
    pid_t parent = ::getpid(), pid = ::fork();
    if (pid < 0)
        return system_error("cannot make a process", errno);
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            std::signal(signal, SIG_IGN);
        if (::getppid() != parent)
            ::_exit(1);
    }
    return pid;
}

// A process that asks one server, and what it has said so far.
struct Asking {
    std::size_t index = 0; // of its server
    pid_t pid = -1;
    UniqueFd from;
    std::chrono::steady_clock::time_point deadline;
    std::string answer;
    bool whole = false, over = false;
};

Result<Asking> begin_asking(std::size_t index, const ListedServer &server, const AskServer &ask,
                            const std::string &own_name) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd from(ends[0]), to(ends[1]);
    auto pid = fork_tool();
    if (!pid)
        return pid.failure();
    if (*pid == 0) {
        from.reset();
        ask_and_end(
            to.get(), server.file, [&] { return ask(server); }, own_name);
    }
    return Asking{index, *pid, std::move(from), {}, {}, false, false};
}

void read_some(Asking &one) {
    char bytes[65536];
    ssize_t got = ::read(one.from.get(), bytes, sizeof bytes);
    if (got > 0)
        one.answer.append(bytes, static_cast<std::size_t>(got));
    one.whole = got == 0;
    one.over = one.whole || (got < 0 && errno != EINTR && errno != EAGAIN) || one.answer.size() >= max_answer;
}

// Until one of them is over.
void read_answers(std::vector<Asking> &all, const StopAsking &stop) {
    for (;;) {
        std::vector<pollfd> polls;
        bool is_stopped = stop && stop();
        auto first = std::chrono::steady_clock::time_point::max(), now = std::chrono::steady_clock::now();
        for (auto &one : all) {
            polls.push_back({one.from.get(), POLLIN, 0});
            first = std::min(first, one.deadline);
            one.over = one.over || one.deadline <= now || is_stopped;
        }
        if (std::any_of(all.begin(), all.end(), [](const Asking &one) { return one.over; }))
            return;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(first - now).count();
        if (::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<long long>(left, 1, stop ? 100 : 60'000))) <=
            0)
            continue;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (polls[i].revents != 0)
                read_some(all[i]);
    }
}

Result<std::string> end_asking(Asking one, std::chrono::seconds patience) {
    if (!one.whole)
        ::kill(one.pid, SIGKILL); // it is ours until we have waited for it
    int status = 0;
    while (::waitpid(one.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!one.whole)
        return error(ErrorKind::timeout,
                     "it does not answer within {} s; next: more time (--timeout), or pmixhost doctor --job JOB",
                     patience.count());
    if (!one.answer.ends_with(end_mark))
        return error(
            ErrorKind::system, "the process that asked came to grief ({} {}); next: once more, or pmixhost doctor",
            WIFSIGNALED(status) ? "signal" : "exit code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    one.answer.pop_back();
    if (one.answer.starts_with('!'))
        return error(ErrorKind::system, "{}", one.answer.substr(1));
    return std::move(one.answer);
}

} // namespace

std::vector<Result<std::string>> as_tool_of_each(const std::vector<ListedServer> &servers,
                                                 std::chrono::seconds patience, const AskServer &ask,
                                                 const std::string &name, const StopAsking &stop) {
    std::vector<Result<std::string>> answers(servers.size(), std::string());
    std::vector<Asking> asked;
    for (std::size_t next = 0; next < servers.size() || !asked.empty();) {
        if (asked.empty() && stop && stop()) {
            for (; next < servers.size(); ++next)
                answers[next] = error(ErrorKind::timeout, "it was not asked any more");
            break;
        }
        while (next < servers.size() && asked.size() < most_asked_at_once) {
            auto one = begin_asking(next, servers[next], ask, name);
            if (one) {
                one->deadline = std::chrono::steady_clock::now() + patience;
                asked.push_back(std::move(*one));
            } else {
                answers[next] = one.failure();
            }
            ++next;
        }
        if (asked.empty())
            continue;
        read_answers(asked, stop);
        for (auto &one : asked) {
            if (one.over)
                answers[one.index] = end_asking(std::move(one), patience);
        }
        std::erase_if(asked, [](const Asking &one) { return one.over; });
    }
    return answers;
}

Result<std::string> as_tool(const ListedServer &server, std::chrono::seconds patience,
                            const std::function<std::string()> &ask, const std::string &name) {
    return std::move(as_tool_of_each(
        {server}, patience, [&ask](const ListedServer &) { return ask(); }, name)[0]);
}

Result<ListeningTool> ListeningTool::start(const ListedServer &server,
                                           const std::function<std::string(int to)> &listen) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd from(ends[0]), to(ends[1]);
    auto pid = fork_tool();
    if (!pid)
        return pid.failure();
    if (*pid == 0) {
        from.reset();
        be_quiet();
        std::string last = answer_of(server.file, [&] { return listen(to.get()); }, {});
        write_answer(to.get(), last.empty() ? last : last + '\n');
        ::_exit(0);
    }
    return ListeningTool(*pid, std::move(from));
}

ListeningTool::ListeningTool(ListeningTool &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), from_(std::move(other.from_)), begun_(std::move(other.begun_)) {}

ListeningTool::~ListeningTool() {
    if (pid_ < 0)
        return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        ;
}

std::optional<std::vector<std::string>> ListeningTool::read_lines() {
    char bytes[65536];
    ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        return std::nullopt;
    begun_.append(bytes, got < 0 ? 0 : static_cast<std::size_t>(got));
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t end; (end = begun_.find('\n', begin)) != begun_.npos; begin = end + 1)
        lines.push_back(begun_.substr(begin, end - begin));
    begun_.erase(0, begin);
    if (begun_.size() > max_answer)
        return std::nullopt;
    return lines;
}

} // namespace pmixhost
