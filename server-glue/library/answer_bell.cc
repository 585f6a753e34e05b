// See answer_bell.h.
#include "server-glue/library/answer_bell.h"

#include <cerrno>
#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace pmixhost {

void AnswerBell::FreeEvent::operator()(event *one) const {
    event_free(one);
}

// Only changes are waited for (EV_ET), so nobody has to read the counter: of a ring that comes while one is heard
// libevent hears again. It counts to 2^64.
Result<std::unique_ptr<AnswerBell>> AnswerBell::hang(event_base *base, std::function<void()> heard) {
    if (!(event_base_get_features(base) & EV_FEATURE_ET))
        return error(ErrorKind::unsupported, "libevent's {} cannot wait for changes", event_base_get_method(base));
    UniqueFd counter(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!counter)
        return system_error("eventfd", errno);
    std::unique_ptr<AnswerBell> bell(new AnswerBell(std::move(heard)));
    bell->counter_ = std::make_shared<const UniqueFd>(std::move(counter));
    auto hear = [](evutil_socket_t, short, void *data) { static_cast<AnswerBell *>(data)->heard_(); };
    bell->event_.reset(event_new(base, bell->counter_->get(), EV_READ | EV_ET | EV_PERSIST, hear, bell.get()));
    if (!bell->event_ || event_add(bell->event_.get(), nullptr) != 0)
        return error(ErrorKind::system, "libevent takes no event for a descriptor");
    return bell;
}

AnswerBell::~AnswerBell() = default;

std::function<void()> AnswerBell::rope() const {
    return [counter = counter_] {
        std::uint64_t one = 1;
        [[maybe_unused]] ssize_t written = ::write(counter->get(), &one, sizeof one);
    };
}

} // namespace pmixhost
