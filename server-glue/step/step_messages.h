// Who takes which message: filled by the services (StepService::take_messages), asked by the step's server for each
// message that comes.
#pragma once

#include "common/job/job_map.h"
#include "server-glue/core/message_takers.h"

namespace pmixhost {

class StepMessages {
  public:
    // The peers of a step's daemon. The same type of message may mean different things from each.
    enum class Peer { host, session, launcher };

    explicit StepMessages(Log &log)
        : takers_{{Peer::host, MessageTakers<HostIndex>(log)},
                  {Peer::session, MessageTakers<HostIndex>(log)},
                  {Peer::launcher, MessageTakers<HostIndex>(log)}} {}

    // `take(from, message, payload)`: see MessageTakers::on.
    template <typename Message, typename Take> void on(Peer peer, Take take) {
        takers_.at(peer).template on<Message>(std::move(take));
    }

    void hand_on(Peer peer, HostIndex from, const std::string &name, std::uint8_t type, Bytes payload) {
        takers_.at(peer).hand_on(from, name, type, std::move(payload));
    }

  private:
    std::map<Peer, MessageTakers<HostIndex>> takers_;
};

} // namespace pmixhost
