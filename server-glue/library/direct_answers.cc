// See direct_answers.h.
#include "server-glue/library/direct_answers.h"

namespace pmixhost {

Result<void> DirectAnswers::begin(event_base *base, LibraryThread &thread) {
    auto bell = AnswerBell::hang(base, [this] { hear(); });
    if (!bell)
        return bell.failure();
    bell_ = std::move(*bell);
    auto rope = bell_->rope();
    share_ = thread.share(rope);
    hung_.store(true);
    rope(); // who hears it opens the share
    return {};
}

void DirectAnswers::hear() {
    if (!hung_.load())
        return;
    if (!open_ && librarys_.load() == std::this_thread::get_id()) {
        open_ = true;
        share_->open();
    }
    share_->give(); // nothing where it is another thread
}

} // namespace pmixhost
