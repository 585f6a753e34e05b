// Evidence on this daemon itself, when it finds something stuck while its event loop goes round: the capture
// (evidence.h) runs beside the loop, which does not wait for it.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/evidence/evidence.h"

#include <functional>
#include <optional>

namespace pmixhost {

class OwnEvidence {
  public:
    // `loop` and `log` outlive this.
    OwnEvidence(EventLoop &loop, const Log &log, EvidencePlace place)
        : loop_(loop), log_(log), place_(std::move(place)) {}

    // Looks at this process, once. `done` comes in the loop's thread, after evidence_patience at the
    // latest, with words for the end of a message: where the file is, or nothing.
    void capture(const std::string &found, std::function<void(std::string where)> done);

  private:
    void finish();
    EventLoop &loop_;
    const Log &log_;
    EvidencePlace place_;
    std::optional<EvidenceCapture> capture_;
    EventLoop::Handle watch_, timer_;
    std::function<void(std::string)> done_;
};

} // namespace pmixhost
