// See spawn_service.h.
#include "server-glue/spawn/spawn_service.h"

namespace pmixhost {

void SpawnService::spawn(wire::SpawnRequest request, SpawnAnswer answer) {
    request.id = next_id_++;
    waiting_.emplace(request.id, std::move(answer));
    if (!send_(wire::SpawnRequest::type, share(wire::encode(request)))) {
        if (auto node = waiting_.extract(request.id))
            node.mapped()(PMIX_ERR_UNREACH, {});
    }
}

void SpawnService::on_reply(wire::SpawnReply reply) {
    auto node = waiting_.extract(reply.id);
    if (!node)
        return;
    bool well = reply.status == PMIX_SUCCESS;
    // A namespace that libpmix cannot hold is no success.
    if (well && (reply.nspace.empty() || reply.nspace.size() > PMIX_MAX_NSLEN))
        reply.status = PMIX_ERROR;
    node.mapped()(reply.status, well ? std::move(reply.nspace) : Bytes());
}

void SpawnService::on_launcher_gone() {
    for (auto &[id, answer] : std::exchange(waiting_, {}))
        answer(PMIX_ERR_UNREACH, {});
}

} // namespace pmixhost
