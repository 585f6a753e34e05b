// Run when pmixhost is built: shows what PMIx_server_setup_fork of the PMIx library that it is built with gives a
// process, with marks where that depends on the server or the process (seen_environment.h). It prints lines of C++ for
// seen_environment.cc.
//
// It starts the library's server in a directory of its own, under names of its own, and registers a process that never
// comes. What it prints must be the same in every run, so the build looks twice (see_environment.sh).
#include "server-glue/library/settings_file.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <pmix.h>
#include <pmix_server.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr const char *server_nspace = "seen-server", *nspace = "seen-job", *hostname = "seen-host";
constexpr pmix_rank_t server_rank = 8150, rank = 4711;

using Marks = std::vector<std::pair<std::string, std::string>>; // what stands for it is second

// A number is not the beginning of another one.
bool ends_there(std::string_view mark, std::string_view text) {
    auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !is_digit(mark.back()) || text.size() == mark.size() || !is_digit(text[mark.size()]);
}

// As a C++ string.
std::string literal(std::string_view text, const Marks &marks = {}) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::pair<std::string, std::string> *found = nullptr;
        for (const auto &mark : marks) {
            if (!found && !mark.first.empty() && text.starts_with(mark.first) && ends_there(mark.first, text))
                found = &mark;
        }
        if (found) {
            out += found->second;
            text.remove_prefix(found->first.size());
            continue;
        }
        char c = text.front();
        text.remove_prefix(1);
        if (c == '"' || c == '\\')
            out += '\\';
        out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out + "\"";
}

// Where the library looks for its settings. The functions below stand before libc's.
std::vector<std::string> files;
void note_file(std::string_view path) {
    if (path.find("mca-params") != path.npos && std::find(files.begin(), files.end(), path) == files.end())
        files.emplace_back(path);
}

pmix_status_t settled(pmix_status_t status, std::promise<pmix_status_t> &answer) {
    using namespace std::chrono_literals;
    if (status == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (status != PMIX_SUCCESS)
        return status;
    auto answered = answer.get_future();
    return answered.wait_for(30s) == std::future_status::ready ? answered.get() : PMIX_ERR_TIMEOUT;
}
void on_answer(pmix_status_t status, void *data) {
    static_cast<std::promise<pmix_status_t> *>(data)->set_value(status);
}

// NAME=VALUE for the process that never comes.
std::vector<std::string> environment() {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, nspace, rank);
    // An answer that comes too late finds them.
    static std::promise<pmix_status_t> of_nspace, of_client;
    if (settled(PMIx_server_register_nspace(process.nspace, 1, nullptr, 0, on_answer, &of_nspace), of_nspace) !=
            PMIX_SUCCESS ||
        settled(PMIx_server_register_client(&process, getuid(), getgid(), nullptr, on_answer, &of_client), of_client) !=
            PMIX_SUCCESS)
        return {};
    char **entries = nullptr;
    std::vector<std::string> out;
    if (PMIx_server_setup_fork(&process, &entries) == PMIX_SUCCESS) {
        for (char **entry = entries; entry && *entry; ++entry)
            out.emplace_back(*entry);
    }
    return out;
}

// The address is what follows the server's name in the first of its URIs.
std::string address_in(const std::vector<std::string> &entries) {
    for (const auto &entry : entries) {
        auto semicolon = entry.find(';');
        if (entry.starts_with("PMIX_SERVER_URI") && semicolon != entry.npos)
            return entry.substr(semicolon + 1);
    }
    return {};
}

bool show(const std::string &list, const std::string &directory) {
    const std::string store = directory + "/store";
    std::filesystem::create_directory(store);
    bool no = false;
    pmix_rank_t own_rank = server_rank;
    pmix_info_t info[7];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, server_nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_RANK, &own_rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_TMPDIR, directory.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SYSTEM_TMPDIR, directory.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, hostname, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], "pmix.dstpath", store.c_str(), PMIX_STRING); // of libpmix before 5
    PMIX_INFO_LOAD(&info[6], PMIX_EXTERNAL_PROGRESS, &no, PMIX_BOOL);
    static pmix_server_module_t module;
    if (PMIx_server_init(&module, info, 7) != PMIX_SUCCESS)
        return false;
    auto entries = environment();
    const Marks marks{{store, "@store@"},
                      {directory, "@directory@"},
                      {std::string(server_nspace) + "." + std::to_string(server_rank), "@server@"},
                      {address_in(entries), "@address@"},
                      {hostname, "@host@"},
                      {nspace, "@nspace@"},
                      {std::to_string(rank), "@rank@"},
                      {"_" + std::to_string(getpid()), "_@pid@"}};
    std::printf("seen.library = %s;\n", literal(PMIx_Get_version()).c_str());
    for (const auto &entry : entries)
        std::printf("seen.%s.emplace_back(%s);\n", list.c_str(), literal(entry, marks).c_str());
    const char *home = std::getenv("HOME");
    const Marks homes{{home ? home : "", "@home@"}};
    for (const auto &file : std::exchange(files, {}))
        std::printf("seen.files.insert_or_assign(%s, %s);\n", literal(file, homes).c_str(),
                    literal(pmixhost::settings_in_file(file)).c_str());
    PMIx_server_finalize();
    return !entries.empty();
}

} // namespace

extern "C" {
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode) {
    using Fopen = FILE *(*)(const char *, const char *);
    note_file(path);
    return reinterpret_cast<Fopen>(dlsym(RTLD_NEXT, "fopen"))(path, mode);
}
__attribute__((visibility("default"))) int access(const char *path, int mode) noexcept {
    note_file(path);
    return faccessat(AT_FDCWD, path, mode, 0);
}
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: environment-probe NAME OF THE LIST\n");
        return 2;
    }
    char directory[] = "/tmp/pmixhost-seen.XXXXXX";
    if (!mkdtemp(directory))
        return 1;
    bool shown = show(argv[1], directory);
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return shown ? 0 : 1;
}
