// See central_processes.h.
#include "tools/run/central_processes.h"

#include <cstdlib>

namespace pmixhost {

Result<void> CentralProcesses::invite(HostIndex role, const std::string &invitation) {
    if (role == 0)
        return to_session(invitation);
    if (role == 1)
        return to_launcher(invitation);
    return error(ErrorKind::not_found, "a daemon wants what pmixhost run does not know");
}

Result<void> CentralProcesses::to_launcher(const std::string &invitation) {
    auto failed = [](const Error &why) { return error(why.kind, "nothing can be spawned: {}", why.text); };
    if (!launcher_) {
        if (identity_.session_door.empty() && !door_) {
            auto door = SessionDoor::open(loop_, [this](std::string invited) {
                if (auto sent = to_session(invited); !sent)
                    on_failure_(sent.failure());
            });
            if (!door)
                return failed(door.failure());
            door_ = std::move(*door);
        }
        const auto &name = door_ ? door_->name() : identity_.session_door;
        ::setenv(session_door_variable, name.c_str(), 1); // for what it starts
        auto started = RoleProcess::start_launcher(options_, identity_, pmixhostd_path());
        if (!started)
            return failed(started.failure());
        launcher_ = std::move(*started);
    }
    launcher_->invite(invitation);
    return {};
}

Result<void> CentralProcesses::to_session(const std::string &invitation) {
    if (!identity_.session_door.empty()) {
        if (auto sent = send_to_session_door(identity_.session_door, invitation); !sent)
            return error(sent.failure().kind, "the session cannot be reached: {}", sent.failure().text);
        return {};
    }
    if (session_ && session_->invite(invitation))
        return {};
    session_.reset();
    auto started = RoleProcess::start("session", options_, identity_, pmixhostd_path());
    if (!started)
        return error(started.failure().kind, "the session's daemon cannot be started: {}", started.failure().text);
    session_ = std::move(*started);
    session_->invite(invitation);
    return {};
}

void CentralProcesses::end_jobs() {
    if (launcher_)
        launcher_->end_jobs();
}

void CentralProcesses::no_more_jobs() {
    if (launcher_)
        launcher_->no_more();
}

void CentralProcesses::child_ended(pid_t pid) {
    if (launcher_ && launcher_->pid() == pid)
        launcher_.reset();
}

} // namespace pmixhost
