// PMIx_Spawn on simulated hosts (bench_launch): from the caller's daemon to the launcher, the children's step, and the
// answer. The caller's job is idle otherwise, so that its other hosts are not here.
#include "test/bench/launch.h"

#include "common/transport/invitation.h"
#include "server-glue/daemon/launcher_server.h"
#include "server-glue/spawn/spawn_request.h"
#include "server-glue/spawn/spawn_service.h"

#include <pmix_common.h>

namespace pmixhost {

namespace {

constexpr std::uint32_t slots = 128;                                     // of a host
constexpr HostIndex caller_host = 0, launcher_host = 1, first_child = 2; // of the simulation

// Each host's processes are told where they are; the command is nobody's.
class Allocation final : public JobStarter {
  public:
    explicit Allocation(HostIndex hosts) {
        for (HostIndex h = 0; h < hosts; ++h)
            site_.hosts.push_back({fmt::format("node{:05}", h), slots});
        site_.max_tasks = std::size_t{hosts} * slots;
    }
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &plan) override {
        used_.clear();
        for (const auto &name : plan.host_of_rank) {
            if (used_.empty() || used_.back() != name)
                used_.push_back(name);
        }
        std::sort(used_.begin(), used_.end());
        used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
        return JobCommand{};
    }
    JobPlace place(const SpawnPlan &, const std::string &) const override { return {used_, "1000", 0}; }
    Error explain(const std::string &said) const override { return error(ErrorKind::system, "{}", said); }
    HostIndex hosts_of_job() const { return static_cast<HostIndex>(used_.size()); }

  private:
    SpawnSite site_;
    std::vector<std::string> used_;
};

// srun of the children's step, as far as it hears of its daemons (plugins/kit/launch_listener.h): one message after the
// other, each with a credential.
class Srun {
  public:
    Srun(SimulatedHosts &all, HostIndex hosts, std::function<void(SpawnEvent)> tell)
        : all_(all), awaited_(hosts), tell_(std::move(tell)) {}
    // What a host's daemon does to have its report ready (ReadyMessage), and the report itself.
    void host_begins(HostIndex host) {
        all_.ask_munge(host, [this, host] {
            all_.ask_munge(host, [this, host] {
                all_.network.send_bytes(host, launcher_host, message_bytes,
                                        [this] { all_.ask_munge(launcher_host, [] {}); });
            });
        });
        all_.network.at(all_.now() + LaunchModel::tasks_start, [this, host] {
            TimePoint ready = std::max(all_.now(), all_.hosts[host].munged_until);
            all_.network.at(ready, [this, host] {
                all_.network.send_bytes(host, launcher_host, message_bytes, [this] {
                    all_.ask_munge(launcher_host, [this] {
                        if (--awaited_ == 0)
                            tell_({SpawnEvent::Kind::launched, 0, {}});
                    });
                });
            });
        });
    }

  private:
    static constexpr std::size_t message_bytes = 12 + 7 + 4 * ((28 + 4 + 113) / 3); // starter_message.h
    SimulatedHosts &all_;
    HostIndex awaited_;
    std::function<void(SpawnEvent)> tell_;
};

wire::SpawnRequest request_of(std::uint32_t children) {
    wire::SpawnRequest request;
    request.nspace = "slurm.1000.0";
    request.directives.push_back({PMIX_MAPBY, 0, static_cast<std::uint8_t>(SpawnValue::text), "node", 0});
    auto &app = request.apps.emplace_back();
    app.command = "/home/user/child";
    app.argv = {"child", "--size", "1"};
    app.count = static_cast<std::int32_t>(children);
    return request;
}

} // namespace

ScaleCosts run_spawn(const SpawnCase &one, HostIndex hosts) {
    const std::uint32_t count = one.children == one_on_each ? hosts : one.children;
    const HostIndex used = std::min<HostIndex>(hosts, count);
    SimulatedHosts all(first_child + used);
    for (HostIndex h = 0; one.slow && h < used; ++h) {
        if (h % 100 == 1)
            all.make_slow(first_child + h);
    }
    Settings settings;
    settings.transport_interfaces = {"lo"};
    Log log(2, LogLevel::error, "bench_launch");
    EventLoop caller_loop(all, caller_host), launcher_loop(all, launcher_host);

    auto allocation = std::make_shared<Allocation>(hosts);
    LauncherServer launcher(
        launcher_loop, log, settings,
        {[allocation](const std::string &) -> Result<std::shared_ptr<JobStarter>> {
             return std::static_pointer_cast<JobStarter>(allocation);
         },
         [](const std::string &) { return Result<void>(); }},
        [&all](const Bytes &) { return all.authenticator(launcher_host); }, [] {});
    std::optional<StepStart> children;
    std::optional<Srun> srun;
    all.start_child = [&](std::function<void(SpawnEvent)> tell) {
        all.network.at(all.now() + LaunchModel::process_start + LaunchModel::step_creation, [&, tell] {
            tell({SpawnEvent::Kind::created, 0, "slurm.1000.1"});
            children.emplace(all, first_child, allocation->hosts_of_job(), settings);
            srun.emplace(all, allocation->hosts_of_job(), tell);
            std::set<HostIndex> never;
            if (one.lost_host)
                never.insert(allocation->hosts_of_job() / 2);
            children->run(all.now(), LaunchModel::tree_width, never,
                          [&](HostIndex self) { srun->host_begins(first_child + self); });
        });
    };

    const HostIndex self = hosts - 1, launcher_peer = peer_of(CentralRole::launcher, hosts);
    std::unique_ptr<Mesh> mesh;
    SpawnService service(
        [&](std::uint8_t type, SharedBytes payload) { return mesh->send(launcher_peer, type, std::move(payload)); });
    auto made = Mesh::create(
        caller_loop, log, settings, "1000.0", self, hosts + central_role_count, all.authenticator(caller_host),
        {[&](HostIndex, std::uint8_t type, const Bytes &payload) {
             if (type == wire::SpawnReply::type)
                 service.on_reply(*wire::decode<wire::SpawnReply>(payload));
         },
         [&](HostIndex, Mesh::Gone, const Error &) { service.on_launcher_gone(); },
         // Through srun, which starts the launcher (plugins/kit/starter_message.h, launch_listener.h).
         [&](HostIndex, Bytes contact, TimePoint, std::function<void(Result<void>)> done) {
             Invitation invitation;
             invitation.contact = std::move(contact);
             invitation.step_key = "1000.0";
             invitation.host_count = hosts;
             invitation.nspace = "slurm.1000.0";
             all.ask_munge(caller_host, [&all, &launcher, message = wire::encode(invitation), done] {
                 std::size_t bytes = 12 + SimulatedHosts::credential_bytes(28 + message.size());
                 all.network.send_bytes(caller_host, launcher_host, bytes, [&all, &launcher, message] {
                     all.ask_munge(launcher_host, [&all, &launcher, message] {
                         all.network.at(all.now() + LaunchModel::process_start,
                                        [&launcher, message] { launcher.on_invitation(message); });
                     });
                 });
                 done({});
             });
         }});
    mesh = std::move(*made);

    std::size_t answers = 0;
    pmix_status_t status = PMIX_ERROR;
    TimePoint answered{};
    service.spawn(request_of(count), {[&](pmix_status_t how, const std::string &) {
                                          ++answers;
                                          status = how;
                                          answered = all.now();
                                      },
                                      PMIX_ERROR, std::string()});
    all.network.run();

    ScaleCosts result;
    for (const auto &host : all.hosts) {
        result.munge_calls = std::max(result.munge_calls, host.munge_calls);
        result.connections = std::max(result.connections, host.connections);
        result.forwards += host.forwards;
    }
    result.count(all.network, answered);
    pmix_status_t wanted = one.lost_host ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
    if (answers != 1 || status != wanted)
        result.wrong = fmt::format("{} answers, the last {}", answers, status);
    if (allocation->hosts_of_job() != used)
        result.wrong = fmt::format("the children are on {} hosts", allocation->hosts_of_job());
    return result;
}

} // namespace pmixhost
