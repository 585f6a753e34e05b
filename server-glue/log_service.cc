// See log_service.h.
#include "server-glue/log_service.h"

#include <fmt/format.h>

namespace pmixhost {

// "2026-01-31T12:00:00Z stdout: "
static std::string prefix(const LogAsk &ask, int fd) {
    std::string out;
    if (ask.timed) {
        std::time_t when = ask.time > 0 ? ask.time : std::time(nullptr);
        std::tm parts{};
        char text[64];
        if (gmtime_r(&when, &parts) && std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &parts) > 0)
            out += text;
    }
    if (ask.tagged)
        out += fd == 1 ? "stdout: " : "stderr: ";
    return out;
}

pmix_status_t log_entries(LogAsk &ask,
                          const std::function<bool(int fd, const std::string &text)> &write) {
    pmix_status_t first = PMIX_SUCCESS;
    std::size_t good = 0;
    for (auto &entry : ask.entries) {
        if (entry.fd >= 0)
            entry.status = write(entry.fd, prefix(ask, entry.fd) + entry.text) ? PMIX_SUCCESS
                                                                               : PMIX_ERR_OUT_OF_RESOURCE;
        if (entry.status == PMIX_SUCCESS)
            ++good;
        else if (first == PMIX_SUCCESS)
            first = entry.status;
        if (good > 0 && ask.once)
            return PMIX_SUCCESS;
    }
    return first != PMIX_SUCCESS && good > 0 ? PMIX_ERR_PARTIAL_SUCCESS : first;
}

} // namespace pmixhost
