// PMIx_Spawn on the caller's host: hands requests to the launcher and its answers back. Whether there
// is a launcher and how long it takes is its own business (launcher_server.h): this side only hears
// that it has gone. What a tool waits for ends with that tool, which may be killed while its job waits for hosts,
// and with this daemon, since nobody would hear the answer, or of the job (ToolChildren has those that run). In the
// loop's thread.
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
    // `is_here`: whether the tool is that waits for it, for one that lasts with us; null: nobody knows.
    using IsHere = std::function<bool()>;
    void spawn(wire::SpawnRequest request, SpawnAnswer answer, Lasts lasts = Lasts::without_us,
               IsHere is_here = nullptr);
    // Ends what was asked for by tools that have gone. True: others are here, and this is to be called again.
    bool end_what_nobody_awaits();
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
        IsHere is_here;
    };
    void cancel(std::uint64_t id);
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t next_id_ = 1;
    bool leaving_ = false;
};

} // namespace pmixhost
