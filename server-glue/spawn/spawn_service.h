// PMIx_Spawn on the caller's host: hands requests to the launcher and its answers back. Whether there
// is a launcher and how long it takes is its own business (launcher_server.h): this side only hears
// that it has gone. What a tool waits for ends with this daemon, since nobody would hear the answer, or of the job
// (ToolChildren has those that run). In the loop's thread.
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

    enum class Lasts {
        without_us, // the job, if this daemon leaves before the answer
        with_us,    // the launcher is told to end it, whatever it has answered meanwhile
    };
    void spawn(wire::SpawnRequest request, SpawnAnswer answer, Lasts lasts = Lasts::without_us);
    // This daemon leaves: nothing more is asked for.
    void leave();
    void on_reply(wire::SpawnReply reply);
    // The launcher cannot be reached, or no longer.
    void on_launcher_gone();
    // Has there been any request?
    bool used() const { return next_id_ > 1; }

  private:
    Send send_;
    struct Waiting {
        SpawnAnswer answer;
        Lasts lasts;
    };
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t next_id_ = 1;
    bool leaving_ = false;
};

} // namespace pmixhost
