// Who takes which type of message. A message that is malformed, or that nobody takes, is dropped with a word in the
// log. In the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/wire/codec.h"

#include <fmt/format.h>
#include <functional>
#include <map>
#include <vector>

namespace pmixhost {

// `From`: what else a taker is told of each message, its sender in the first place.
template <typename... From> class MessageTakers {
  public:
    explicit MessageTakers(Log &log) : log_(log) {}

    // `take(from..., message, payload)`: the payload is what the message was decoded from, to be passed on. Where
    // several take one type, each gets a message of its own, in the order in which they said so.
    template <typename Message, typename Take> void on(Take take) {
        takers_[Message::type].push_back([&log = log_, take](From... from, const SharedBytes &payload) {
            if (auto message = wire::decode<Message>(*payload))
                take(from..., std::move(*message), payload);
            else
                log.warning("{}", message.failure().text);
        });
    }

    // `name`: the sender's, for the log.
    void hand_on(From... from, const std::string &name, std::uint8_t type, Bytes payload) {
        auto takers = takers_.find(type);
        if (takers == takers_.end())
            return log_.warning("{} sent a message of unknown type {}", name, type);
        auto shared = share(std::move(payload));
        for (const auto &take : takers->second)
            take(from..., shared);
    }

  private:
    Log &log_;
    std::map<std::uint8_t, std::vector<std::function<void(From... from, const SharedBytes &payload)>>> takers_;
};

} // namespace pmixhost
