// See repeated_end.h.
#include "server-glue/daemon/repeated_end.h"

#include <utility>

namespace pmixhost {

void RepeatedEnd::start() {
    order_([this](Result<void> ended) {
        bool may_come =
            !ended && (ended.failure().kind == ErrorKind::unreachable || ended.failure().kind == ErrorKind::timeout);
        if (!may_come)
            return done_(std::move(ended));
        if (first_failed_)
            std::exchange(first_failed_, nullptr)(std::move(ended));
        again_ = loop_.after(pause_, [this] { start(); });
    });
}

} // namespace pmixhost
