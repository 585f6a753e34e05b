// See output_file.h.
#include "common/process/output_file.h"

#include "common/base/fd_pair.h"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <unistd.h>

namespace pmixhost {

namespace {

// 0, or why not all of it was written.
int write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) { // somebody else who has it does not want to wait
            pollfd room{fd, POLLOUT, 0};
            ::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

std::string name_of(int fd) {
    std::array<char, PATH_MAX> path;
    ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "its file";
}

Result<UniqueFd> make_file(int fd, const std::string &path) {
    if (::fcntl(fd, F_GETFD) < 0)
        return system_error(fd == STDOUT_FILENO ? "standard output" : "standard error", errno);
    std::error_code failed;
    if (auto directory = std::filesystem::path(path).parent_path(); !directory.empty())
        std::filesystem::create_directories(directory, failed);
    // What is wrong with a directory open(2) says as well, but not always why.
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666));
    if (!file)
        return system_error(path, failed ? failed.value() : errno);
    return file;
}

} // namespace

Result<void> lead_to_file(int fd, const std::string &path) {
    auto file = make_file(fd, path);
    if (!file)
        return file.failure();
    if (::dup2(file->get(), fd) < 0)
        return system_error("dup2", errno);
    return {};
}

Result<OutputCopy> lead_to_copy(int fd, const std::string &path) {
    auto file = make_file(fd, path);
    if (!file)
        return file.failure();
    auto ends = make_pipe();
    if (!ends)
        return ends.failure();
    OutputCopy copy{std::move(ends->first), UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)),
                    std::move(*file)};
    if (!copy.old_destination || ::dup2(ends->second.get(), fd) < 0)
        return system_error("dup2", errno);
    return copy;
}

void copy_output() {
    sigset_t all; // what ends the writers ends this; SIGPIPE and SIGXFSZ become errors of write(2)
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    std::array<char, 64u << 10> buffer;
    bool goes_on = true, is_kept = true;
    auto lost = [&](int error_number) {
        is_kept = false;
        auto line = fmt::format("pmixhost: cannot write {}: {}; what follows is not in it\n", name_of(copy_file),
                                std::strerror(error_number));
        goes_on = goes_on && write_all(copy_old_destination, line) == 0;
    };
    while (goes_on || is_kept) {
        ssize_t n = ::read(copy_writers, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        // First to the file, which no reader holds up.
        if (int code = is_kept ? write_all(copy_file, bytes) : 0)
            lost(code);
        goes_on = goes_on && write_all(copy_old_destination, bytes) == 0;
    }
    if (is_kept && ::close(copy_file) != 0) // some file systems tell it only now
        lost(errno);
}

} // namespace pmixhost
