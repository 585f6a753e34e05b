// See spawn_places.h.
#include "server-glue/spawn/spawn_places.h"

#include "common/text/printable.h"
#include "server-glue/library/convert.h"
#include "server-glue/rm/spawn_places.h"

namespace pmixhost {

static constexpr Duration told_once_in = std::chrono::minutes(1);

SpawnPlaces::SpawnPlaces(StepContext &context, const ToolChildren &of_tools, SpawnedJobs &jobs,
                         std::function<bool(const Bytes &nspace)> is_drained)
    : StepService(context.services), context_(context), of_tools_(of_tools), is_drained_(std::move(is_drained)) {
    jobs.when_runs([this](const Bytes &nspace, const SpawnedJob &) {
        if (Stay here = stay()) // the request has kept it until now
            stays_[nspace] = std::move(here);
    });
    jobs.when_told([this](const Bytes &nspace) { let_go(nspace); });
}

void SpawnPlaces::refuse(const Then &then, pmix_status_t status, const std::string &why) {
    note_refusal(why);
    then(status, nullptr, {});
}

void SpawnPlaces::note_refusal(const std::string &why, bool is_for_user) {
    std::string line = fmt::format("PMIx_Spawn is refused: {}", printable(why, 1000));
    context_.log.info("{}", line);
    if (told_last_ == line && context_.now() < told_again_)
        return;
    told_last_ = line;
    told_again_ = context_.now() + told_once_in;
    if (auto *notes = is_for_user ? context_.backend.user_notes() : nullptr)
        notes->tell_user({std::move(line)}, [](Result<void>) {});
}

void SpawnPlaces::find(const Process &caller, wire::SpawnRequest request, Then then) {
    bool is_optional = !context_.step.is_lobby && !requires_place(request);
    auto read = take_place_wish(request);
    auto *refusal = std::get_if<SpawnRefusal>(&read);
    if (refusal && is_optional) // of no meaning here, whatever it says
        return then(PMIX_SUCCESS, nullptr, std::move(request));
    if (refusal)
        return refuse(then, refusal->status, refusal->text);
    const auto &wish = std::get<PlaceWish>(read);
    if (context_.step.is_lobby)
        return find_in_lobby(caller, wish, std::move(request), then);
    bool is_own = wish.allocation == std::to_string(context_.step.session_id);
    if (wish.is_required || (!wish.allocation.empty() && !is_own))
        return refuse(then, PMIX_ERR_NOT_SUPPORTED,
                      fmt::format("it is for {}, and what is spawned here is started in allocation {}, that of {}; a "
                                  "tool that comes by the gate while its user has no job can spawn elsewhere",
                                  wish.allocation.empty() ? std::string("a new allocation (PMIX_ALLOC_*)")
                                                          : "allocation " + wish.allocation,
                                  context_.step.session_id, context_.step.nspace));
    then(PMIX_SUCCESS, nullptr, std::move(request));
}

void SpawnPlaces::find_in_lobby(const Process &caller, const PlaceWish &wish, wire::SpawnRequest request,
                                const Then &then) {
    if (says_nohup(request))
        return refuse(then, PMIX_ERR_NOT_SUPPORTED,
                      "PMIX_NOHUP: what a tool has started by the gate ends with the tool; next: a batch job");
    Stay stay = stay_.lock();
    if (stay && (wish.says_nothing() || wish.allocation == allocation_)) {
        request.allocation = allocation_;
        request.gives_back = gives_back_ ? 1 : 0;
        return then(PMIX_SUCCESS, std::move(stay), std::move(request));
    }
    if (wish.says_nothing())
        return refuse(then, PMIX_ERR_JOB_ALLOC_FAILED,
                      "the user has no job here; next: name an allocation of the user's (PMIX_ALLOC_ID or "
                      "PMIX_SESSION_ID), or ask for one (PMIX_ALLOC_NUM_NODES, PMIX_ALLOC_NODE_LIST, "
                      "PMIX_ALLOC_NUM_CPUS, PMIX_ALLOC_MEM_SIZE, PMIX_ALLOC_TIME, PMIX_ALLOC_QUEUE)");
    if (stay || !waiting_.empty())
        return refuse(
            then, PMIX_ERR_RESOURCE_BUSY,
            fmt::format("jobs of this tool {} allocation{}, and a tool has them in one at a time; next: another "
                        "tool, or wait for their end",
                        stay ? "are in" : "wait for an", stay ? " " + allocation_ : std::string()));
    ask(caller, wish, std::move(request), then);
}

void SpawnPlaces::ask(const Process &caller, PlaceWish wish, wire::SpawnRequest request, Then then) {
    auto *allocations = context_.backend.allocations();
    if (wish.new_one && !allocations)
        return refuse(then, PMIX_ERR_NOT_SUPPORTED, "this resource manager gives no allocations to programs");
    std::uint64_t id = next_id_++, seconds = start_limit_of(request);
    bool is_new = wish.new_one.has_value();
    Duration patience = seconds > 0 ? Duration(std::chrono::seconds(seconds))
                        : is_new    ? Duration(context_.settings.allocation_timeout)
                                    : rm_patience;
    TimePoint deadline = patience == Duration::zero() ? TimePoint::max() : context_.now() + patience;
    waiting_.emplace(id, Waiting{of_tools_.connection_of(caller), std::move(request), std::move(then), is_new, seconds,
                                 context_.now()});
    next_look_ = context_.now() + look_again;
    auto done = [this, id](Result<RmAllocated> outcome) { on_answer(id, std::move(outcome)); };
    if (!is_new)
        return context_.backend.spawn_places()->look_at(wish.allocation, deadline, std::move(done));
    wish.new_one->fails_if_hopeless = true;
    allocations->allocate(id, std::move(*wish.new_one), deadline, std::move(done));
}

void SpawnPlaces::on_answer(std::uint64_t id, Result<RmAllocated> outcome) {
    auto node = waiting_.extract(id);
    if (!node)
        return;
    Waiting &waiting = node.mapped();
    if (!outcome)
        return refuse(waiting.then, status_of(outcome.failure()), outcome.failure().text);
    if (outcome->allocation.empty()) // the launcher would take it for the own one
        return refuse(waiting.then, PMIX_ERROR, "the resource manager names no allocation in its answer");
    Stay stay = enter(*outcome, waiting.is_new);
    if (context_.ending)
        return;
    take_from_start_limit(waiting.request, context_.now() - waiting.began);
    waiting.request.allocation = outcome->allocation;
    waiting.request.gives_back = waiting.is_new ? 1 : 0;
    waiting.then(PMIX_SUCCESS, std::move(stay), std::move(waiting.request));
}

SpawnPlaces::Stay SpawnPlaces::enter(const RmAllocated &allocated, bool gives_back) {
    bool is_other = !allocation_.empty() && allocation_ != allocated.allocation;
    allocation_ = allocated.allocation;
    gives_back_ = gives_back;
    is_sent_ = false;
    told_last_.clear();
    context_.log.info("jobs are started in allocation {}{}", allocation_,
                      gives_back ? ", which is given back when they have ended" : "");
    context_.backend.spawn_places()->enter(allocated);
    if (is_other) // what came from there has come
        context_.leave_session();
    Stay stay(this, [alive = std::weak_ptr(alive_)](void *self) {
        if (!alive.expired())
            static_cast<SpawnPlaces *>(self)->left();
    });
    stay_ = stay;
    return stay;
}

void SpawnPlaces::let_go(const Bytes &nspace) {
    auto stay = stays_.extract(nspace);
    if (!stay || is_drained_(nspace))
        return;
    leaving_[nspace] = {std::move(stay.mapped()), context_.now() + output_patience};
    next_look_at_output_ = context_.now() + look_at_output_again;
}

void SpawnPlaces::on_time(TimePoint now) {
    if (!leaving_.empty() && now >= next_look_at_output_) {
        next_look_at_output_ = now + look_at_output_again;
        std::erase_if(leaving_,
                      [&](const auto &entry) { return now >= entry.second.until || is_drained_(entry.first); });
    }
    if (waiting_.empty() || now < next_look_)
        return;
    next_look_ = now + look_again;
    std::erase_if(waiting_, [this](auto &entry) {
        auto &[id, waiting] = entry;
        if (!waiting.is_here || waiting.is_here())
            return false;
        context_.log.info("a tool has gone that waited for an allocation, which is given up");
        if (waiting.is_new)
            context_.backend.allocations()->abandon_allocation(id);
        return true;
    });
}

// What is on its way to the launcher comes before this. The launcher knows nothing of an allocation for which it was
// never asked.
void SpawnPlaces::left() {
    if (!std::exchange(gives_back_, false))
        return;
    if (is_sent_ && context_.mesh->connected(context_.launcher_peer()))
        context_.send(context_.launcher_peer(), wire::LeaveAllocation{allocation_});
    else
        give_back(allocation_);
}

// The launcher would have given it back.
void SpawnPlaces::give_back_place() {
    if (std::exchange(gives_back_, false))
        give_back(allocation_);
}

void SpawnPlaces::on_launcher_gone() {
    give_back_place();
    stays_.clear();
    leaving_.clear();
}

// A request that waits for the connection with the launcher goes no further.
void SpawnPlaces::on_leaving(bool) {
    for (const auto &[id, waiting] : waiting_) {
        if (waiting.is_new)
            context_.backend.allocations()->abandon_allocation(id);
    }
    if (!is_sent_ || !context_.mesh->connected(context_.launcher_peer()))
        give_back_place();
}

bool SpawnPlaces::has_unsent() {
    auto *allocations = context_.step.is_lobby ? context_.backend.allocations() : nullptr;
    return giving_ > 0 || (allocations && allocations->is_submitting());
}

void SpawnPlaces::give_back(const std::string &allocation) {
    ++giving_;
    RmAllocation request;
    request.kind = RmAllocation::Kind::release;
    request.allocation = allocation;
    context_.backend.allocations()->allocate(
        next_id_++, std::move(request), context_.now() + rm_patience, [this, allocation](Result<RmAllocated> given) {
            --giving_;
            // It may have been given back, or be over.
            if (!given && given.failure().kind != ErrorKind::not_found)
                context_.log.error("allocation {} is not given back: {}", allocation, given.failure().text);
        });
}

} // namespace pmixhost
