// See stop_ask.h.
#include "server-glue/debug/stop_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <cstring>
#include <pmix.h>

namespace pmixhost {

namespace {

// The library's own handler comes behind this one.
void on_stop(std::size_t, pmix_status_t, const pmix_proc_t *source, pmix_info_t info[], std::size_t count,
             pmix_info_t *, std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    upcall::guarded([&](Upcalls &upcalls) -> pmix_status_t {
        StopAsk ask;
        ask.source = process_of(*source);
        for (std::size_t i = 0; info && i < count; ++i) {
            const pmix_value_t &value = info[i].value;
            if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT) && value.type == PMIX_STRING && value.data.string)
                ask.breakpoint.assign(value.data.string, strnlen(value.data.string, StopAsk::max_breakpoint));
        }
        upcall::post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
    if (done)
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, data);
}

} // namespace

void listen_to_stops(std::function<void(pmix_status_t)> done) {
    PmixLibrary::register_handler({PMIX_READY_FOR_DEBUG}, on_stop, std::move(done));
}

} // namespace pmixhost
