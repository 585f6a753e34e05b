// The way of input from who pushes it to the processes of a step. Pure: messages in, messages and answers out.
//
// It goes along the tree of the step's hosts to those that have a process it is for, each byte once over each link,
// around hosts that have gone; always by the same links, and around a host only behind what was sent to it, so that one
// push does not overtake another. The answer comes
// when it is in the pipes of all processes that take it, so that who waits for answers costs no more memory than what
// it has under way, and a process that does not read stops nobody but who pushes to it. What goes another way because a
// host between has gone is not given twice.
#pragma once

#include "common/transport/tree.h"
#include "common/wire/iof_messages.h"
#include "server-glue/core/host_port.h"
#include "server-glue/library/replies.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace pmixhost {

class InputPort {
  public:
    virtual ~InputPort() = default;
    // To a process of this host; answered once, perhaps before it returns. PMIX_ERR_IOF_COMPLETE: its standard input
    // has been closed; PMIX_ERR_NOT_SUPPORTED: it does not come from the daemon.
    virtual void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) = 0;
};

class InputFlow {
  public:
    InputFlow(HostPort &hosts, InputPort &port, const JobMap &map, HostIndex self, std::uint32_t radix)
        : hosts_(hosts), port_(port), map_(map), self_(self), tree_(map.host_count(), radix) {}
    // Who pushes: a process, which has its own account, so that one whose reader does not read shuts out no other.
    using Pusher = std::pair<Bytes, Rank>;
    // Pushes without an answer, of each; and of all that push at this host, so many times that. What is beyond is
    // refused, OUT_OF_RESOURCE.
    static constexpr std::size_t max_pending = 1024, max_bytes = 4u << 20, max_accounts = 8;

    // Precondition: each of `ranks` is one of the step; none: all. SUCCESS when a process has got it; else why none
    // has.
    void push(Pusher pusher, std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply);

    void on_push(HostIndex from, wire::InputPush message);
    void on_taken(HostIndex from, const wire::InputTaken &message);
    // `left`: in order, when its processes had ended.
    void on_host_gone(HostIndex host, bool left);

  private:
    struct Pending {
        HostIndex asker = no_host; // no_host: `reply` is told
        std::uint64_t id_there = 0;
        StatusReply reply;
        Pusher pusher;
        wire::InputPush message;                // for those that are asked later
        std::map<HostIndex, HostIndex> waiting; // for whom, and which neighbour in the tree each is behind
        std::size_t local = 0;                  // processes of this host that have not taken it
        std::uint32_t given = 0;
        pmix_status_t status = PMIX_SUCCESS;
    };
    using Iterator = std::map<std::uint64_t, Pending>::iterator;
    bool leads_to(HostIndex at, HostIndex neighbour, const std::vector<Rank> &ranks) const;
    void spread(Iterator pending, HostIndex at, HostIndex coming_from);
    void give(Iterator pending);
    pmix_status_t why_gone(HostIndex host) const {
        return left_.contains(host) ? PMIX_ERR_IOF_COMPLETE : PMIX_ERR_LOST_CONNECTION;
    }
    void note(Pending &pending, std::uint32_t given, pmix_status_t status);
    void finish_if_done(std::uint64_t id);

    HostPort &hosts_;
    InputPort &port_;
    const JobMap &map_;
    const HostIndex self_;
    Tree tree_;
    std::map<std::uint64_t, Pending> pending_;
    std::map<HostIndex, std::uint64_t> seen_; // by root: the last serial that has come here
    std::set<HostIndex> gone_;                // hosts, as on_host_gone() has told
    std::set<HostIndex> left_;                // of these, in order
    struct Account {
        std::size_t pending = 0, bytes = 0;
        bool admits(std::size_t more, std::size_t times) const {
            return pending < times * max_pending && bytes + more <= times * max_bytes;
        }
    };
    std::map<Pusher, Account> accounts_; // that have something pending
    Account all_;                        // together
    std::uint64_t next_id_ = 1, next_serial_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
