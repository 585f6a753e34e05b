// See step_stops.h.
#include "server-glue/debug/step_stops.h"

namespace pmixhost {

Result<DebugStops> stops_of(const StepInfo &step, const Settings &settings, bool has_door) {
    auto stops = DebugStops::parse(step.parent ? step.parent->stops : settings.debug_stop);
    if (!stops)
        return error(ErrorKind::invalid, "where processes shall stop for a debugger cannot be read");
    if (auto fits = stops->fit(step.map.rank_count()); !fits)
        return error(fits.failure().kind, "debug.stop (PMIXHOST_DEBUG_STOP): {}", fits.failure().text);
    if (!has_door && !step.parent && !stops->at(StopPlace::exec).empty())
        return error(ErrorKind::unsupported, "debug.stop: processes that this resource manager's backend starts itself "
                                             "cannot stop at their first instruction; next: init or app");
    return std::move(*stops);
}

} // namespace pmixhost
