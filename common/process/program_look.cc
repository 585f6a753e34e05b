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

constexpr std::size_t most_bytes = 1 << 20, most_programs = 16;
// The last one is what a script says.
constexpr std::string_view users[] = {"libpmix.so", "libmpi", "liboshmem.so", "mpi4py"};
// Functions, which end with a NUL in the table of names; a linker lets names share their ends.
constexpr std::string_view ways[] = {"dlopen",   "dlmopen", "execv",   "execve", "execvp",      "execvpe",
                                     "execveat", "execl",   "execlp",  "execle", "posix_spawn", "posix_spawnp",
                                     "system",   "popen",   "wordexp", "syscall"};
// Libraries of compilers and of C, which do such things for nobody who does not call those functions.
constexpr std::string_view plain_libraries[] = {"libc",  "libm",    "libgcc_s",    "libstdc++",   "libpthread", "librt",
                                                "libdl", "libgomp", "libgfortran", "libquadmath", "libatomic"};

struct Beginning {
    std::string text;
    bool is_all = false;
};
// Empty for what is no file that can be read; a device or a FIFO is not opened.
Beginning beginning_of(const std::string &path) {
    struct stat kind {};
    if (::stat(path.c_str(), &kind) != 0 || !S_ISREG(kind.st_mode))
        return {};
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const auto size = static_cast<std::size_t>(kind.st_size);
    Beginning out{std::string(std::min(most_bytes, size), '\0')};
    std::size_t have = 0;
    for (ssize_t got = 1; file && got > 0 && have < out.text.size();
         have += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
        got = ::pread(file.get(), out.text.data() + have, out.text.size() - have, static_cast<off_t>(have));
    out.text.resize(have);
    out.is_all = have == size;
    return out;
}

// Is it linked with libraries, and with no others than plain ones? The names of libraries end with a NUL, as all do.
bool needs_plain_libraries(std::string_view text) {
    bool any = false;
    for (auto at = text.find(".so"); at != text.npos; at = text.find(".so", at + 1)) {
        auto begin = text.rfind('\0', at);
        auto name = text.substr(begin == text.npos ? 0 : begin + 1, at - (begin == text.npos ? 0 : begin + 1));
        if (!name.starts_with("lib"))
            continue;
        if (std::find(std::begin(plain_libraries), std::end(plain_libraries), name) == std::end(plain_libraries))
            return false;
        any = any || name == "libc";
    }
    return any;
}

template <std::size_t Count>
bool has_any(const std::string &text, const std::string_view (&names)[Count], std::string_view end = {}) {
    return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) {
        return text.find(std::string(name).append(end)) != std::string::npos;
    });
}

PmixUse look_at(const std::string &path) {
    const auto [text, is_all] = path.empty() ? Beginning() : beginning_of(path);
    if (has_any(text, users))
        return PmixUse::is_expected;
    // What is linked with nothing may contain anything, and a part says nothing of the rest.
    bool is_program = is_all && text.starts_with("\x7f"
                                                 "ELF");
    return is_program && needs_plain_libraries(text) && !has_any(text, ways, std::string_view("\0", 1))
               ? PmixUse::cannot
               : PmixUse::may_come;
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
