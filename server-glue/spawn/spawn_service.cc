// See spawn_service.h.
#include "server-glue/spawn/spawn_service.h"

namespace pmixhost {

void SpawnService::spawn(wire::SpawnRequest request, SpawnAnswer answer, Lasts lasts, IsHere is_here) {
    if (leaving_)
        return answer(PMIX_ERR_JOB_CANCELED, {});
    request.id = next_id_++;
    waiting_.emplace(request.id, Waiting{std::move(answer), lasts, std::move(is_here)});
    if (!send_(wire::SpawnRequest::type, share(wire::encode(request)))) {
        if (auto node = waiting_.extract(request.id))
            node.mapped().answer(PMIX_ERR_UNREACH, {});
    }
}

void SpawnService::leave() {
    leaving_ = true;
    std::vector<std::uint64_t> of_tools;
    for (const auto &[id, waiting] : waiting_) {
        if (waiting.lasts == Lasts::with_us)
            of_tools.push_back(id);
    }
    for (std::uint64_t id : of_tools)
        cancel(id);
}

bool SpawnService::end_what_nobody_awaits() {
    std::vector<std::uint64_t> of_nobody;
    bool any = false;
    for (const auto &[id, waiting] : waiting_) {
        if (waiting.lasts != Lasts::with_us || !waiting.is_here)
            continue;
        if (waiting.is_here())
            any = true;
        else
            of_nobody.push_back(id);
    }
    for (std::uint64_t id : of_nobody)
        cancel(id);
    return any;
}

void SpawnService::cancel(std::uint64_t id) {
    auto node = waiting_.extract(id); // unless an answer before has changed everything
    if (!node)
        return;
    send_(wire::SpawnCancel::type, share(wire::encode(wire::SpawnCancel{id})));
    node.mapped().answer(PMIX_ERR_JOB_CANCELED, {});
}

void SpawnService::on_reply(wire::SpawnReply reply) {
    auto node = waiting_.extract(reply.id);
    if (!node)
        return;
    bool well = reply.status == PMIX_SUCCESS;
    // A namespace that libpmix cannot hold is no success.
    if (well && (reply.nspace.empty() || reply.nspace.size() > PMIX_MAX_NSLEN))
        reply.status = PMIX_ERROR;
    node.mapped().answer(reply.status, well ? std::move(reply.nspace) : Bytes());
}

void SpawnService::on_launcher_gone() {
    for (auto &[id, waiting] : std::exchange(waiting_, {}))
        waiting.answer(PMIX_ERR_UNREACH, {});
}

} // namespace pmixhost
