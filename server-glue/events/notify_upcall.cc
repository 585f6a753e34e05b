// Upcalls of event registration and notification. All are answered at once, with their return value, but for a refusal
// (refuse_for_now()): the callback that libpmix 4.2.2 gives with a notification touches its queues in whatever thread
// it is called from.
#include "server-glue/events/monitors.h"
#include "server-glue/events/notify_ask.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/upcall_tools.h"

#include <pmix.h>

namespace pmixhost {

namespace {

using namespace upcall;

// The host gives the library every event there is, and the library knows who registered for what.
pmix_status_t on_register_events(pmix_status_t *, std::size_t, const pmix_info_t[], std::size_t, pmix_op_cbfunc_t,
                                 void *) {
    return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t on_deregister_events(pmix_status_t *, std::size_t, pmix_op_cbfunc_t, void *) {
    return PMIX_OPERATION_SUCCEEDED;
}

// Counts `bytes` as posted until the result is dropped; null when there is no room.
std::shared_ptr<void> admit(Upcalls &upcalls, std::uint64_t bytes) {
    auto gate = upcalls.handlers.shared<EventGate>();
    std::uint64_t before = gate->posted.fetch_add(bytes);
    std::shared_ptr<void> admission(gate.get(), [gate, bytes](void *) { gate->posted -= bytes; });
    if (before + gate->waiting + bytes > gate->most)
        return nullptr;
    return admission;
}

// There is no room. As the upcall's own answer libpmix 4.2 would make a success of it, and the notifier would not know
// that nobody else hears; as a later one, which has to come in the library's own thread, it is what it is.
pmix_status_t refuse_for_now(pmix_op_cbfunc_t callback, void *data) {
    if (!callback || !library_hides_refused_events())
        return PMIX_ERR_OUT_OF_RESOURCE;
    in_progress_thread([callback, data] { callback(PMIX_ERR_OUT_OF_RESOURCE, data); });
    return PMIX_OPERATION_IN_PROGRESS;
}

pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range, pmix_info_t info[],
                        std::size_t count, pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        if (!source || range == PMIX_RANGE_INVALID || count > INT32_MAX)
            return PMIX_ERR_BAD_PARAM;
        Process from = process_of(*source);
        // No process of this host has such a name. A refusal by the callback, as below, would come too late for 4.2:
        // of its own events it frees what the callback is given, whatever the upcall returns but PMIX_SUCCESS.
        if (const auto &own = upcalls.handlers.shared<EventGate>()->server_nspace; !own.empty() && from.nspace == own)
            return PMIX_OPERATION_SUCCEEDED;
        NotifyAsk ask;
        for (std::size_t i = 0; range == PMIX_RANGE_CUSTOM && info && i < count; ++i) {
            if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_CUSTOM_RANGE) && !read_processes(info[i].value, ask.custom))
                return PMIX_ERR_BAD_PARAM;
        }
        if (range == PMIX_RANGE_CUSTOM && ask.custom.empty())
            return PMIX_ERR_BAD_PARAM;
        auto packed = pack_infos(info, count);
        if (!packed)
            return PMIX_ERR_PACK_FAILURE;
        ask.info = std::move(*packed);
        ask.admission = admit(upcalls, ask.info.size() + sizeof ask);
        if (!ask.admission)
            return refuse_for_now(callback, data);
        ask.source = std::move(from);
        ask.status = code;
        ask.range = range;
        ask.info_count = static_cast<std::uint32_t>(count);
        post(upcalls, std::move(ask));
        return PMIX_OPERATION_SUCCEEDED;
    });
}

void on_alert(std::size_t, pmix_status_t code, const pmix_proc_t *source, pmix_info_t[], std::size_t, pmix_info_t *,
              std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    guarded([&](Upcalls &upcalls) -> pmix_status_t {
        NotifyAsk ask;
        ask.source = process_of(*source);
        ask.status = code;
        ask.range = PMIX_RANGE_NAMESPACE;
        ask.of_library = true;
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
    if (done)
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, data);
}

} // namespace

bool is_monitors(pmix_status_t code) {
    return code == PMIX_MONITOR_HEARTBEAT_ALERT || code == PMIX_MONITOR_FILE_ALERT;
}

void listen_to_monitors(std::function<void(pmix_status_t)> done) {
    PmixLibrary::register_handler({PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT}, on_alert, std::move(done));
}

namespace upcall {
void add_event_upcalls(pmix_server_module_t &module) {
    module.register_events = on_register_events;
    module.deregister_events = on_deregister_events;
    module.notify_event = on_notify;
}
} // namespace upcall

} // namespace pmixhost
