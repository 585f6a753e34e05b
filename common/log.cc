// See log.h.
#include "common/log.h"

#include <ctime>
#include <unistd.h>

namespace pmixhost {

void Log::write(LogLevel level, std::string_view text) const {
    static constexpr const char *names[] = {"error: ", "warning: ", "", "debug: "};
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm calendar{};
    localtime_r(&now.tv_sec, &calendar);
    char stamp[40];
    std::size_t length = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &calendar);
    std::string line = fmt::format("[{}.{:03}] {}: {}{}\n", std::string_view(stamp, length),
                                   now.tv_nsec / 1000000, prefix_, names[static_cast<int>(level)],
                                   text);
    // A log that cannot be written must not stop the work.
    [[maybe_unused]] ssize_t written = ::write(fd_, line.data(), line.size());
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
    return error(ErrorKind::invalid, "'{}' is no log level; allowed: error, warning, info, debug",
                 text);
}

} // namespace pmixhost
