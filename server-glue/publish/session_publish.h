// The session's part of PMIx_Publish, PMIx_Lookup and PMIx_Unpublish: keeps what the steps of the allocation publish
// (data_store.h), answers their hosts, and tells the store which processes have ended.
//
// A tool publishes in its own name, by way of the hosts of steps that it is connected with. It has ended for the store
// when none of them has it any more; a tool's namespace is an application (PMIX_PERSIST_APP) of the tools of that
// namespace.
#pragma once

#include "server-glue/publish/data_store.h"
#include "server-glue/session/session_service.h"

namespace pmixhost {

class SessionPublish final : public SessionService {
  public:
    // `peers` must outlive this. `max_bytes`: keys and values, of all.
    SessionPublish(SessionPeers &peers, std::uint64_t max_bytes);

    // SessionService
    void take_messages(SessionMessages &messages) override;
    TimePoint next_time() const override { return store_.next_time(); }
    void on_time(TimePoint now) override { store_.on_time(now); }
    void on_host_gone(TimePoint now, const SessionMember &member, bool lost) override;
    void on_step_gone(TimePoint now, SessionPeers::StepId step, const Bytes &nspace) override;
    bool idle() const override { return store_.bytes() == 0; }

    std::size_t asking() const { return askers_.size(); }

  private:
    using Host = std::pair<SessionPeers::StepId, HostIndex>;
    struct Asker {
        Host host;
        std::uint64_t id; // of the asker's own
    };
    using Tool = std::pair<Bytes, std::uint32_t>;
    // A tool may call itself what it likes, but not like a job that is here, or whose data may be: each daemon knows
    // its own job alone.
    bool is_job(const Bytes &name) const;
    // Who asks, of a message that says it.
    template <typename Message> Participant caller(const SessionMember &from, const Message &message);
    void look_up(TimePoint now, const SessionMember &from, const wire::LookupRequest &message);
    void reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found);
    void answer_lookup(std::uint64_t id, std::int32_t status, std::vector<wire::Found> found);
    void forget_askers(const Host &host);
    // Those of that host whose lookups wait no more: who has asked has ended.
    void forget_ended_askers(const Host &host);
    // Of a host and its tools: one of them, or all of those that are left.
    void tool_gone(const Host &host, const Tool &tool);
    void forget_tools(const Host &host);

    SessionPeers &peers_;
    DataStore store_;
    std::map<std::uint64_t, Asker> askers_;          // of lookups, by our id
    std::map<Host, std::set<std::uint64_t>> asking_; // the same by host
    std::map<Host, Bytes> host_names_;               // of those whose processes publish or look up
    std::set<Bytes> jobs_;                           // whose processes have published or looked up
    std::map<Tool, std::set<Host>> tools_;           // that publish or look up, and by way of which hosts
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
