// See log.h.
#include "common/base/log.h"

#include <ctime>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace pmixhost {

Log::~Log() = default;

// Nothing waits at /dev/null, where most logs go.
static bool is_dev_null(int fd) {
    struct stat status {};
    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

void Log::do_not_wait() {
    if (writer_ || is_dev_null(fd_))
        return;
    writer_ = std::make_unique<LineWriter>(fd_, [prefix = prefix_](std::uint64_t lost) {
        return line(LogLevel::warning, prefix,
                    fmt::format("{} lines were lost: the log was not written as fast as it came", lost));
    });
}

void Log::flush() const {
    if (writer_)
        writer_->flush();
}

void Log::go_to(int fd) {
    if (is_file_ || !writer_)
        return;
    writer_->flush();
    writer_->go_to(fd);
}

std::string Log::line(LogLevel level, const std::string &prefix, std::string_view text) {
    static constexpr const char *names[] = {"error: ", "warning: ", "", "debug: "};
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm calendar{};
    localtime_r(&now.tv_sec, &calendar);
    char stamp[40];
    std::size_t length = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &calendar);
    return fmt::format("[{}.{:03}] {}: {}{}\n", std::string_view(stamp, length), now.tv_nsec / 1000000, prefix,
                       names[static_cast<int>(level)], text);
}

void Log::write(LogLevel level, std::string_view text) const {
    std::string whole = line(level, prefix_, text);
    if (writer_)
        return writer_->write(std::move(whole));
    // A log that cannot be written must not stop the work.
    [[maybe_unused]] ssize_t written = ::write(fd_, whole.data(), whole.size());
}

Result<LogLevel> parse_log_level(std::string_view text) {
    if (text == "error")
        return LogLevel::error;
    if (text == "warning")
        return LogLevel::warning;
    if (text == "info")
        return LogLevel::info;
    if (text == "debug")
        return LogLevel::debug;
    return error(ErrorKind::invalid, "'{}' is no log level; allowed: error, warning, info, debug", text);
}

} // namespace pmixhost
