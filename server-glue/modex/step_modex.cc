// See step_modex.h. A namespace of which nothing is known here is asked for first and registered with the library,
// which makes nothing useful of what it gets for a namespace that it does not know.
#include "server-glue/modex/step_modex.h"

#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <pmix_common.h>

namespace pmixhost {

static constexpr auto no_limit = std::chrono::hours(720);

StepModex::StepModex(StepContext &context, CrossJobs &jobs, HandingOver &handing_over)
    : StepService(context.services), context_(context), jobs_(jobs), handing_over_(handing_over),
      modex_(context, *this, context.self()) {}

void StepModex::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<ModexAsk>([this](ModexAsk ask) { get(std::move(ask)); });
}

void StepModex::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::ModexRequest>(Peer::host, [this](HostIndex from, const auto &message, const auto &) {
        // A library that has forgotten the job knows nothing; who asks hears soon that this host has left.
        if (!context_.ending)
            modex_.on_request(context_.now(), from, message);
    });
    messages.on<wire::ModexRequest>(
        Peer::session, [this](HostIndex, const auto &message, const auto &) { on_cross_job_request(message); });
    for (Peer peer : {Peer::host, Peer::session})
        messages.on<wire::ModexReply>(peer, [this](HostIndex from, auto &&message, const auto &) {
            modex_.on_reply(context_.now(), from, std::move(message));
        });
}

void StepModex::get(ModexAsk request) {
    TimePoint deadline = TimePoint::max();
    auto limit = request.timeout ? std::chrono::milliseconds(*request.timeout) : context_.settings.modex_timeout;
    if (limit.count() > 0)
        deadline = context_.now() + limit;
    Duration patience = context_.settings.modex_key_wait;
    if (request.timeout)
        patience = limit.count() > 0 ? limit : no_limit;
    ModexKey key{request.key, patience};
    Bytes nspace = request.target.nspace;
    auto shared = std::make_shared<ModexAsk>(std::move(request));
    jobs_.when_known(nspace, deadline, [this, shared, deadline, key](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            return shared->reply(status, {});
        read_posted(std::move(*shared), deadline, key);
    });
}

// The namespace is one that the library knows.
void StepModex::read_posted(ModexAsk request, TimePoint deadline, ModexKey key) {
    // What is asked with the wildcard is the job's information, which has been registered meanwhile.
    if (request.target.wildcard && request.target.nspace != context_.step.nspace)
        return request.reply(PMIX_SUCCESS, {});
    auto known = jobs_.posted().take(request.target.nspace, request.target.rank);
    if (known && !request.anew && key.is_in(*known))
        return request.reply(PMIX_SUCCESS, std::move(*known));
    modex_.request(request.target.nspace, request.target.rank, context_.now(), deadline, std::move(request.reply),
                   std::move(key));
}

// Another namespace asks for what one of ours has posted; perhaps on another host.
void StepModex::on_cross_job_request(const wire::ModexRequest &message) {
    if (context_.ending)
        return; // the session asks another host, which knows who has what was posted here
    TimePoint now = context_.now();
    HostIndex host = context_.step.map.host_of(message.rank);
    if (message.nspace != context_.step.nspace || host == no_host || host == context_.self())
        return modex_.on_request(now, context_.session_peer(), message);
    TimePoint deadline = TimePoint::max();
    if (message.timeout_ms != UINT32_MAX)
        deadline = now + std::chrono::milliseconds(message.timeout_ms);
    auto answer = [this, asked = message.id, of = sessions_gone_](pmix_status_t status, Bytes data) {
        if (of != sessions_gone_)
            return; // the next session has other questions of this number
        wire::ModexReply reply;
        reply.id = asked;
        reply.status = status;
        reply.data = std::move(data);
        context_.send_to_session(reply);
    };
    modex_.request(message.nspace, message.rank, now, deadline, {answer, PMIX_ERROR, Bytes()},
                   {message.key, std::chrono::milliseconds(message.key_ms)});
}

// --- what the state machine asks --------------------------------------------------------------------

void StepModex::ask_library(std::uint64_t token, const Bytes &nspace, Rank rank, Wait wait) {
    if (!context_.library) { // modex_ knows how long the asker waits
        context_.need_library();
        return early_asks_.push_back({token, nspace, rank, wait});
    }
    auto done = [this, token](pmix_status_t status, Bytes data) {
        modex_.on_local_data(context_.now(), token, status, std::move(data));
    };
    if (wait == Wait::for_commit)
        return context_.library->posted_data(nspace, rank, done);
    context_.library->posted_data_now(nspace, {rank}, [done, rank](std::map<Rank, Bytes> posted) {
        auto it = posted.find(rank);
        if (it == posted.end())
            return done(PMIX_ERR_NOT_FOUND, {});
        done(PMIX_SUCCESS, std::move(it->second));
    });
}

void StepModex::on_library() {
    for (auto &ask : std::exchange(early_asks_, {}))
        ask_library(ask.token, ask.nspace, ask.rank, ask.wait);
}

HostIndex StepModex::host_of(const Bytes &nspace, Rank rank) {
    if (nspace == context_.step.nspace)
        return context_.step.map.host_of(rank);
    return rank < jobs_.size_of(nspace) ? context_.session_peer() : no_host; // which knows the way
}

HostIndex StepModex::holder_of(const Bytes &nspace, Rank rank, const std::set<HostIndex> &but) {
    HostIndex home = host_of(nspace, rank);
    bool of_another_host = nspace == context_.step.nspace && home != no_host && home != context_.self();
    const PostedHeirs &heirs = handing_over_.heirs();
    return of_another_host && heirs.has_left(home) && !context_.mesh->connected(home) ? heirs.heir_of(home, but) : home;
}

ModexPort::Kept StepModex::kept(const Bytes &nspace, Rank rank) {
    HostIndex home = context_.step.map.host_of(rank);
    if (nspace != context_.step.nspace || home == no_host)
        return {nullptr, false};
    auto connected = [this](HostIndex host) { return context_.mesh->connected(host); };
    return {handing_over_.kept(rank), handing_over_.heirs().may_still_come(home, connected),
            handing_over_.has_refused(rank)};
}

} // namespace pmixhost
