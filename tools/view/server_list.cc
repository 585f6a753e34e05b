// See server_list.h.
#include "tools/view/server_list.h"

#include "common/base/small_file.h"
#include "common/rendezvous/server_names.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr int max_depth = 4;
constexpr std::size_t max_looked_at = 100'000; // entries of directories

bool is_own(const std::string &path, mode_t type) {
    struct stat entry {};
    return ::lstat(path.c_str(), &entry) == 0 && entry.st_uid == ::geteuid() && (entry.st_mode & S_IFMT) == type;
}

// PRRTE's and libpmix' own names, and ours: pmix.HOST.tool, and more behind it.
bool may_be_rendezvous(const std::string &name) {
    return name.starts_with("pmix.") && name.find(".tool") != std::string::npos;
}

// The directories of `pmixhost with` name servers that it has found itself, and that go with it where they are desks.
bool is_borrowed(const std::string &directory) {
    return directory.starts_with("pmixhost-with.");
}

bool runs(pid_t pid) {
    return ::kill(pid, 0) == 0 || errno == EPERM;
}

void add(std::vector<ListedServer> &found, const std::filesystem::path &file) {
    auto listed = server_of_file(file);
    if (!listed || !runs(listed->server.pid) || std::any_of(found.begin(), found.end(), [&](const auto &one) {
            return rendezvous_uri(one.server) == rendezvous_uri(listed->server);
        }))
        return;
    found.push_back(std::move(*listed));
}

void look(std::vector<ListedServer> &found, const std::string &directory, int depth, std::size_t &looked_at) {
    std::error_code failed;
    std::filesystem::directory_iterator entries(directory, failed);
    for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
        if (++looked_at > max_looked_at)
            return;
        std::string path = entries->path();
        if (may_be_rendezvous(entries->path().filename()) && is_own(path, S_IFREG))
            add(found, path);
        else if (depth > 1 && !is_borrowed(entries->path().filename()) && is_own(path, S_IFDIR))
            look(found, path, depth - 1, looked_at);
    }
}

} // namespace

Result<ListedServer> server_of_file(const std::string &file) {
    auto text = read_small_file(file);
    auto server = text ? parse_rendezvous(*text) : Result<RendezvousServer>(text.failure());
    if (!server)
        return server.failure();
    std::string job = server->nspace;
    if (job.ends_with(server_suffix) && job.size() > server_suffix.size())
        job.resize(job.size() - server_suffix.size());
    return ListedServer{std::move(*server), std::move(job), file};
}

std::string rendezvous_root() {
    for (const char *name : {"PMIX_SYSTEM_TMPDIR", "TMPDIR"}) {
        bool of_task = name == std::string_view("PMIX_SYSTEM_TMPDIR") && std::getenv("PMIX_NAMESPACE");
        if (const char *value = std::getenv(name); value && *value && !of_task)
            return value;
    }
    return "/tmp";
}

std::vector<ListedServer> servers_below(const std::string &root) {
    std::vector<ListedServer> found;
    std::size_t looked_at = 0;
    look(found, root, max_depth, looked_at);
    std::sort(found.begin(), found.end(), [](const auto &one, const auto &other) {
        return std::tie(one.job, one.server.rank) < std::tie(other.job, other.server.rank);
    });
    return found;
}

std::vector<ListedServer> servers_of(const std::vector<ListedServer> &servers, const std::string &name) {
    std::vector<ListedServer> exact, of_job;
    for (const auto &one : servers) {
        std::size_t dot = one.job.find('.');
        std::string_view short_name =
            dot == one.job.npos ? std::string_view() : std::string_view(one.job).substr(dot + 1);
        if (one.job == name || one.server.nspace == name || (!short_name.empty() && short_name == name))
            exact.push_back(one);
        else if (!name.empty() && short_name.starts_with(name) && short_name.substr(name.size()).starts_with('.'))
            of_job.push_back(one);
    }
    return exact.empty() ? of_job : exact;
}

} // namespace pmixhost
