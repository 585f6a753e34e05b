// PMIx_Spawn on the caller's host: hands requests to the launcher and its answers back. Whether there
// is a launcher and how long it takes is its own business (launcher_server.h): this side only hears
// that it has gone. In the loop's thread.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/spawn/spawn_ask.h"

#include <functional>
#include <map>

namespace pmixhost {

class SpawnService {
  public:
    using Send = std::function<bool(std::uint8_t type, SharedBytes payload)>;
    explicit SpawnService(Send send) : send_(std::move(send)) {}

    void spawn(wire::SpawnRequest request, SpawnAnswer answer);
    void on_reply(wire::SpawnReply reply);
    // The launcher cannot be reached, or no longer.
    void on_launcher_gone();
    std::size_t waiting() const { return waiting_.size(); }
    // Has there been any request?
    bool used() const { return next_id_ > 1; }

  private:
    Send send_;
    std::map<std::uint64_t, SpawnAnswer> waiting_;
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
