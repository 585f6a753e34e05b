// The way to the starter (starter_message.h). A sender cannot know which of the starter's addresses leads to it, so
// it sends to each that takes the connection; the starter uses the first genuine message. All of it blocks: for a
// worker thread, or a process that has nothing else to do.
#pragma once

#include "common/base/unique_fd.h"
#include "plugins/kit/starter_message.h"

#include <chrono>

namespace pmixhost::kit {

// Sends the message, within `limit`. Fails (unreachable) when nobody took it.
Result<void> send_to_starter(const StarterAddress &to, const StarterMessage &message, Sealer &sealer,
                             std::chrono::milliseconds limit);

// The same for a host that cannot prove its user (unproved_note.h).
Result<void> send_unproved_note(const StarterAddress &to, std::string_view text, std::chrono::milliseconds limit);

// A message that is sealed and has its connections, so that sending it takes no time: for what must be out before the
// RM ends this process. Each connection is told at once that it is kept for later.
class ReadyMessage {
  public:
    // Blocks, as send_to_starter() does.
    static Result<ReadyMessage> prepare(const StarterAddress &to, const StarterMessage &message, Sealer &sealer,
                                        std::chrono::milliseconds limit);
    // To be called once. Fails (unreachable) when the starter has closed all connections.
    Result<void> send();

  private:
    std::string frame_;
    std::vector<UniqueFd> connections_;
};

} // namespace pmixhost::kit
