// Who takes which message: filled by the services (StepService::take_messages), asked by the step's server for each
// message that comes. A message that is malformed, or that nobody takes, is dropped with a word in the log.
#pragma once

#include "common/base/log.h"
#include "common/job/job_map.h"
#include "common/wire/codec.h"

#include <fmt/format.h>
#include <functional>
#include <map>

namespace pmixhost {

class StepMessages {
  public:
    // The peers of a step's daemon. The same type of message may mean different things from each.
    enum class Peer { host, session, launcher };

    explicit StepMessages(Log &log) : log_(log) {}

    // `take(from, message, payload)`: the payload is what the message was decoded from, to be passed on.
    template <typename Message, typename Take> void on(Peer peer, Take take) {
        takers_[{peer, Message::type}] = [this, take](HostIndex from, Bytes bytes) {
            auto payload = share(std::move(bytes));
            if (auto message = wire::decode<Message>(*payload))
                take(from, std::move(*message), payload);
            else
                log_.warning("{}", message.failure().text);
        };
    }

    void hand_on(Peer peer, HostIndex from, const std::string &name, std::uint8_t type, Bytes payload) {
        if (auto taker = takers_.find({peer, type}); taker != takers_.end())
            return taker->second(from, std::move(payload));
        log_.warning("{} sent a message of unknown type {}", name, type);
    }

  private:
    Log &log_;
    std::map<std::pair<Peer, std::uint8_t>, std::function<void(HostIndex from, Bytes payload)>> takers_;
};

} // namespace pmixhost
