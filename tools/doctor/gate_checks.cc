// The gate of this host, as `pmixhost doctor` sees it: whether there is one, and what it has refused of the tools of
// whoever asks. See host_checks.h.
#include "common/text/printable.h"
#include "tools/doctor/host_checks.h"
#include "tools/view/gate_knock.h"

#include <fmt/format.h>

namespace pmixhost {

static constexpr char gate_check[] = "gate";

static std::string long_ago(std::chrono::seconds time) {
    if (time < std::chrono::minutes(2))
        return fmt::format("{} s", time.count());
    if (time < std::chrono::hours(2))
        return fmt::format("{} min", std::chrono::duration_cast<std::chrono::minutes>(time).count());
    return fmt::format("{} h", std::chrono::duration_cast<std::chrono::hours>(time).count());
}

Finding finding_of_refusals(const Result<Refusals> &said) {
    if (!said && (said.failure().kind == ErrorKind::not_found || said.failure().kind == ErrorKind::unreachable))
        return fine(gate_check, "none runs on this host: tools that ask for the system's server find none");
    if (!said && said.failure().kind == ErrorKind::invalid)
        return doubtful(gate_check, "it does not tell what it has refused: it is of an earlier version",
                        "as root: systemctl restart pmixhost-gate, which ends the connections of tools");
    if (!said && said.failure().kind == ErrorKind::denied)
        return doubtful(gate_check, "it cannot be asked: " + printable(said.failure().text, 300),
                        "as root: let users enter that directory (gate.door), for it is where they come to the gate");
    if (!said)
        return doubtful(gate_check, "it cannot be asked: " + printable(said.failure().text, 300),
                        "the gate's log on this host (journalctl -u pmixhost-gate)");
    if (said->count == 0)
        return fine(gate_check, "it has refused no tool of yours in the last hour");
    std::string times = said->count == 1 ? fmt::format("once, {} ago", long_ago(said->last))
                                         : fmt::format("{} times in the last {}, and the last time {} ago", said->count,
                                                       long_ago(said->first), long_ago(said->last));
    return doubtful(gate_check, fmt::format("it has refused tools of yours {}: {}", times, printable(said->why, 500)),
                    "what that says; rules: pmixhost policy explain --action observe. Each is in the gate's log, which "
                    "administrators read (journalctl -u pmixhost-gate)");
}

Findings gate_findings(const Patient &patient) {
    const std::string &door = patient.config.loaded.settings.gate_door;
    if (door.empty())
        return {fine(gate_check, "gate.door is empty: one that runs here tells nobody what it refuses")};
    return {finding_of_refusals(ask_for_own_refusals(door, std::chrono::seconds(5)))};
}

} // namespace pmixhost
