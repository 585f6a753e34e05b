// See output_file.h.
#include "common/process/output_file.h"

#include "common/base/fd_pair.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

// Descriptors of the process that copies.
enum : int { writers = 0, old_destination = 1, the_file = 2, first_other = 3 };

[[noreturn]] void copy_until_end(const std::string &path) {
    std::array<char, 64u << 10> buffer;
    bool goes_on = true, is_kept = true;
    while (goes_on || is_kept) {
        ssize_t n = ::read(writers, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        goes_on = goes_on && write_all(old_destination, bytes);
        if (is_kept && !write_all(the_file, bytes)) {
            is_kept = false;
            std::string line =
                fmt::format("pmixhost: cannot write {}: {}; what follows is not in it\n", path, std::strerror(errno));
            goes_on = goes_on && write_all(old_destination, line);
        }
    }
    ::_exit(0);
}

// In a process of its own. Nothing of its parent's stays open in it, above all not the descriptor whose end tells the
// daemon that the program runs.
[[noreturn]] void become_copier(int in, int out, int file, const std::string &path) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr); // SIGPIPE, too: then write(2) fails
    ::prctl(PR_SET_NAME, "pmixhost-output");
    // Above what they are put on first.
    in = ::fcntl(in, F_DUPFD, first_other);
    out = ::fcntl(out, F_DUPFD, first_other);
    file = ::fcntl(file, F_DUPFD, first_other);
    if (::dup2(in, writers) < 0 || ::dup2(out, old_destination) < 0 || ::dup2(file, the_file) < 0)
        ::_exit(1);
    ::closefrom(first_other);
    if (::chdir("/") != 0) { // it holds no file system
    }
    copy_until_end(path);
}

Result<void> start_copier(int in, int out, int file, const std::string &path) {
    pid_t child = ::fork();
    if (child < 0)
        return system_error("fork", errno);
    if (child == 0) {
        pid_t grandchild = ::fork();
        if (grandchild == 0)
            become_copier(in, out, file, path);
        ::_exit(grandchild < 0 ? 1 : 0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
        return error(ErrorKind::system, "there is no process to be had that writes {}", path);
    return {};
}

} // namespace

Result<void> lead_to_file(int fd, const std::string &path, bool copy) {
    std::error_code failed;
    if (auto directory = std::filesystem::path(path).parent_path(); !directory.empty())
        std::filesystem::create_directories(directory, failed);
    // What is wrong with a directory open(2) says as well.
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666));
    if (!file)
        return system_error(path, failed ? failed.value() : errno);
    UniqueFd last;
    if (copy) {
        auto ends = make_pipe();
        if (!ends)
            return ends.failure();
        if (auto started = start_copier(ends->first.get(), fd, file.get(), path); !started)
            return started;
        last = std::move(ends->second);
    } else {
        last = std::move(file);
    }
    if (::dup2(last.get(), fd) < 0)
        return system_error("dup2", errno);
    return {};
}

} // namespace pmixhost
