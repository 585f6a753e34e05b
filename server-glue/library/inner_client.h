// This daemon as a client of its own libpmix server, in the name of a process of another step's namespace that does
// not exist. Processes of this host look for what concerns their own host (PMIX_LOCAL_PEERS and its kin) in the
// library's shared memory alone when they ask with PMIX_OPTIONAL, as Open MPI does; and the server puts nothing of a
// namespace there before a client of it has said which store it reads. PMIx_Connect would pass it on only where one
// server serves both namespaces.
//
// It sends the first message of a client (hello.h) and nothing else, over a socket pair, so it costs no process and
// no port; it throws away what the server sends it. The connection stays as long as this object: when it ends, the
// server counts a client less in every collective that names the whole namespace.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <memory>
#include <string>

namespace pmixhost {

class InnerClient {
  public:
    // Does the library behave as this file says? That is known of 4.2 alone.
    static bool possible();
    // (nspace, rank) has been registered as a client. `hand_over` gives a connection to the library. `done` comes
    // once, later, after `patience` at the latest: the server has taken it for a client, or why it has not.
    static Result<std::unique_ptr<InnerClient>> start(EventLoop &loop, const std::string &nspace, Rank rank,
                                                      const std::function<Result<void>(UniqueFd)> &hand_over,
                                                      Duration patience, std::function<void(Result<void>)> done);
    InnerClient(const InnerClient &) = delete;

  private:
    InnerClient(UniqueFd fd, std::function<void(Result<void>)> done) : fd_(std::move(fd)), done_(std::move(done)) {}
    void read();
    void finish(Result<void> result);

    UniqueFd fd_;
    std::function<void(Result<void>)> done_;
    std::string answer_; // until it is there
    EventLoop::Handle watch_, timer_;
};

} // namespace pmixhost
