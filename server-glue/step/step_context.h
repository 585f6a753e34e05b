// What the services of a step's daemon share: the step, its surroundings and the way to the other daemons. Made
// and filled by the server of the step, which outlives all services. All in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/config/settings.h"
#include "common/job/debug_stops.h"
#include "common/policy/rule.h"
#include "common/transport/mesh.h"
#include "server-glue/core/central_roles.h"
#include "server-glue/core/host_port.h"
#include "server-glue/library/library_version.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/user_notes.h"
#include "server-glue/step/client_libraries.h"
#include "server-glue/step/step_service.h"
#include "server-glue/tasks/local_tasks.h"

#include <unistd.h>
#include <utility>

namespace pmixhost {

class PmixLibrary;

class StepContext final : public HostPort {
  public:
    StepContext(EventLoop &the_loop, Log &the_log, const Settings &the_settings, RmBackend &the_backend, bool lives_on,
                DebugStops the_stops)
        : loop(the_loop), log(the_log), settings(the_settings), backend(the_backend), step(the_backend.step()),
          live_on(lives_on), stops(std::move(the_stops)),
          client_libraries(the_log, the_backend.user_notes(), host_name(), library_version()) {}

    EventLoop &loop;
    Log &log;
    const Settings &settings;
    RmBackend &backend;
    const StepInfo &step;
    const bool live_on;            // the job goes on when it loses processes or hosts
    const DebugStops stops;        // where its processes stop for a debugger
    bool ends_on_bad_exit = false; // the RM ends the job when a process ends by a signal or with another code than 0
    ClientLibraries client_libraries;

    // Filled one after the other while the server is made.
    Mesh *mesh = nullptr;
    LocalTasks *tasks = nullptr;
    PmixLibrary *library = nullptr; // null: it is not yet started
    // Somebody needs it: one that is started late (daemon/library_holder.h) is started.
    std::function<void()> need_library = [] {};
    // Calls `what` now, or when the library is there, which somebody then needs. Never, if this daemon leaves before.
    // So much may wait, of what other hosts ask for; more is dropped.
    static constexpr std::size_t most_wait_for_library = 1024;
    void when_library(std::function<void()> what) {
        if (library)
            return what();
        need_library();
        if (waiting_for_library.size() < most_wait_for_library)
            waiting_for_library.push_back(std::move(what));
        else
            log.warning("something that other hosts tell is lost, because the PMIx library has not yet started");
    }
    std::vector<std::function<void()>> waiting_for_library;
    std::string library_address; // where it listens, or will (PmixLibrary::address()); empty: not yet known
    std::string directory;       // the daemon's own, which goes with it (daemon/private_directory.h)
    bool ending = false;         // this daemon leaves: nothing new is begun
    bool library_stuck = false;  // it does not answer any more
    // Each enters itself.
    std::vector<StepService *> services;
    template <typename Hook> void tell_services(Hook hook) {
        for (StepService *each : services)
            hook(*each);
    }
    // The next four lead to services, which set them: until then who asks is told no, and nothing else is done.

    // Do the rules for tools allow this to who asks? To the job's own processes they always do.
    std::function<bool(const Process &asker, policy::Action)> may = [](const Process &, policy::Action) {
        return false;
    };
    // Will the job be ended because a process of this host has ended so: by the RM, or with a job that it is connected
    // with?
    std::function<bool(const wire::EndedProcess &)> is_end_of_job = [](const wire::EndedProcess &) { return false; };
    // Called before anything is sent to the session: what it must have heard by then goes first.
    std::function<void()> before_the_session_hears = [] {};
    // Leaves the session in order, for that of another allocation (RmSpawnPlaces::enter).
    std::function<void()> leave_session = [] {};

    TimePoint now() const { return loop.now(); }
    HostIndex self() const { return step.self; }
    const std::string &host_name() const { return step.map.hosts()[step.self]; }
    std::span<const Rank> ranks_here() const { return step.map.ranks_on(step.self); }
    HostIndex session_peer() const { return peer_of(CentralRole::session, step.map.host_count()); }
    HostIndex launcher_peer() const { return peer_of(CentralRole::launcher, step.map.host_count()); }

    // HostPort
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
        return mesh->send(to, type, std::move(payload));
    }
    bool host_gone(HostIndex host) override { return mesh->gone(host); }
    // A connection that is being made counts only once a task has been in PMIx: nobody needs to hear of a process
    // that never was.
    bool connected(HostIndex host) override {
        return mesh->connected(host) || (tasks->any_finalized() && mesh->connecting(host));
    }
    void prepare(HostIndex to) override { mesh->invite(to); }
    std::size_t queued_bytes(HostIndex to) override { return mesh->queued_bytes(to); }
    bool send_to_session(std::uint8_t type, SharedBytes payload) override {
        if (!backend.roles())
            return false;
        before_the_session_hears();
        return mesh->send(session_peer(), type, std::move(payload));
    }
    bool session_is_there() override { return mesh->connected(session_peer()); }
    // It may have to be started first.
    bool session_has_queued() const { return mesh->queued_bytes(session_peer()) > 0; }

    template <typename Message> bool send(HostIndex to, const Message &message) {
        return send(to, Message::type, share(wire::encode(message)));
    }
    template <typename Message> bool send_to_session(const Message &message) {
        return send_to_session(Message::type, share(wire::encode(message)));
    }

    // Another job, or what one may have published, was not found: if that is because of who proves what here, the user
    // is told, once.
    void explain_not_found() {
        if (step.relatives_only.empty() || std::exchange(explained_not_found_, true))
            return;
        log.warning("{}", step.relatives_only);
        if (auto *notes = backend.user_notes())
            notes->tell_user({step.relatives_only}, [](Result<void>) {});
    }

    // How this daemon proves that it is of the step's user; a new one for each mesh.
    std::unique_ptr<Authenticator> authenticator() {
        return step.shared_secret.empty() ? make_munge_authenticator(loop, ::getuid())
                                          : make_secret_authenticator(step.shared_secret);
    }

    // False: jobs that want the session come to it by themselves.
    bool calls_steps() const { return backend.roles() && backend.roles()->calls_steps(); }

    // Ends the whole step with the RM's means; `end.text` is what the user reads. `done` may be empty.
    void end_step(StepEnd end, std::function<void(Result<void>)> done = {}) {
        backend.end_step(std::move(end), [this, done = std::move(done)](Result<void> ended) {
            if (!ended)
                log.error("the step could not be ended: {}", ended.failure().text);
            if (done)
                done(std::move(ended));
        });
    }

  private:
    bool explained_not_found_ = false;
};

} // namespace pmixhost
