// See library_events.h.
#include "server-glue/events/library_events.h"

namespace pmixhost {

// Bytes of events that other hosts sent and that the library has not yet taken.
static constexpr std::uint64_t max_in_library = 64ull << 20;
static constexpr std::size_t max_early_events = 1024;

void LibraryEvents::give(std::size_t bytes, std::function<void(Done)> notify) {
    if (in_library_ + bytes > max_in_library || (!context_.library && early_.size() >= max_early_events)) {
        if (!std::exchange(dropped_, true))
            context_.log.warning("events come faster than the processes of this host take them: some are lost");
        return;
    }
    in_library_ += bytes;
    auto give = [this, bytes, notify = std::move(notify)] {
        notify([this, bytes](pmix_status_t) {
            in_library_ -= bytes;
            dropped_ = dropped_ && in_library_ > 0;
        });
    };
    if (context_.library)
        return give();
    context_.need_library();
    early_.push_back(std::move(give));
}

void LibraryEvents::on_library() {
    for (auto &give : std::exchange(early_, {}))
        give();
}

} // namespace pmixhost
