// See step_events.h.
#include "server-glue/events/step_events.h"

#include "common/text/printable.h"
#include "server-glue/events/host_events.h"
#include "server-glue/events/monitors.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <ctime>
#include <pmix.h>

namespace pmixhost {

// How often the fill of the links is looked at while they are not empty.
static constexpr auto look_again = std::chrono::milliseconds(10);

StepEvents::StepEvents(StepContext &context, std::function<bool()> any_cross_job,
                       std::function<bool(const Process &)> is_tool, std::function<std::vector<Process>()> tools)
    : StepService(context.services), context_(context), any_cross_job_(std::move(any_cross_job)),
      is_tool_(std::move(is_tool)),
      events_(context, *this, context.step.map, context.step.nspace, context.self(), context.settings.transport_radix),
      ends_(
          context, events_, to_library_, [this](const wire::HostReport &report) { report_cross_job(report); },
          std::move(tools)) {}

void StepEvents::take_asks(UpcallHandlers &handlers) {
    gate_ = handlers.shared<EventGate>();
    gate_->server_nspace = context_.step.server_nspace();
    handlers.on_unjudged<NotifyAsk>([this](NotifyAsk ask) { notify(std::move(ask)); });
}

void StepEvents::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::EventNotice>(Peer::host, [this](HostIndex from, auto &&notice, const SharedBytes &payload) {
        events_.on_notice(from, std::move(notice), payload);
    });
    messages.on<wire::HostReport>(Peer::host, [this](HostIndex from, auto &&report, const SharedBytes &payload) {
        events_.on_report(from, std::move(report), payload);
    });
    messages.on<wire::BadEnds>(Peer::host, [this](HostIndex from, auto &&ends, const SharedBytes &) {
        events_.on_bad_ends(from, ends);
        ends_.pass_on_bad_ends_later();
    });
    messages.on<wire::NormalExits>(Peer::host, [this](HostIndex from, auto &&ends, const SharedBytes &payload) {
        events_.on_ends(from, std::move(ends), payload);
        if (events_.ends_to_tell())
            ends_.report_normal_exits_soon();
    });
    messages.on<wire::CrossJobEvent>(
        Peer::session, [this](HostIndex, auto &&event, const SharedBytes &) { tell_step(std::move(event)); });
}

void StepEvents::on_library() {
    to_library_.on_library();
    ends_.on_library();
}

// --- from the processes of this host ----------------------------------------------------------------

void StepEvents::notify(NotifyAsk ask) {
    const StepInfo &step = context_.step;
    bool tool = is_tool_(ask.source);
    if (tool && only_hosts_say(ask.status))
        return context_.log.info("the tool {} notifies {}, which only a host may: it goes no further",
                                 printable(ask.source.nspace), PMIx_Error_string(ask.status));
    if (tool) {
        auto info = unpack_infos(ask.info, ask.info_count);
        if (!info || speaks_for_rm(**info))
            return context_.log.info("the tool {} says in an event ({}) what is to be ended, which only a host may "
                                     "say: it goes no further",
                                     printable(ask.source.nspace), ask.status);
    }
    if (tool && !context_.may(ask.source, policy::Action::control))
        return; // no further than where the library has given it to already
    if (ask.range == PMIX_RANGE_RM)
        context_.log.info("rank {} on {} tells the resource manager: {}", ask.source.rank, context_.host_name(),
                          PMIx_Error_string(ask.status));
    if (ask.status == PMIX_GROUP_INVITED && ask.source.nspace == step.nspace)
        ends_.note_inviter(ask.source.rank);
    if (!only_hosts_say(ask.status)) // it would be the process that says it
        hear(ask.status, ask.source, ask.info, ask.info_count);
    // What a monitor finds counts only when the library of the source's own host has found it: other libraries and
    // processes tell the same.
    bool known = is_monitors(ask.status) && (!ask.of_library || step.map.host_of(ask.source.rank) != context_.self());
    if ((tool || ask.source.nspace == step.nspace) && !known)
        events_.notify(std::move(ask));
    watch_links();
}

void StepEvents::hear(pmix_status_t code, const Process &source, const Bytes &packed, std::uint32_t count) {
    if (!context_.library) { // which unpacks
        bool is_wanted = false;
        context_.tell_services([&](StepService &each) { is_wanted |= each.wants_event(code, source.nspace); });
        if (is_wanted)
            context_.when_library([this, code, source, packed, count] { hear(code, source, packed, count); });
        return;
    }
    std::shared_ptr<InfoList> info;
    context_.tell_services([&](StepService &each) {
        if (!each.wants_event(code, source.nspace))
            return;
        if (!info) {
            auto unpacked = unpack_infos(packed, count);
            info = unpacked ? *unpacked : nullptr;
        }
        if (info)
            each.on_event(code, source, *info);
    });
}

void StepEvents::watch_links() {
    std::size_t waiting = events_.waiting_bytes() + context_.mesh->queued_bytes(context_.session_peer());
    gate_->waiting = waiting;
    links_timer_.reset();
    if (waiting > 0)
        links_timer_ = context_.loop.after(look_again, [this] { watch_links(); });
}

void StepEvents::tell_step(wire::CrossJobEvent event) {
    events_.on_cross_job(std::move(event));
    watch_links();
}

void StepEvents::on_host_gone(HostIndex host, bool left) {
    if (left || context_.ending || !context_.mesh->was_connected(host))
        return;
    wire::HostReport report;
    report.host = host;
    report.lost = 1;
    report.time = static_cast<std::uint64_t>(std::time(nullptr));
    report_cross_job(report);
    events_.report_lost(host, report.time);
}

// --- to the processes of this host ------------------------------------------------------------------

void StepEvents::event_lost(HostIndex to) {
    context_.log.warning("events come faster than the daemon on {} takes them: it, and the hosts it passes events "
                         "on to, lose some",
                         context_.step.map.hosts()[to]);
}

void StepEvents::deliver(const wire::EventNotice &notice) {
    // A process may notify anything, in anybody's name: what only hosts say counts when one of them has said it.
    if (notice.of_host != 0 || !only_hosts_say(notice.status))
        hear(notice.status, {notice.nspace, notice.rank, notice.rank == PMIX_RANK_WILDCARD}, notice.info,
             notice.info_count);
    to_library_.give(notice.info.size() + sizeof notice, [this, notice](LibraryEvents::Done done) {
        pmix_proc_t source = proc_of(notice.nspace, notice.rank);
        auto info = unpack_infos(notice.info, notice.info_count);
        if (!info) {
            context_.log.warning("an event of rank {} of {}: {}", notice.rank, printable(notice.nspace),
                                 info.failure().text);
            return done(PMIX_ERR_UNPACK_FAILURE);
        }
        InfoList *all = info->get();
        // Whatever the source claims. Of another job's event the server is not known here.
        all->remove_all(PMIX_EVENT_PROXY);
        if (notice.nspace == context_.step.nspace)
            all->add_process(PMIX_EVENT_PROXY, proc_of(context_.step.server_nspace(), notice.origin));
        // A release is for who waits now: kept, it would let a later stop of the same process go by.
        if (notice.info.size() > most_kept_bytes(context_.settings.events_keep) ||
            notice.status == PMIX_DEBUGGER_RELEASE)
            all->add(PMIX_EVENT_DO_NOT_CACHE, true);
        context_.library->notify(notice.status, source, notice.range, *info, std::move(done));
    });
}

// The services come last, because they may have more to tell the processes than the library is given at once.
void StepEvents::deliver(const wire::HostReport &report) {
    ends_.tell(report);
    context_.tell_services([&](StepService &each) { each.on_bad_ends(report); });
}

void StepEvents::deliver(const wire::BadEnds &ends) {
    for (const auto &report : by_host(ends, context_.step.map))
        deliver(report);
}

void StepEvents::deliver(const wire::NormalExits &ends) {
    ends_.tell(ends);
    context_.tell_services([&](StepService &each) { each.on_normal_exits(ends); });
}

// --- to other jobs ----------------------------------------------------------------------------------

void StepEvents::send_cross_job(wire::CrossJobEvent event) {
    to_session_ = true;
    if (!context_.send_to_session(event))
        context_.log.debug("the session cannot be reached: an event does not leave the job");
}

// Tells those who have connected with this namespace. The hosts do not agree on who saw first that a host is lost, so
// `once` is the same from all.
void StepEvents::report_cross_job(const wire::HostReport &report) {
    if (!any_cross_job_())
        return;
    for (const auto &event : events_of(report, context_.step.map, context_.step.nspace, context_.live_on)) {
        auto message = cross_job_event(event);
        if (!message) {
            context_.log.warning("{}", message.failure().text);
            continue;
        }
        message->related = 1;
        if (report.lost != 0)
            message->once = fmt::format("{}:{}", event.code, event.source.rank);
        send_cross_job(std::move(*message));
    }
}

} // namespace pmixhost
