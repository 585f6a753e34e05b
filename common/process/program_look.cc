// See program_look.h.
#include "common/process/program_look.h"

#include "common/base/unique_fd.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t most_bytes = 256 << 10, most_programs = 16;
// The last one is what a script says.
constexpr std::string_view users[] = {"libpmix.so", "libmpi", "liboshmem.so", "mpi4py"};
// Functions, which end with a NUL in the table of names; a linker lets names share their ends.
constexpr std::string_view ways[] = {"dlopen",      "dlmopen",      "execv",  "execve", "execvp",
                                     "execvpe",     "execveat",     "execl",  "execlp", "execle",
                                     "posix_spawn", "posix_spawnp", "system", "popen"};

// Empty for what is no file that can be read: a FIFO is not waited for.
std::string beginning_of(const std::string &path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat kind {};
    if (!file || ::fstat(file.get(), &kind) != 0 || !S_ISREG(kind.st_mode))
        return {};
    std::string text(std::min<std::size_t>(most_bytes, static_cast<std::size_t>(kind.st_size)), '\0');
    ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

template <std::size_t Count>
bool has_any(const std::string &text, const std::string_view (&names)[Count], std::string_view end = {}) {
    return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) {
        return text.find(std::string(name).append(end)) != std::string::npos;
    });
}

PmixUse look_at(const std::string &path) {
    const std::string text = path.empty() ? std::string() : beginning_of(path);
    if (has_any(text, users))
        return PmixUse::is_expected;
    // What is linked with nothing may contain anything.
    bool is_linked = text.starts_with("\x7f"
                                      "ELF") &&
                     text.find("libc.so") != std::string::npos;
    return !is_linked || has_any(text, ways, std::string_view("\0", 1)) ? PmixUse::may_come : PmixUse::cannot;
}

constexpr std::string_view words[] = {"cannot", "may_come", "is_expected"};

} // namespace

std::string_view to_word(PmixUse use) {
    return words[static_cast<std::size_t>(use)];
}

PmixUse pmix_use_of(std::string_view word) {
    auto found = std::find(std::begin(words), std::end(words), word);
    return found == std::end(words) ? PmixUse::may_come : static_cast<PmixUse>(found - std::begin(words));
}

std::string program_path(const std::string &name, std::string_view search_path, const std::string &directory) {
    if (name.empty() || name.starts_with('/'))
        return name;
    if (name.find('/') != std::string::npos)
        return directory + "/" + name;
    while (!search_path.empty()) {
        std::string path(take_until(search_path, ':'));
        if (!path.starts_with('/')) // relative to the working directory; empty is that directory
            path = directory + "/" + path;
        path += "/" + name;
        struct stat kind {};
        if (::stat(path.c_str(), &kind) == 0 && S_ISREG(kind.st_mode) && ::access(path.c_str(), X_OK) == 0)
            return path;
    }
    return {};
}

PmixUse look_at_programs(const std::vector<std::string> &paths) {
    if (paths.empty() || paths.size() > most_programs)
        return PmixUse::may_come;
    auto most = PmixUse::cannot;
    for (const auto &path : paths)
        most = std::max(most, look_at(path));
    return most;
}

PmixUse look_at_programs(const std::vector<App> &apps, std::string_view search_path, const std::string &directory) {
    std::vector<std::string> paths;
    for (const App &app : apps) {
        auto path = app.argv.empty() ? std::string() : program_path(app.argv.front(), search_path, directory);
        if (std::find(paths.begin(), paths.end(), path) == paths.end())
            paths.push_back(std::move(path));
    }
    return look_at_programs(paths);
}

} // namespace pmixhost
