// See step_allocations.h.
#include "server-glue/allocation/step_allocations.h"

#include "common/text/printable.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/query/query_service.h"

#include <ctime>
#include <pmix.h>

namespace pmixhost {

StepAllocations::StepAllocations(StepContext &context, std::function<void(wire::CrossJobEvent)> tell_step,
                                 ConnectionOf connection_of)
    : StepService(context.services), context_(context), tell_step_(std::move(tell_step)),
      connection_of_(std::move(connection_of)), allocations_(*this, context.settings.allocation_timeout),
      time_warning_(*this, context.settings.events_time_warning) {}

void StepAllocations::take_asks(UpcallHandlers &handlers) {
    handlers.on<AllocationAsk>(policy::Action::control, [this](AllocationAsk ask) { request(std::move(ask)); });
}

void StepAllocations::on_library() {
    if (context_.self() == 0)
        time_warning_.start();
}

void StepAllocations::request(AllocationAsk request) {
    if (request.refused == PMIX_SUCCESS) {
        for (const auto &key : request.unsupported)
            context_.log.info("rank {} asked for an allocation with {}, which has no effect", request.caller.rank,
                              printable(key));
    }
    auto is_here = connection_of_(request.caller);
    allocations_.request(context_.now(), std::move(request), std::move(is_here));
}

void StepAllocations::allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                               std::function<void(Result<RmAllocated>)> done) {
    if (auto *allocations = context_.backend.allocations())
        return allocations->allocate(id, std::move(request), deadline, std::move(done));
    context_.loop.post([done = std::move(done)] {
        done(error(ErrorKind::unsupported, "this resource manager gives no allocations to programs"));
    });
}

void StepAllocations::abandon_allocation(std::uint64_t id) {
    if (auto *allocations = context_.backend.allocations())
        allocations->abandon_allocation(id);
}

void StepAllocations::refused(const Process &caller, pmix_status_t status, const std::string &why) {
    context_.log.info("an allocation request of rank {} is answered {}: {}", caller.rank, PMIx_Error_string(status),
                      printable(why));
}

void StepAllocations::stays(const std::string &allocation, const Error &why) {
    context_.log.error("allocation {} of a tool that has gone is not given back: {}", printable(allocation), why.text);
}

void StepAllocations::ask_time_left(std::function<void(Result<std::uint32_t>)> done) {
    auto *questions = context_.backend.questions();
    if (!questions || !questions->answers(RmQuestion::Kind::time_remaining))
        return done(error(ErrorKind::unsupported, "this resource manager does not tell"));
    questions->ask({RmQuestion::Kind::time_remaining, {}}, context_.now() + QueryService::patience,
                   [done = std::move(done)](Result<RmAnswer> answer) {
                       done(answer ? Result<std::uint32_t>(answer->seconds) : Result<std::uint32_t>(answer.failure()));
                   });
}

void StepAllocations::warn_of_time(std::uint32_t seconds_left) {
    context_.log.info("{} seconds are left of the allocation", seconds_left);
    auto now = static_cast<std::uint64_t>(std::time(nullptr));
    for (const auto &event : time_warning_events(seconds_left, now, context_.step.nspace))
        tell(event);
}

void StepAllocations::session_began(const std::string &allocation, const std::string &request_id,
                                    std::uint32_t seconds) {
    sessions_.begin(allocation, request_id, seconds);
    auto now = static_cast<std::uint64_t>(std::time(nullptr));
    tell(session_event(PMIX_EVENT_SESSION_START, allocation, request_id, now, context_.step.nspace));
}

void StepAllocations::session_over(const std::string &allocation) {
    if (sessions_.ended(allocation))
        session_ended(allocation, {});
}

void StepAllocations::session_ended(const std::string &allocation, const std::string &request_id) {
    auto now = static_cast<std::uint64_t>(std::time(nullptr));
    tell(session_event(PMIX_EVENT_SESSION_END, allocation, request_id, now, context_.step.nspace));
}

void StepAllocations::ask_whether_over(const std::string &allocation, std::function<void(Result<bool>)> done) {
    constexpr auto kind = RmQuestion::Kind::allocation_status;
    auto *questions = context_.backend.questions();
    if (!questions || !questions->answers(kind))
        return context_.loop.post(
            [done = std::move(done)] { done(error(ErrorKind::unsupported, "this resource manager does not tell")); });
    questions->ask({kind, allocation}, context_.now() + QueryService::patience,
                   [done = std::move(done)](Result<RmAnswer> answer) {
                       done(answer ? Result<bool>(answer->over) : Result<bool>(answer.failure()));
                   });
}

bool StepAllocations::has_unsent() {
    auto *allocations = context_.ending ? context_.backend.allocations() : nullptr;
    return allocations && (allocations->is_submitting() || allocations_.is_giving_back());
}

// Another host of the step may have given it back.
bool StepAllocations::wants_event(pmix_status_t code, const Bytes &nspace) const {
    return code == PMIX_EVENT_SESSION_END && nspace == context_.step.nspace;
}

void StepAllocations::on_event(pmix_status_t, const Process &, const InfoList &info) {
    for (const pmix_info_t &each : info.all()) {
        if (PMIX_CHECK_KEY(&each, PMIX_ALLOC_ID) && each.value.type == PMIX_STRING && each.value.data.string)
            sessions_.ended(each.value.data.string);
    }
}

void StepAllocations::tell(const HostEvent &event) {
    if (auto message = cross_job_event(event))
        tell_step_(std::move(*message));
    else
        context_.log.warning("{}", message.failure().text);
}

} // namespace pmixhost
