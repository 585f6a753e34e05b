// Publish, lookup and unpublish on the side of a step's daemon: each request goes to the session (central_roles.h),
// which keeps the data, and the answer comes back. Pure: what it needs of its surroundings are the ports.
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/publish_messages.h"
#include "server-glue/core/host_port.h"
#include "server-glue/publish/publish_asks.h"

#include <map>

namespace pmixhost {

// The user and group that a process belongs to.
struct Owner {
    std::uint32_t uid, gid;
};

class PublishPort {
  public:
    virtual ~PublishPort() = default;
    // The owner of a process of this host, by the kernel's word.
    virtual Owner owner_of(Rank rank) = 0;
    // A lookup ends without all that was asked for.
    virtual void not_found() = 0;
};

class PublishService {
  public:
    struct Limits {
        Duration answer; // when nothing need be waited for
        Duration wait;   // of a lookup that waits; 0: none
    };
    // `host`: the name of this node.
    PublishService(HostPort &hosts, PublishPort &port, std::string host, Limits limits)
        : hosts_(hosts), port_(port), host_(std::move(host)), limits_(limits) {}

    void publish(TimePoint now, PublishAsk ask);
    void lookup(TimePoint now, LookupAsk ask);
    void unpublish(TimePoint now, UnpublishAsk ask);
    void on_reply(wire::DataReply reply);
    void on_session_gone();
    void on_process_ended(Rank rank);
    // Has anything been published or looked up here? Then this service tells the session of every process' end.
    bool used() const { return used_; }
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Pending {
        Rank caller;
        TimePoint deadline;
        StatusReply status; // one of both
        LookupReply lookup;
        void answer(pmix_status_t code, std::vector<wire::Found> found = {});
    };
    template <typename Message> void send(std::uint64_t id, const Message &message, Pending pending);

    HostPort &hosts_;
    PublishPort &port_;
    std::string host_;
    Limits limits_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t next_id_ = 1;
    bool used_ = false; // has anything been sent to the session?
};

} // namespace pmixhost
