// See session_server.h.
#include "server-glue/daemon/session_server.h"

#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost {

SessionServer::SessionServer(EventLoop &loop, Log &log, const Settings &settings,
                             CentralServer::Authenticators authenticators, std::function<void()> on_end,
                             CallSteps call_steps)
    : loop_(loop), log_(log), settings_(settings), on_end_(std::move(on_end)), call_steps_(std::move(call_steps)),
      peers_(loop, log, settings, CentralRole::session, std::move(authenticators), callbacks()),
      events_(*this, {settings.events_keep, SessionEvents::Limits{}.bytes, settings.events_keep_time},
              [this](const Bytes &nspace) { tell_slow(nspace); }),
      control_(*this), joins_(*this, log,
                              [this](const Bytes &one, const Bytes &other, bool connected) {
                                  connected ? events_.connected(one, other) : events_.disconnected(one, other);
                              }),
      relay_(*this), publish_(*this, settings.publish_max_bytes), messages_(log),
      timer_(loop, [this] { tell_services([now = loop_.now()](SessionService &each) { each.on_time(now); }); }) {
    tell_services([this](SessionService &each) { each.take_messages(messages_); });
    before_waiting_ = loop_.before_waiting([this] {
        TimePoint next = TimePoint::max();
        tell_services([&next](SessionService &each) { next = std::min(next, each.next_time()); });
        timer_.arm(next);
    });
    arm_idle();
}

CentralServer::Callbacks SessionServer::callbacks() {
    CentralServer::Callbacks out;
    out.on_message = [this](StepId step, HostIndex host, std::uint8_t type, Bytes payload) {
        SessionMember from = member(step, host);
        tell_services([&](SessionService &each) { each.heard(loop_.now(), from); });
        messages_.hand_on(loop_.now(), from, printable(from.nspace), type, std::move(payload));
    };
    out.on_gone = [this](StepId step, HostIndex host, Mesh::Gone how) {
        SessionMember gone = member(step, host);
        tell_services([&](SessionService &each) { each.on_host_gone(loop_.now(), gone, how == Mesh::Gone::lost); });
    };
    out.on_step_gone = [this](StepId step) {
        Bytes nspace = peers_.nspace_of(step);
        tell_services([&](SessionService &each) { each.on_step_gone(loop_.now(), step, nspace); });
        slow_.erase(nspace);
        arm_idle();
    };
    return out;
}

void SessionServer::call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) {
    if (!done)
        return call_steps_(known, nullptr);
    call_steps_(known, [this, done = std::move(done)](CalledSteps called) { done(loop_.now(), std::move(called)); });
}

void SessionServer::tell_slow(const Bytes &nspace) {
    if (slow_.insert(nspace).second)
        log_.warning("{} does not take its events: some are lost", printable(nspace));
}

void SessionServer::arm_idle() {
    idle_ = loop_.after(settings_.session_idle, [this] {
        bool idle = peers_.idle();
        tell_services([&idle](SessionService &each) { idle = idle && each.idle(); });
        idle ? on_end_() : arm_idle();
    });
}

} // namespace pmixhost
