// See start.h.
#include "plugins/local/start.h"

#include "common/config_options.h"
#include "common/config_values.h"
#include "common/local_control.h"
#include "common/local_text.h"
#include "common/spawn_channel.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/socket.h>

namespace pmixhost::local {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t max_apps = 10'000;
constexpr std::uint64_t max_fd = 1u << 20;

Error garbled(std::string_view key, std::string_view value) {
    return error(ErrorKind::invalid, "start document: {} is '{}'", key, printable(value));
}

// Up to the next space.
std::string_view next_word(std::string_view &rest) {
    auto space = rest.find(' ');
    auto word = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    return word;
}

Result<std::vector<Rank>> parse_ranks(std::string_view text) {
    std::vector<Rank> ranks;
    while (!text.empty()) {
        auto comma = text.find(',');
        auto rank = parse_number(text.substr(0, comma), UINT32_MAX - 16);
        if (!rank)
            return garbled("a list of ranks", text);
        ranks.push_back(static_cast<Rank>(*rank));
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return ranks;
}

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

Result<JobMap> parse_map(const StartDocument &document) {
    std::vector<std::vector<Rank>> by_host;
    for (const auto &line : document.all("local.ranks")) {
        auto ranks = parse_ranks(line);
        if (!ranks)
            return ranks.failure();
        by_host.push_back(std::move(*ranks));
    }
    return JobMap::create(document.all("local.host_name"), std::move(by_host));
}

Result<std::vector<App>> parse_apps(const StartDocument &document) {
    std::vector<App> apps;
    for (const auto &line : document.all("local.app_ranks")) {
        std::string_view rest = line;
        auto index = parse_number(next_word(rest), max_apps);
        auto ranks = parse_ranks(rest);
        if (!index || *index != apps.size() || !ranks)
            return garbled("local.app_ranks", line);
        apps.push_back({{}, std::move(*ranks)});
    }
    for (const auto &line : document.all("local.app_arg")) {
        std::string_view rest = line;
        auto index = parse_number(next_word(rest), max_apps);
        auto argument = unescape_line(rest);
        if (!index || *index >= apps.size() || !argument)
            return garbled("local.app_arg", line);
        apps[*index].argv.push_back(std::move(*argument));
    }
    for (const auto &app : apps) {
        if (app.argv.empty() || app.argv.front().empty())
            return error(ErrorKind::invalid, "start document: a program without a name");
    }
    if (apps.empty())
        return error(ErrorKind::invalid, "start document: no local.app_ranks");
    return apps;
}

Result<TaskSpec> parse_task(std::string_view line, const StepInfo &step) {
    std::string_view rest = line;
    auto rank = parse_number(next_word(rest), UINT32_MAX);
    auto app = parse_number(next_word(rest), max_apps);
    auto in = take_fd(next_word(rest)), out = take_fd(next_word(rest)),
         err = take_fd(next_word(rest));
    if (!rank || !app || *app >= step.apps.size() || !in || !out || !err || !rest.empty() ||
        step.map.host_of(static_cast<Rank>(*rank)) != step.self)
        return garbled("local.task", line);
    return TaskSpec{static_cast<Rank>(*rank), step.apps[*app].argv, std::move(*in), std::move(*out),
                    std::move(*err)};
}

bool is_secret(std::string_view text) {
    return text.size() == 64 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The same number on every host of the run; a real session has one from its RM.
std::uint32_t session_number(std::string_view nspace) {
    std::uint32_t hash = 2166136261u;
    for (char c : nspace)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash & 0x7fffffffu;
}

// The launcher's process number, which is in the namespace: no two launchers run with the same.
std::uint32_t step_number(std::string_view nspace) {
    auto first = nspace.find('.'), last = nspace.find('.', first + 1);
    if (first == std::string_view::npos || last == std::string_view::npos)
        return 0;
    auto number = parse_number(nspace.substr(first + 1, last - first - 1), 0xffffff);
    return number ? static_cast<std::uint32_t>(*number) : 0;
}

// In PMIx' words; empty for what it has none for.
std::string policy_of(std::string_view map_by) {
    if (map_by == "slot" || map_by == "block")
        return "slot";
    if (map_by == "node" || map_by == "cyclic")
        return "node";
    return {};
}

Result<StepInfo> parse_step(const StartDocument &document) {
    auto nspace = document.text("local.nspace");
    auto secret = document.text("local.secret");
    auto host = document.text("host");
    for (const auto *text : {&nspace, &secret, &host}) {
        if (!*text)
            return text->failure();
    }
    if (nspace->empty() || nspace->size() > 200)
        return garbled("local.nspace", *nspace);
    if (!is_secret(*secret))
        return error(ErrorKind::invalid, "start document: local.secret is not 64 hex digits");
    auto map = parse_map(document);
    if (!map)
        return map.failure();
    auto apps = parse_apps(document);
    if (!apps)
        return apps.failure();
    StepInfo step;
    step.nspace = step.job_id = step.step_key = *nspace;
    step.session_id = session_number(*nspace);
    step.number = step_number(*nspace);
    step.shared_secret = *secret;
    step.map = std::move(*map);
    step.apps = std::move(*apps);
    const auto &hosts = step.map.hosts();
    auto self = std::find(hosts.begin(), hosts.end(), *host);
    if (self == hosts.end())
        return garbled("host", *host);
    step.self = static_cast<HostIndex>(self - hosts.begin());
    if (auto policy = document.text("local.map_by"))
        step.mapping_policy = step.ranking_policy = policy_of(*policy);
    step.binding_policy = "none";
    auto sets = document.text("local.process_sets");
    auto process_sets = parse_process_sets(sets ? *sets : "", step.map.rank_count());
    if (!process_sets)
        return error(ErrorKind::invalid, "start document: {}", process_sets.failure().text);
    step.process_sets = std::move(*process_sets);
    if (auto text = document.text("local.parent")) {
        auto parent = ParentWord::parse(*text);
        if (!parent)
            return garbled("local.parent", *text);
        step.parent = StepInfo::Parent{parent->nspace, parent->rank, parent->shares_fate};
    }
    if (!step.parent) // else all of them are pmixhost-task, and the plan has named them
        add_program_sets(step.process_sets, step.apps);
    return step;
}

// What stands in the document beside the control channel.
Result<void> read_start(const StartDocument &document, LocalStart &start) {
    auto step = parse_step(document);
    if (!step)
        return step.failure();
    start.step = std::move(*step);
    for (const auto &line : document.all("local.task")) {
        auto task = parse_task(line, start.step);
        if (!task)
            return task.failure();
        start.tasks.push_back(std::move(*task));
    }
    if (start.tasks.size() != start.step.map.ranks_on(start.step.self).size())
        return error(ErrorKind::invalid,
                     "start document: {} local.task, but this host has {} tasks",
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
            variables.push_back(
                fmt::format("OMPI_MCA_{}_backing_directory={}", user, start.directory));
    }
    return variables;
}

} // namespace pmixhost::local
