// The connections of a central role (central_roles.h): to any host of any step that has invited it.
// Each step has a mesh of its own, in which this process is the role's peer; the hosts connect with
// what binds them to their step, so one step can neither read nor forge what another one sends.
//
// All in the loop's thread.
#pragma once

#include "common/transport/mesh.h"
#include "server-glue/core/central_roles.h"

namespace pmixhost {

class CentralServer {
  public:
    // Names a step while it has a connection; never used again for another.
    using StepId = std::uint64_t;
    struct Callbacks {
        std::function<void(StepId step, HostIndex from, std::uint8_t type, Bytes payload)> on_message;
        // A host's connection has ended; `lost` only where there was one. Posted, never from within a call.
        std::function<void(StepId step, HostIndex host, Mesh::Gone how)> on_gone;
        // The step's last host has gone; comes after on_gone of each.
        std::function<void(StepId step)> on_step_gone;
    };
    // Makes the authenticator for a step, from the secret of the invitation where there is one.
    using Authenticators = std::function<std::unique_ptr<Authenticator>(const Bytes &secret)>;
    CentralServer(EventLoop &loop, Log &log, const Settings &settings, CentralRole role, Authenticators authenticators,
                  Callbacks callbacks);
    ~CentralServer();

    // Dials the daemon that sent it. A message that is no invitation is logged and dropped.
    void on_invitation(std::string_view message);
    // False when there is no connection to that host.
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload);
    // "" once it has gone.
    Bytes nspace_of(StepId step) const;
    // The step of a namespace that has a connection; 0: none.
    StepId step_of(const Bytes &nspace) const;
    std::vector<HostIndex> connected_hosts(StepId step) const;
    std::map<Bytes, StepId> connected_steps() const; // by namespace
    bool idle() const { return steps_.empty(); }
    std::size_t unsent_bytes() const;
    std::size_t queued_bytes(StepId step, HostIndex host) const; // for that host

  private:
    struct Step {
        Bytes key, nspace;
        std::uint32_t host_count = 0;
        std::unique_ptr<Mesh> mesh;
        std::map<HostIndex, Mesh::Gone> going; // of whom on_gone is still to be told
    };
    void tell_gone(StepId id, Step &step, HostIndex host);
    void host_gone(StepId id, HostIndex host);
    Step *find(StepId id);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    CentralRole role_;
    Authenticators authenticators_;
    Callbacks callbacks_;
    std::map<StepId, Step> steps_;
    StepId next_id_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
