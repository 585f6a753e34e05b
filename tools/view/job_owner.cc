// See job_owner.h.
#include "tools/view/job_owner.h"

#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "tools/run/daemon_process.h"

#include <charconv>

namespace pmixhost {

Result<uid_t> owner_of(const std::string &job, std::chrono::seconds patience) {
    auto said = run_captured({pmixhostd_path(), "--owner", job}, patience);
    if (!said)
        return said.failure();
    uid_t owner = 0;
    std::string_view number = said->out;
    auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), owner);
    if (said->code != 0 || code != std::errc() || *end != '\n')
        return error(ErrorKind::not_found, "{}", one_line(said->err));
    return owner;
}

} // namespace pmixhost
