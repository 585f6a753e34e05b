// See session_publish.h.
#include "server-glue/publish/session_publish.h"

#include "common/wire/session_messages.h"

#include <algorithm>
#include <iterator>
#include <pmix_common.h>

namespace pmixhost {

SessionPublish::SessionPublish(SessionPeers &peers, std::uint64_t max_bytes)
    : SessionService(peers.services), peers_(peers),
      store_({max_bytes}, [this](std::uint64_t id, std::int32_t status, std::vector<wire::Found> found) {
          answer_lookup(id, status, std::move(found));
      }) {}

template <typename Message> Participant SessionPublish::caller(const SessionMember &from, const Message &message) {
    Participant who{message.tool.empty() ? from.nspace : message.tool, message.rank, {}};
    if (message.tool.empty())
        jobs_.insert(from.nspace);
    else
        tools_[{message.tool, message.rank}].insert({from.step, from.host});
    if constexpr (requires { message.host; }) {
        who.host = message.host;
        who.uid = message.uid;
        who.gid = message.gid;
        if (message.tool.empty())
            host_names_[{from.step, from.host}] = message.host;
    }
    return who;
}

bool SessionPublish::is_job(const Bytes &name) const {
    return jobs_.contains(name) || peers_.step_of(name) != 0;
}

void SessionPublish::take_messages(SessionMessages &messages) {
    messages.on<wire::PublishRequest>([this](TimePoint, const SessionMember &from, const wire::PublishRequest &message,
                                             const SharedBytes &) {
        int status = is_job(message.tool) ? PMIX_ERR_NO_PERMISSIONS : store_.publish(caller(from, message), message);
        reply({{from.step, from.host}, message.id}, status, {});
    });
    messages.on<wire::LookupRequest>([this](TimePoint now, const SessionMember &from,
                                            const wire::LookupRequest &message,
                                            const SharedBytes &) { look_up(now, from, message); });
    messages.on<wire::UnpublishRequest>([this](TimePoint, const SessionMember &from,
                                               const wire::UnpublishRequest &message, const SharedBytes &) {
        int status = is_job(message.tool) ? PMIX_ERR_NO_PERMISSIONS : store_.unpublish(caller(from, message), message);
        reply({{from.step, from.host}, message.id}, status, {});
    });
    messages.on<wire::ProcessesEnded>(
        [this](TimePoint, const SessionMember &from, const wire::ProcessesEnded &message, const SharedBytes &) {
            store_.on_processes_ended(from.nspace, message.ranks);
            forget_ended_askers({from.step, from.host});
        });
    messages.on<wire::ToolEnded>(
        [this](TimePoint, const SessionMember &from, const wire::ToolEnded &message, const SharedBytes &) {
            tool_gone({from.step, from.host}, {message.nspace, message.rank});
        });
}

void SessionPublish::look_up(TimePoint now, const SessionMember &from, const wire::LookupRequest &message) {
    if (is_job(message.tool))
        return reply({{from.step, from.host}, message.id}, PMIX_ERR_NO_PERMISSIONS, {});
    TimePoint deadline =
        message.timeout_ms == 0 ? TimePoint::max() : now + std::chrono::milliseconds(message.timeout_ms);
    Host host{from.step, from.host};
    std::uint64_t id = next_id_++;
    asking_[host].insert(id);
    askers_.emplace(id, Asker{host, message.id});
    store_.lookup(id, caller(from, message), message, deadline);
}

void SessionPublish::tool_gone(const Host &host, const Tool &tool) {
    auto found = tools_.find(tool);
    if (found == tools_.end() || found->second.erase(host) == 0 || !found->second.empty())
        return;
    tools_.erase(found);
    if (!is_job(tool.first)) { // which may have come after the tool
        store_.on_process_ended(tool.first, tool.second);
        auto other = tools_.lower_bound({tool.first, 0});
        if (other == tools_.end() || other->first.first != tool.first)
            store_.on_nspace_ended(tool.first);
    }
    forget_ended_askers(host);
}

void SessionPublish::forget_tools(const Host &host) {
    std::vector<Tool> there;
    for (const auto &[tool, hosts] : tools_) {
        if (hosts.contains(host))
            there.push_back(tool);
    }
    for (const Tool &tool : there)
        tool_gone(host, tool);
}

void SessionPublish::answer_lookup(std::uint64_t id, std::int32_t status, std::vector<wire::Found> found) {
    auto node = askers_.extract(id);
    if (!node)
        return;
    auto of_host = asking_.find(node.mapped().host);
    of_host->second.erase(id);
    if (of_host->second.empty())
        asking_.erase(of_host);
    reply(node.mapped(), status, std::move(found));
}

void SessionPublish::reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found) {
    peers_.send(asker.host.first, asker.host.second, wire::DataReply{asker.id, status, std::move(found)});
}

// Whether it left or was lost, no more of its processes will be heard of.
void SessionPublish::on_host_gone(TimePoint, const SessionMember &member, bool) {
    Host host{member.step, member.host};
    forget_askers(host);
    forget_tools(host);
    if (auto name = host_names_.extract(host))
        store_.on_host_ended(member.nspace, name.mapped());
}

void SessionPublish::on_step_gone(TimePoint, SessionPeers::StepId step, const Bytes &nspace) {
    store_.on_nspace_ended(nspace);
    // Of hosts that went with the last one nothing was heard.
    for (auto at = asking_.lower_bound({step, 0}); at != asking_.end() && at->first.first == step;) {
        Host host = at++->first;
        forget_askers(host);
    }
    std::erase_if(host_names_, [step](const auto &entry) { return entry.first.first == step; });
    std::set<Host> left;
    for (const auto &[tool, hosts] : tools_) {
        std::copy_if(hosts.begin(), hosts.end(), std::inserter(left, left.end()),
                     [step](const Host &host) { return host.first == step; });
    }
    for (const Host &host : left)
        forget_tools(host);
}

void SessionPublish::forget_ended_askers(const Host &host) {
    auto asking = asking_.find(host);
    if (asking == asking_.end())
        return;
    std::erase_if(asking->second, [this](std::uint64_t id) { return !store_.waits(id) && askers_.erase(id) > 0; });
    if (asking->second.empty())
        asking_.erase(asking);
}

void SessionPublish::forget_askers(const Host &host) {
    auto node = asking_.extract(host);
    if (!node)
        return;
    for (std::uint64_t id : node.mapped()) {
        store_.cancel(id);
        askers_.erase(id);
    }
}

} // namespace pmixhost
