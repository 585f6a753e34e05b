// See start.h.
#include "plugins/local/start.h"

#include "common/config/config_options.h"
#include "common/config/config_values.h"
#include "common/local/local_control.h"
#include "common/local/local_text.h"
#include "plugins/kit/step_document.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/socket.h>

namespace pmixhost::local {

using kit::garbled, kit::max_apps, kit::next_word;

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t max_fd = 1u << 20;

// A descriptor that was inherited; -1 stands for /dev/null. 0 to 2 are the daemon's own.
Result<UniqueFd> take_fd(std::string_view text) {
    if (text == "-1")
        return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto number = parse_number(text, max_fd);
    if (!number || *number <= STDERR_FILENO)
        return garbled("a descriptor", text);
    int fd = static_cast<int>(*number);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return garbled("a descriptor", text);
    return UniqueFd(fd);
}

Result<TaskSpec> parse_task(std::string_view line, const StepInfo &step) {
    std::string_view rest = line;
    auto rank = parse_number(next_word(rest), UINT32_MAX);
    auto app = parse_number(next_word(rest), max_apps);
    auto in = take_fd(next_word(rest)), out = take_fd(next_word(rest)), err = take_fd(next_word(rest));
    if (!rank || !app || *app >= step.apps.size() || !in || !out || !err || !rest.empty() ||
        step.map.host_of(static_cast<Rank>(*rank)) != step.self)
        return garbled("local.task", line);
    return TaskSpec{static_cast<Rank>(*rank), step.apps[*app].argv, std::move(*in), std::move(*out), std::move(*err)};
}

// The launcher's process number, which is in the namespace: no two launchers run with the same.
std::uint32_t step_number(std::string_view nspace) {
    auto first = nspace.find('.'), last = nspace.find('.', first + 1);
    if (first == std::string_view::npos || last == std::string_view::npos)
        return 0;
    auto number = parse_number(nspace.substr(first + 1, last - first - 1), 0xffffff);
    return number ? static_cast<std::uint32_t>(*number) : 0;
}

// Reads what stands in the document beside the control channel.
Result<void> read_start(const StartDocument &document, LocalStart &start) {
    auto step = kit::read_step(document, "local");
    if (!step)
        return step.failure();
    start.step = std::move(*step);
    start.step.number = step_number(start.step.nspace);
    start.step.binding_policy = "none";
    for (const auto &line : document.all("local.task")) {
        auto task = parse_task(line, start.step);
        if (!task)
            return task.failure();
        start.tasks.push_back(std::move(*task));
    }
    if (start.tasks.size() != start.step.map.ranks_on(start.step.self).size())
        return error(ErrorKind::invalid, "start document: {} local.task, but this host has {} tasks",
                     start.tasks.size(), start.step.map.ranks_on(start.step.self).size());
    for (const auto &line : document.all("local.task_env")) {
        auto variable = unescape_line(line);
        if (!variable || variable->find('=') == std::string::npos)
            return garbled("local.task_env", line);
        start.task_env.push_back(std::move(*variable));
    }
    auto cwd = document.text("local.cwd");
    if (!cwd)
        return cwd.failure();
    auto directory = unescape_line(*cwd);
    if (!directory)
        return garbled("local.cwd", *cwd);
    start.cwd = std::move(*directory);
    if (auto limit = document.number("local.open_files", UINT64_MAX))
        start.open_files = *limit;
    if (auto own = document.text("directory"))
        start.directory = *own;
    for (const auto &line : document.all("local.fault")) {
        auto fault = parse_fault(line, start.step.map.host_count());
        if (!fault)
            return fault.failure();
        bool ours = fault->host == start.step.self;
        if (fault->kind == Fault::Kind::link_drop) {
            if (ours)
                start.step.link_faults.push_back({fault->peer, fault->messages, 0ms});
        } else if (fault->kind == Fault::Kind::link_delay) {
            if (ours || fault->peer == start.step.self)
                start.step.link_faults.push_back({ours ? fault->peer : fault->host, {}, fault->by});
        } else if (ours) {
            start.faults.push_back(*fault);
        }
    }
    return {};
}

} // namespace

// Once the channel is closed, `pmixhost run` ends this process, which may not have said why anywhere else yet.
static void tell_failure(int channel, const Error &why) {
    Bytes frame = encode_control(DaemonFailed{why.text});
    [[maybe_unused]] ssize_t told = ::send(channel, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

Result<LocalStart> parse_local_start(const StartDocument &document) {
    LocalStart start;
    auto control = document.text("local.control_fd");
    if (!control)
        return control.failure();
    auto fd = take_fd(*control);
    if (!fd || *control == "-1")
        return garbled("local.control_fd", *control);
    start.control = std::move(*fd);
    if (auto read = read_start(document, start); !read) {
        tell_failure(start.control.get(), read.failure());
        return read.failure();
    }
    return start;
}

std::vector<std::string> identity_variables(const StepInfo &step, Rank rank) {
    HostIndex host = step.map.host_of(rank);
    return {
        fmt::format("PMIXHOST_RANK={}", rank),
        fmt::format("PMIXHOST_SIZE={}", step.map.rank_count()),
        fmt::format("PMIXHOST_LOCAL_RANK={}", step.map.local_rank(rank)),
        fmt::format("PMIXHOST_LOCAL_SIZE={}", step.map.ranks_on(host).size()),
        fmt::format("PMIXHOST_HOST={}", step.map.hosts()[host]),
        fmt::format("PMIXHOST_HOST_INDEX={}", host),
    };
}

std::vector<std::string> mpi_variables(const LocalStart &start) {
    std::vector<std::string> variables{"JSM_JSRUN_PORT=0"};
    if (start.step.map.host_count() > 1 && !start.directory.empty()) {
        for (const char *user : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"})
            variables.push_back(fmt::format("OMPI_MCA_{}_backing_directory={}", user, start.directory));
    }
    return variables;
}

} // namespace pmixhost::local
