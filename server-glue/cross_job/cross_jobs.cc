// See cross_jobs.h.
#include "server-glue/cross_job/cross_jobs.h"

#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

CrossJobs::CrossJobs(StepContext &context, StepSets &sets, StepFate &fate)
    : StepService(context.services), context_(context), sets_(sets), fate_(fate),
      jobs_(context.log, context.step.session_id, context.host_name(), context.settings.daemon_details_up_to),
      asks_([this](std::uint8_t type, SharedBytes payload) {
          return context_.send_to_session(type, std::move(payload));
      }) {}

void CrossJobs::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::NamespaceRequest>(
        Peer::session, [this](HostIndex, const auto &message, const auto &) { describe_this(message); });
    messages.on<wire::NamespaceReply>(
        Peer::session, [this](HostIndex, const auto &message, const auto &) { asks_.on_reply(message); });
}

bool CrossJobs::spanned_by(const Signature &signature) const {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return members.nspace != context_.step.nspace; });
}

bool CrossJobs::has_unknown(const Signature &signature) const {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return size_of(members.nspace) == 0; });
}

// --- what a job is ----------------------------------------------------------------------------------

void CrossJobs::when_known(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then) {
    auto shared = std::make_shared<std::function<void(pmix_status_t)>>(std::move(then));
    find(
        nspace, deadline, [shared](pmix_status_t status) { (*shared)(status); },
        [this, shared, nspace](pmix_status_t status) { refuse(nspace, status, *shared); });
}

void CrossJobs::look_for(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then) {
    if (nspace.size() > PMIX_MAX_NSLEN)
        return then(PMIX_ERR_NOT_FOUND);
    auto shared = std::make_shared<std::function<void(pmix_status_t)>>(std::move(then));
    auto answer = [shared](pmix_status_t status) { (*shared)(status); };
    find(nspace, deadline, answer, answer);
}

void CrossJobs::look_for_all(const Signature &signature, TimePoint deadline, std::function<void(pmix_status_t)> then) {
    struct Search {
        Signature signature;
        std::function<void(pmix_status_t)> then;
        pmix_status_t status = PMIX_SUCCESS;
        std::size_t left = 1;
    };
    auto search = std::make_shared<Search>();
    search->signature = signature;
    search->then = std::move(then);
    auto one_less = [this, search](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            search->status = status;
        if (--search->left > 0)
            return;
        if (search->status == PMIX_ERR_NOT_FOUND)
            context_.explain_not_found();
        else if (search->status == PMIX_SUCCESS && !has_all_ranks(search->signature))
            search->status = PMIX_ERR_NOT_FOUND;
        search->then(search->status);
    };
    for (const auto &members : signature.members) {
        // Also for one that is known: it may still be on its way to libpmix, and who asks later must not come first.
        if (members.nspace == context_.step.nspace)
            continue;
        ++search->left;
        look_for(members.nspace, deadline, one_less);
    }
    one_less(PMIX_SUCCESS);
}

bool CrossJobs::has_all_ranks(const Signature &signature) const {
    return std::all_of(signature.members.begin(), signature.members.end(), [this](const Members &members) {
        return members.ranks.empty() || members.ranks.back() < size_of(members.nspace);
    });
}

// One of the two is called.
void CrossJobs::find(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then,
                     std::function<void(pmix_status_t)> none) {
    if (nspace == context_.step.nspace)
        return then(PMIX_SUCCESS);
    auto known = std::make_shared<std::function<void(pmix_status_t)>>(std::move(then));
    if (jobs_.when_known(nspace, [known] { (*known)(PMIX_SUCCESS); }))
        return;
    asks_.ask(nspace, deadline,
              [this, known, none = std::move(none), nspace](std::int32_t status, const wire::NamespaceInfo *info) {
                  if (!info)
                      return none(status);
                  jobs_.learn(*context_.library, *info, [this, known, none, nspace] {
                      if (jobs_.size_of(nspace) == 0) // what it says made no sense
                          return none(PMIX_ERR_NOT_FOUND);
                      (*known)(PMIX_SUCCESS);
                  });
              });
}

void CrossJobs::refuse(const Bytes &nspace, pmix_status_t status, std::function<void(pmix_status_t)> then) {
    context_.explain_not_found();
    if (!context_.library || context_.ending)
        return then(status);
    jobs_.mark_unknown(*context_.library, nspace, [then = std::move(then), status] { then(status); });
}

void CrossJobs::learn_child(const wire::NamespaceInfo &info, std::function<void()> then) {
    if (!context_.library || !jobs_.room_for(info))
        return then(); // who asks gets it
    jobs_.learn(*context_.library, info, std::move(then));
}

void CrossJobs::describe_this(const wire::NamespaceRequest &message) {
    wire::NamespaceReply reply;
    reply.id = message.id;
    if (message.nspace == context_.step.nspace)
        reply.info = describe(context_.step);
    else
        reply.status = PMIX_ERR_NOT_FOUND;
    Bytes bytes = wire::encode(reply);
    if (bytes.size() > wire::frame_limit) {
        reply.info = {};
        reply.status = PMIX_ERR_OUT_OF_RESOURCE;
        bytes = wire::encode(reply);
    }
    context_.send_to_session(wire::NamespaceReply::type, share(std::move(bytes)));
}

// --- collectives with others ------------------------------------------------------------------------

void CrossJobs::meet(CollectiveKind kind, const wire::NamespacePart &part, std::function<void()> done) {
    const Bytes &nspace = part.info.nspace;
    if (kind == CollectiveKind::disconnect) {
        sets_.sets().disconnected(nspace);
        // Who asks for it later is answered by where it was posted.
        posted_.forget(nspace);
    }
    if (kind != CollectiveKind::connect)
        return jobs_.learn(*context_.library, part.info, std::move(done));
    sets_.sets().connected(nspace, sets_of(part.info));
    fate_.learn_kin(part.info);
    jobs_.learn(*context_.library, part.info,
                [this, nspace, cpus = remember_posted(part), done = std::move(done)]() mutable {
                    jobs_.show(*context_.library, nspace, cpus, std::move(done));
                });
}

void CrossJobs::met(const Signature &signature) {
    auto size = [this](const Bytes &nspace) { return size_of(nspace); };
    if (signature.kind == CollectiveKind::connect)
        fate_.fate().connected(signature, size);
    else
        fate_.fate().disconnected(signature, size);
}

std::map<Rank, std::string> CrossJobs::remember_posted(const wire::NamespacePart &part) {
    std::map<Rank, std::string> cpus;
    wire::Reader reader(part.data);
    while (reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (reader.ok() && !posted.data.empty())
            posted_.keep(part.info.nspace, posted.rank, std::move(posted.data));
        if (reader.ok() && posted.cpuset.starts_with(cpuset_prefix))
            cpus[posted.rank] = posted.cpuset.substr(cpuset_prefix.size());
    }
    return cpus;
}

} // namespace pmixhost
