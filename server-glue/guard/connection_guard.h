// The guard before libpmix' server: who may speak to it at all. Every pmixhostd that has such a server has a guard.
//
// The daemon owns the listening socket (listener_takeover.h). Of each connection, in the event loop and
// before the library sees it:
//   1. the kernel says whose the peer is (socket_owner.h). It must be the daemon's own user, who is the
//      job's; root is not. Anyone else is closed at once, without a byte.
//   2. its first message is awaited, without blocking, for `GuardLimits::hello`; of at most `GuardLimits::waiting`,
//      the one that has waited longest goes for a new one. They are all the user's own: strangers take
//      no room.
//   3. what it says must be true as far as can be known (hello.h), because the library damages its own
//      state where it finds it wrong.
//   4. who comes again after PMIx_Finalize waits until the library has closed the connection that it left:
//      when it closes that later, it forgets what the process has entered meanwhile (a fence, say).
//   5. of tools, at most `GuardLimits::tools` are here at once, and no two of one name.
//      A tool may also be on another host, and come over a relay (tool_access/step_desks.h).
//   6. only then it is handed to the library, whole message unread, under a number that the library may
//      close twice (descriptor_range.h).
// A library that does not take what it is handed is reported once, by on_broken.
//
// Refusals are logged, a few lines a minute, with uid and port, and with the pid where the kernel tells
// it: of the user's own processes.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/loop/event_loop.h"
#include "common/peer/socket_owner.h"
#include "server-glue/guard/descriptor_range.h"
#include "server-glue/guard/hello.h"
#include "server-glue/guard/library_connection.h"
#include "server-glue/guard/listener_takeover.h"
#include "server-glue/guard/tool_visitor.h"

#include <functional>
#include <list>
#include <map>

namespace pmixhost {

struct GuardLimits {
    Duration hello = std::chrono::seconds(30); // until its first message is there
    std::size_t waiting = 512;
    std::size_t tools = 64;
    std::size_t relayed_waiting = 64; // of `waiting`; others are refused
    // A library that has not taken a connection in three looks at this interval does not take any. Looks are counted,
    // not time, since this process may have been stopped in between.
    Duration look = std::chrono::seconds(5);
    // A process that comes again waits at most so long.
    Duration leaving = std::chrono::seconds(2);
};

class ConnectionGuard {
  public:
    // What the server has registered (hello.h, admissible).
    struct Names {
        std::function<std::optional<ProcessOwner>(const std::string &nspace, Rank rank)> owner_of;
        std::function<bool(const std::string &nspace)> known;
        // A registered process is handed to the library, with the version that it said; or it is refused. Both may
        // be empty.
        std::function<void(const std::string &nspace, Rank rank, const std::string &version)> let_in = {};
        std::function<void(const std::string &nspace, Rank rank, const std::string &why)> turned_away = {};
        ToolMayCome tool_may_come = {}; // empty: all may
        ToolCame tool_came = {};
    };
    // Begins to guard. `takeover` has a listener. All in the loop's thread; `loop` and `log` outlive this.
    static Result<std::unique_ptr<ConnectionGuard>> open(EventLoop &loop, Log &log,
                                                         std::unique_ptr<ListenerTakeover> takeover,
                                                         DescriptorRange range, Names names,
                                                         std::function<void(Error)> on_broken, GuardLimits limits = {});
    ConnectionGuard(const ConnectionGuard &) = delete;

    // Hands over a connection of this process itself (inner_client.h): at once, without being judged.
    Result<void> hand_over(UniqueFd own);
    // Precondition: the origin is relayed. A tool that is on another host, whose connection this process relays.
    // Whose it is has been proved. It is judged as any tool, by what it says and by the rules. `pid`: as the desk says;
    // 0: not known.
    void admit_relayed(UniqueFd connection, ToolOrigin origin, pid_t pid);
    // What the library has written to that process of the job and the process has not read; SIZE_MAX: so much that the
    // library may hold any amount beside it. 0 where nobody knows a connection of it.
    std::size_t unsent_to(const std::string &nspace, Rank rank) const;

  private:
    struct Waiting {
        UniqueFd fd;
        SocketOwner peer;
        std::uint16_t port;
        ToolOrigin origin;
        EventLoop::Handle watch, timer;
        std::optional<TimePoint> since = std::nullopt; // waits for the end of an earlier connection
        pid_t relayed_pid = 0;                         // of one that is relayed, if it is known
    };
    using Process = std::pair<std::string, Rank>;
    using Place = std::list<Waiting>::iterator;
    ConnectionGuard(EventLoop &loop, Log &log, std::unique_ptr<ListenerTakeover> takeover, SocketOwners owners,
                    DescriptorRange range, Names names, std::function<void(Error)> on_broken, GuardLimits limits);
    void watch_listener();
    void accept();
    void judge(UniqueFd fd);
    void await(Place waiting);
    void look(Place waiting);
    void look_later(Place waiting, Duration pause);
    bool leaves_still(const Process &process) const;
    std::optional<LibraryConnection> hand_over(Place waiting);
    bool tool_leaves_still(Place waiting, const Process &name);
    Result<void> room_for_tool(const Process &name);
    Result<LibraryConnection> give(UniqueFd connection);
    void look_whether_taken(int looks);
    void take_in(Waiting newcomer);
    void refuse(const Waiting &waiting, const std::string &why);

    EventLoop &loop_;
    Log &log_;
    std::unique_ptr<ListenerTakeover> takeover_;
    SocketOwners owners_;
    DescriptorRange range_;
    Names names_;
    std::function<void(Error)> on_broken_;
    const GuardLimits limits_;
    RateLimit refusals_;
    std::list<Waiting> waiting_;                 // the oldest first
    std::map<Process, LibraryConnection> given_; // of registered processes, the last one of each
    std::list<std::pair<Process, LibraryConnection>>
        tools_; // that were here when last looked at; the name may be empty
    EventLoop::Handle listener_watch_, taken_timer_;
};

} // namespace pmixhost
