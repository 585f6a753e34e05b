// See process_list.h.
#include "tools/view/process_list.h"

#include "common/base/fd_pair.h"
#include "common/base/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <pmix_tool.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t max_answer = 256u << 20; // a million processes have some 100 MiB

// What the asking process writes: a line for each process, or one with what went wrong behind an exclamation mark.
std::string line_of(const pmix_proc_info_t &process) {
    auto plain = [](const char *text) {
        std::string out(text ? text : "");
        std::replace_if(
            out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
        return out;
    };
    return fmt::format("{}\t{}\t{}\t{}\t{}\n", process.proc.rank, static_cast<long>(process.pid),
                       plain(PMIx_Proc_state_string(process.state)), plain(process.hostname),
                       plain(process.executable_name));
}

std::string asked(const std::string &file, const std::string &job) {
    auto failed = [](const char *call, pmix_status_t status) {
        return fmt::format("!{}: {}\n", call, PMIx_Error_string(status));
    };
    pmix_proc_t self;
    pmix_info_t attach;
    PMIX_INFO_LOAD(&attach, PMIX_TOOL_ATTACHMENT_FILE, file.c_str(), PMIX_STRING);
    if (pmix_status_t status = PMIx_tool_init(&self, &attach, 1); status != PMIX_SUCCESS)
        return failed("PMIx_tool_init", status);
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    char key[] = PMIX_QUERY_PROC_TABLE, *keys[] = {key, nullptr};
    query.keys = keys;
    pmix_info_t of_job;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, job.c_str(), PMIX_STRING);
    query.qualifiers = &of_job;
    query.nqual = 1;
    pmix_info_t *results = nullptr;
    std::size_t count = 0;
    if (pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count); status != PMIX_SUCCESS)
        return failed("PMIx_Query_info", status);
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        const pmix_value_t &value = results[i].value;
        if (value.type != PMIX_DATA_ARRAY || !value.data.darray || value.data.darray->type != PMIX_PROC_INFO)
            continue;
        auto *processes = static_cast<const pmix_proc_info_t *>(value.data.darray->array);
        for (std::size_t p = 0; p < value.data.darray->size; ++p)
            out += line_of(processes[p]);
    }
    return out;
}

// In the asking process; never returns. Its end is enough for the server: finalizing may wait, too.
[[noreturn]] void ask(int to, const std::string &file, const std::string &job) {
    // What libpmix has to say on its own would mix with the list.
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    std::string answer = asked(file, job);
    for (std::size_t at = 0; at < answer.size();) {
        ssize_t written = ::write(to, answer.data() + at, answer.size() - at);
        if (written < 0 && errno != EINTR)
            break;
        at += written < 0 ? 0 : static_cast<std::size_t>(written);
    }
    ::_exit(0);
}

// Until the other side closes it. False: the time is up, or it is too much.
bool read_until_closed(int fd, std::chrono::steady_clock::time_point deadline, std::string &out) {
    while (out.size() < max_answer) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        pollfd poll{fd, POLLIN, 0};
        if (left <= 0)
            return false;
        if (::poll(&poll, 1, static_cast<int>(std::min<long long>(left, 60'000))) <= 0)
            continue;
        char bytes[65536];
        ssize_t got = ::read(fd, bytes, sizeof bytes);
        if (got == 0)
            return true;
        if (got > 0)
            out.append(bytes, static_cast<std::size_t>(got));
        else if (errno != EINTR && errno != EAGAIN)
            return false;
    }
    return false;
}

ListedProcess process_of(std::string_view line) {
    ListedProcess process;
    for (int field = 0; field < 5; ++field) {
        std::size_t end = std::min(line.find('\t'), line.size());
        std::string_view text = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        if (field == 0)
            std::from_chars(text.data(), text.data() + text.size(), process.rank);
        else if (field == 1)
            std::from_chars(text.data(), text.data() + text.size(), process.pid);
        else
            (field == 2 ? process.state : field == 3 ? process.host : process.executable) = text;
    }
    return process;
}

} // namespace

Result<std::vector<ListedProcess>> processes_of(const ListedServer &server, std::chrono::seconds patience) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd from(ends[0]), to(ends[1]);
    std::signal(SIGCHLD, SIG_DFL);
    pid_t pid = ::fork();
    if (pid < 0)
        return system_error("cannot make a process", errno);
    if (pid == 0) {
        from.reset();
        ask(to.get(), server.file, server.job);
    }
    to.reset();
    std::string text;
    bool whole = read_until_closed(from.get(), std::chrono::steady_clock::now() + patience, text);
    ::kill(pid, SIGKILL); // it is ours until we have waited for it
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!whole)
        return error(ErrorKind::timeout, "it does not answer within {} s", patience.count());
    std::vector<ListedProcess> processes;
    for (std::string_view rest = text; !rest.empty();) {
        std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.starts_with('!'))
            return error(ErrorKind::system, "{}", line.substr(1));
        processes.push_back(process_of(line));
    }
    std::sort(processes.begin(), processes.end(),
              [](const auto &one, const auto &other) { return one.rank < other.rank; });
    return processes;
}

} // namespace pmixhost
