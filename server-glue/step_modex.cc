// StepServer's direct modex: what a process of this host wants to know of another one, whichever step of
// the session that is of, and what others want to know of ours. What is of another step goes through the
// session.
//
// A namespace of which nothing is known here is asked for first, and registered with the library: what it
// gets for a namespace that it does not know, it makes nothing useful of.
#include "server-glue/step_server.h"

#include <pmix_common.h>

namespace pmixhost {

void StepServer::direct_modex(ModexAsk request) {
    TimePoint deadline = TimePoint::max();
    auto limit = request.timeout ? std::chrono::milliseconds(*request.timeout) : settings_.modex_timeout;
    if (limit.count() > 0)
        deadline = loop_.now() + limit;
    Bytes nspace = request.target.nspace;
    if (nspace == step_.nspace)
        return read_posted(std::move(request), deadline);
    auto shared = std::make_shared<ModexAsk>(std::move(request));
    auto read = [this, shared, deadline] { read_posted(std::move(*shared), deadline); };
    if (foreign_.when_known(nspace, read))
        return;
    namespace_asks_.ask(nspace, deadline,
                        [this, shared, nspace, read](std::int32_t status, const wire::NamespaceInfo *info) {
                            if (!info)
                                return refuse_modex(std::move(*shared), status);
                            foreign_.learn(*library_, *info, [this, shared, nspace, read] {
                                if (foreign_.size_of(nspace) == 0) // what it says made no sense
                                    return refuse_modex(std::move(*shared), PMIX_ERR_NOT_FOUND);
                                read();
                            });
                        });
    arm_timer();
}

void StepServer::refuse_modex(ModexAsk request, pmix_status_t status) {
    auto shared = std::make_shared<ModexAsk>(std::move(request));
    if (!library_ || ending_)
        return shared->reply(status, {});
    foreign_.mark_unknown(*library_, shared->target.nspace, [shared, status] { shared->reply(status, {}); });
}

void StepServer::read_posted(ModexAsk request, TimePoint deadline) {
    // What is asked with the wildcard is the job's information, which has been registered meanwhile.
    if (request.target.wildcard && request.target.nspace != step_.nspace)
        return request.reply(PMIX_SUCCESS, {});
    if (auto known = posted_elsewhere_.extract({request.target.nspace, request.target.rank}))
        return request.reply(PMIX_SUCCESS, std::move(known.mapped()));
    modex_.request(request.target.nspace, request.target.rank, loop_.now(), deadline, std::move(request.reply));
    arm_timer();
}

// Another namespace asks for what one of ours has posted; perhaps on another host.
void StepServer::on_foreign_modex(const wire::ModexRequest &message) {
    TimePoint now = loop_.now();
    HostIndex host = step_.map.host_of(message.rank);
    if (message.nspace != step_.nspace || host == no_host || host == step_.self)
        return modex_.on_request(now, session_peer(), message);
    TimePoint deadline = TimePoint::max();
    if (message.timeout_ms != UINT32_MAX)
        deadline = now + std::chrono::milliseconds(message.timeout_ms);
    auto answer = [this, asked = message.id](pmix_status_t status, Bytes data) {
        wire::ModexReply reply;
        reply.id = asked;
        reply.status = status;
        reply.data = std::move(data);
        send_to_session(wire::ModexReply::type, share(wire::encode(reply)));
    };
    modex_.request(message.nspace, message.rank, now, deadline, {answer, PMIX_ERROR, Bytes()});
}

void StepServer::on_namespace_request(const wire::NamespaceRequest &message) {
    wire::NamespaceReply reply;
    reply.id = message.id;
    if (message.nspace == step_.nspace)
        reply.info = describe(step_);
    else
        reply.status = PMIX_ERR_NOT_FOUND;
    Bytes bytes = wire::encode(reply);
    if (bytes.size() > wire::frame_limit) {
        reply.info = {};
        reply.status = PMIX_ERR_OUT_OF_RESOURCE;
        bytes = wire::encode(reply);
    }
    send_to_session(wire::NamespaceReply::type, share(std::move(bytes)));
}

void StepServer::ask_library(std::uint64_t token, const Bytes &nspace, Rank rank, Wait wait) {
    if (!library_) // it still starts; modex_ knows how long the asker waits
        return early_asks_.push_back({token, nspace, rank, wait});
    auto done = [this, token](pmix_status_t status, Bytes data) {
        modex_.on_local_data(token, status, std::move(data));
    };
    if (wait == Wait::if_there)
        library_->posted_data_now(nspace, {rank}, [done, rank](std::map<Rank, Bytes> posted) {
            auto it = posted.find(rank);
            if (it == posted.end())
                return done(PMIX_ERR_NOT_FOUND, {});
            done(PMIX_SUCCESS, std::move(it->second));
        });
    else
        library_->posted_data(nspace, rank, done);
}

HostIndex StepServer::host_of(const Bytes &nspace, Rank rank) {
    if (nspace == step_.nspace)
        return step_.map.host_of(rank);
    return rank < foreign_.size_of(nspace) ? session_peer() : no_host; // which knows the way
}

bool StepServer::local_process_gone(const Bytes &nspace, Rank rank) {
    return nspace == step_.nspace && tasks_.gone(rank);
}

} // namespace pmixhost
