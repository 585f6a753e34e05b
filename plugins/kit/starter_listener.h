// The starter's side: a port on which it takes messages of its daemons (starter_message.h).
#pragma once

#include "common/base/unique_fd.h"
#include "common/config/settings.h"
#include "common/peer/peer_address.h"
#include "plugins/kit/starter_message.h"

#include <chrono>
#include <optional>

namespace pmixhost::kit {

// One connection that the starter has taken.
class StarterConnection {
  public:
    explicit StarterConnection(UniqueFd fd, PeerAddress from = {}) : fd_(std::move(fd)), from_(from) {}
    int fd() const { return fd_.get(); }
    const PeerAddress &from() const { return from_; }
    // Reads until there is a whole frame, which may be there already, or nothing more to read.
    FrameProgress receive();
    // Takes out the first whole frame. Precondition: receive() has said `whole`.
    std::string take_frame();

  private:
    UniqueFd fd_;
    PeerAddress from_;
    std::string bytes_;
};

class StarterListener {
  public:
    // Listens on all addresses, v4 and v6, on a port of `range`, or on any where that names none.
    static Result<StarterListener> open(PortRange range);
    // For the environment of the step.
    StarterAddress address() const;
    // Returns the first genuine report among the connections that are waiting now. Takes at most `limit`, and no time
    // when there are none.
    std::optional<ExitReport> collect(Sealer &sealer, std::chrono::milliseconds limit);
    // For callers that wait in poll(2) themselves.
    int fd() const { return socket_.get(); }
    std::optional<StarterConnection> accept(); // errno tells why there is none
    const Cookie &cookie() const { return cookie_; }

  private:
    UniqueFd socket_;
    std::uint16_t port_ = 0;
    Cookie cookie_{};
};

} // namespace pmixhost::kit
