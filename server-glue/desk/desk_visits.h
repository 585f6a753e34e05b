// The visits of a desk of the gate (gate_desk.h): other users, to whom the site's rules give everything on jobs of
// this one. Each has a connection from the gate's door (common/rendezvous/gate_door.h) and a way of its own to the
// step (desk_server.h), over which the daemon hears whose the tools are. Tools of that user come to a listening
// socket of the visit. It ends with its connection.
//
// Who it is, the kernel says: the gate is not believed. All in the loop's thread.
#pragma once

#include "common/base/hurry.h"
#include "common/base/rate_limit.h"
#include "common/rendezvous/gate_door.h"
#include "server-glue/desk/desk_server.h"
#include "server-glue/rm/rm_backend.h"

#include <map>

namespace pmixhost {

class DeskVisits {
  public:
    static constexpr std::size_t most = 4;           // at a time
    static constexpr std::size_t most_a_minute = 20; // each asks the resource manager, also one that has gone
    DeskVisits(EventLoop &loop, Log &log, const Settings &settings, const BackendModule &module)
        : loop_(loop), log_(log), settings_(settings), module_(module) {}
    DeskVisits(const DeskVisits &) = delete;

    // `wish`: what the gate has sent with it, without a run.
    void take(StrangerFd connection, const pmixhost::Visit &wish);
    std::size_t size() const { return visits_.size(); }

  private:
    struct Visit {
        StrangerFd connection;
        EventLoop::Handle watch;
        std::unique_ptr<DeskServer> server;
    };
    using Id = std::uint64_t;
    Result<std::unique_ptr<DeskServer>> serve(Id id, uid_t asker, const std::string &job);
    void end(Id id, const Error &why);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    const BackendModule &module_;
    std::map<Id, Visit> visits_;
    Id next_ = 1;
    RateLimit begun_{most_a_minute};
};

} // namespace pmixhost
