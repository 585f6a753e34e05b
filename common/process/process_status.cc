// See process_status.h.
#include "common/process/process_status.h"

#include "common/base/small_file.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>

namespace pmixhost {

static std::string value_in(const std::string &file, std::string_view name) {
    auto text = read_small_file(file);
    for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
        auto line = take_until(rest, '\n');
        if (!line.starts_with(name) || line.substr(name.size(), 1) != ":")
            continue;
        line.remove_prefix(name.size() + 1);
        return std::string(line.substr(std::min(line.find_first_not_of("\t "), line.size())));
    }
    return {};
}

static bool has_stop(const std::string &mask) {
    std::uint64_t bits = 0;
    std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
    return (bits >> (SIGSTOP - 1) & 1) != 0;
}

std::string status_value(pid_t pid, std::string_view name) {
    return value_in(fmt::format("/proc/{}/status", pid), name);
}

pid_t tracer_of(pid_t pid) {
    std::string text = status_value(pid, "TracerPid");
    pid_t tracer = 0;
    std::from_chars(text.data(), text.data() + text.size(), tracer);
    return tracer;
}

bool is_to_stop(pid_t pid) {
    std::size_t all = std::numeric_limits<std::size_t>::max();
    return is_to_stop(pid, all);
}

bool is_to_stop(pid_t pid, std::size_t &threads) {
    if (has_stop(status_value(pid, "ShdPnd")))
        return true;
    std::error_code failed;
    for (const auto &task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), failed)) {
        if (threads == 0)
            break;
        --threads;
        if (has_stop(value_in(task.path().string() + "/status", "SigPnd")))
            return true;
    }
    return false;
}

} // namespace pmixhost
