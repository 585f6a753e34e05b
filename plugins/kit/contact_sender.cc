// See contact_sender.h.
#include "plugins/kit/contact_sender.h"

#include <algorithm>

namespace pmixhost::kit {

using namespace std::chrono_literals;

// A daemon that starts earlier than the one it invites is a few steps of the RM's launch ahead of it.
static constexpr Duration first_pause = 10ms;
static constexpr Duration longest_pause = 1s;

void ContactSender::send(Message message, std::function<void(Result<void>)> done) {
    attempt(std::make_shared<Sending>(Sending{std::move(message), first_pause, std::move(done)}));
}

void ContactSender::attempt(std::shared_ptr<Sending> sending) {
    const Message &message = sending->message;
    calls_.run(
        {}, message.deadline,
        [forward = forward_, node = message.node, path = message.path, bytes = message.bytes] {
            return forward(node, path, bytes);
        },
        [this, sending](Result<void> sent) { attempted(sending, std::move(sent)); });
}

void ContactSender::attempted(std::shared_ptr<Sending> sending, Result<void> sent) {
    Message &message = sending->message;
    if (!sent && sent.failure().kind == ErrorKind::timeout)
        return sending->done(error(ErrorKind::unreachable,
                                   "the daemon on {} was not reached through the resource manager in time",
                                   message.node));
    if (sent || sent.failure().kind == ErrorKind::limit ||
        (message.once && sent.failure().kind == ErrorKind::not_found) ||
        loop_.now() + sending->pause >= message.deadline)
        return sending->done(std::move(sent));
    log_.debug("{}; once more", sent.failure().text);
    if (message.on_missing && loop_.now() >= message.missing_after) {
        auto missing = std::exchange(message.on_missing, nullptr);
        if (auto started = missing(); !started)
            return sending->done(started.failure());
    }
    auto at = pauses_.emplace(pauses_.end());
    *at = loop_.after(sending->pause, [this, sending, at] {
        pauses_.erase(at);
        attempt(sending);
    });
    sending->pause = std::min(2 * sending->pause, longest_pause);
}

} // namespace pmixhost::kit
