// See answer_bell.h.
#include "server-glue/library/answer_bell.h"

#include "common/base/unique_fd.h"

#include <atomic>
#include <cerrno>
#include <event2/event.h>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace pmixhost {

struct AnswerBell::Hung {
    UniqueFd counter;
    std::atomic<std::thread::id> heard_in{}; // the base's thread, once it has been heard
    std::mutex mutex;                        // guards:
    event *hears = nullptr;                  // null: nobody hears any more

    void ring() {
        if (heard_in.load() == std::this_thread::get_id()) {
            std::lock_guard lock(mutex);
            if (hears)
                event_active(hears, EV_READ, 1);
            return;
        }
        std::uint64_t one = 1;
        [[maybe_unused]] ssize_t written = ::write(counter.get(), &one, sizeof one);
    }
};

AnswerBell::AnswerBell(std::shared_ptr<Hung> hung, std::function<void()> heard)
    : hung_(std::move(hung)), heard_(std::move(heard)) {}

// Only changes are waited for (EV_ET), so nobody has to read the counter: of a ring that comes while one is heard
// libevent hears again. It counts to 2^64.
Result<std::unique_ptr<AnswerBell>> AnswerBell::hang(event_base *base, std::function<void()> heard) {
    if (!(event_base_get_features(base) & EV_FEATURE_ET))
        return error(ErrorKind::unsupported, "libevent's {} cannot wait for changes", event_base_get_method(base));
    auto hung = std::make_shared<Hung>();
    hung->counter.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!hung->counter)
        return system_error("eventfd", errno);
    std::unique_ptr<AnswerBell> bell(new AnswerBell(hung, std::move(heard)));
    auto hear = [](evutil_socket_t, short, void *data) {
        auto *self = static_cast<AnswerBell *>(data);
        self->hung_->heard_in.store(std::this_thread::get_id());
        self->heard_();
    };
    hung->hears = event_new(base, hung->counter.get(), EV_READ | EV_ET | EV_PERSIST, hear, bell.get());
    if (!hung->hears || event_add(hung->hears, nullptr) != 0)
        return error(ErrorKind::system, "libevent takes no event for a descriptor");
    return bell;
}

AnswerBell::~AnswerBell() {
    event *heard = nullptr;
    {
        std::lock_guard lock(hung_->mutex);
        heard = std::exchange(hung_->hears, nullptr);
    }
    if (heard)
        event_free(heard);
}

std::function<void()> AnswerBell::rope() const {
    return [hung = hung_] { hung->ring(); };
}

} // namespace pmixhost
