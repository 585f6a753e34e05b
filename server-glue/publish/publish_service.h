// Publish, lookup and unpublish on the side of a step's daemon: each request goes to the session (central_roles.h),
// which keeps the data, and the answer comes back. Tools of this daemon ask in their own name, and the session is told
// when they have gone: as nobody tells of that, they are looked after once a second. Pure: what it needs of its
// surroundings are the ports.
//
// The session keeps the time of a lookup that waits: an answer may take data away (PMIX_PERSIST_FIRST_READ), so only
// who gives it can say that it was too late. Until there is a connection with the session a request stays here, and who
// has been answered meanwhile, because his time was over, has asked for nothing: the session never hears of it.
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/publish_messages.h"
#include "server-glue/core/host_port.h"
#include "server-glue/publish/publish_asks.h"
#include "server-glue/publish/tool_place.h"

#include <map>
#include <variant>

namespace pmixhost {

// The user and group that a process belongs to.
struct Owner {
    std::uint32_t uid, gid;
};

class PublishPort {
  public:
    virtual ~PublishPort() = default;
    // The owner of a process of this host, by the kernel's word; of what a tool publishes, the job's.
    virtual Owner owner_of(const Process &process) = 0;
    // Nothing of a process of the job.
    virtual std::optional<ToolPlace> tool(const Process &process) = 0;
    // A lookup ends without all that was asked for.
    virtual void not_found() = 0;
    // A connection with the session is made: on_session_here() or on_session_gone() comes, not from within.
    virtual void reach_session() = 0;
};

class PublishService {
  public:
    struct Limits {
        Duration answer; // when nothing need be waited for
        Duration wait;   // of a lookup that waits; 0: none
        // Of requests that are kept until there is a session. More are refused (PMIX_ERR_OUT_OF_RESOURCE).
        std::uint64_t kept_bytes = 64ull << 20;
    };
    // `host`: the name of this node.
    PublishService(HostPort &hosts, PublishPort &port, std::string host, Limits limits)
        : hosts_(hosts), port_(port), host_(std::move(host)), limits_(limits) {}

    void publish(TimePoint now, PublishAsk ask);
    void lookup(TimePoint now, LookupAsk ask);
    void unpublish(TimePoint now, UnpublishAsk ask);
    void on_reply(wire::DataReply reply);
    void on_session_here(TimePoint now);
    // Who has asked it is answered with PMIX_ERR_UNREACH, and so is who waits for one that could not be reached. Who
    // has asked while one was going waits for the next one.
    void on_session_gone();
    void on_process_ended(Rank rank);
    // Has the session been told of anything? Then this service tells it of every process' end.
    bool used() const { return used_; }
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    using Caller = std::pair<Bytes, Rank>; // a tool; a process of the job has no namespace here
    using Message = std::variant<wire::PublishRequest, wire::LookupRequest, wire::UnpublishRequest>;
    struct Pending {
        Caller caller;
        TimePoint deadline;
        StatusReply status; // one of both
        LookupReply lookup;
        std::optional<Message> kept = std::nullopt; // until it is sent
        std::uint64_t kept_bytes = 0;
        void answer(pmix_status_t code, std::vector<wire::Found> found = {});
    };
    using Place = std::map<std::uint64_t, Pending>::iterator;
    static constexpr Duration look_again = std::chrono::seconds(1); // whether tools have gone
    // Data is of this daemon's user alone; a visitor's library says the visitor's.
    bool is_of_other_user(const Process &caller, std::optional<std::uint32_t> said);
    // Says in the message who asks; returns the name of its host.
    template <typename Request> Bytes name_caller(TimePoint now, const Process &caller, Request &message);
    void send(TimePoint now, std::uint64_t id, Message message, Pending pending);
    void send_kept(TimePoint now, Place pending);
    Pending take(Place pending);
    void drop_asks_of(const Caller &caller);
    void tool_has_gone(Caller tool);

    HostPort &hosts_;
    PublishPort &port_;
    std::string host_;
    Limits limits_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t kept_bytes_ = 0;
    bool was_here_ = false;                         // the session
    std::map<Caller, std::function<bool()>> tools_; // that have asked; are they here?
    TimePoint next_look_ = TimePoint::max();        // whether they are
    std::uint64_t next_id_ = 1;
    bool used_ = false;
};

} // namespace pmixhost
