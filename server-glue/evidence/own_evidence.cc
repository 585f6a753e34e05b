// See own_evidence.h.
#include "server-glue/evidence/own_evidence.h"

#include <sys/prctl.h>
#include <unistd.h>

namespace pmixhost {

void OwnEvidence::capture(const std::string &found, std::function<void(std::string)> done) {
    done_ = std::move(done);
    // This is for where Yama forbids a process to look at the one that started it.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    Suspect self;
    self.pid = ::getpid();
    self.found = found;
    self.finder = "the daemon itself";
    auto started = EvidenceCapture::start(place_, std::move(self), log_);
    if (!started) {
        log_.error("nothing can be said of where it stands: {}", started.failure().text);
        loop_.post([this] { finish(); });
        return;
    }
    capture_.emplace(std::move(*started));
    watch_ = loop_.watch(capture_->fd(), EventLoop::readable, [this](unsigned) {
        if (capture_->on_readable())
            finish();
    });
    timer_ = loop_.after(evidence_patience, [this] { finish(); });
}

void OwnEvidence::finish() {
    auto done = std::exchange(done_, nullptr);
    if (!done)
        return;
    watch_.reset();
    timer_.reset();
    std::string where;
    if (capture_ && !capture_->file().empty())
        where = fmt::format("; where it stood is in {}:{}", place_.host, capture_->file());
    capture_.reset();
    done(std::move(where));
}

} // namespace pmixhost
