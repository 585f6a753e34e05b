// See library_watch.h.
#include "server-glue/library/library_watch.h"

namespace pmixhost {

LibraryWatch::LibraryWatch(EventLoop &loop, LibraryThread &thread, Duration timeout, Ask ask,
                           std::function<void(std::string)> on_stuck)
    : loop_(loop), thread_(thread), timeout_(timeout), dog_(std::make_shared<LibraryWatchdog>(timeout)),
      ask_(std::move(ask)), on_stuck_(std::move(on_stuck)) {
    if (timeout_ > Duration::zero())
        look();
}

void LibraryWatch::look() {
    timer_ = loop_.after(dog_->interval(), [this] { look(); });
    switch (dog_->look(loop_.now())) {
    case LibraryWatchdog::Verdict::well:
        return;
    case LibraryWatchdog::Verdict::ask:
        return ask_(thread_, [&loop = loop_, dog = std::weak_ptr(dog_)] {
            loop.post([dog] {
                if (auto alive = dog.lock())
                    alive->answered();
            });
        });
    case LibraryWatchdog::Verdict::stuck:
        return on_stuck_(stuck_line(timeout_, thread_.running()));
    }
}

std::string stuck_line(std::chrono::duration<double> timeout, const char *running) {
    return running ? fmt::format("libpmix has not answered for {} s (daemon.library_timeout): {} does not return",
                                 timeout.count(), running)
                   : fmt::format("libpmix has not answered for {} s (daemon.library_timeout): its progress "
                                 "thread does not go round",
                                 timeout.count());
}

} // namespace pmixhost
