// See job_owner.h.
#include "tools/view/job_owner.h"

#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "tools/run/daemon_process.h"

#include <charconv>

namespace pmixhost {

Result<uid_t> owner_of(const std::string &job, std::chrono::seconds patience, const StopAsking &stop) {
    CaptureBounds bounds;
    bounds.patience = patience;
    bounds.stop = stop;
    auto said = capture_what_comes({pmixhostd_path(), "--owner", job}, bounds);
    if (!said)
        return said.failure();
    if (said->cut)
        return *said->cut;
    uid_t owner = 0;
    std::string_view number = said->out;
    auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), owner);
    if (said->code != 0 || code != std::errc() || *end != '\n')
        return error(ErrorKind::not_found, "{}", one_line(said->err));
    return owner;
}

} // namespace pmixhost
