// See launcher_server.h.
#include "server-glue/daemon/launcher_server.h"
#include "common/job/rank_runs.h"
#include "common/process/exit_code.h"
#include "common/text/printable.h"
#include "server-glue/spawn/place_wish.h"
#include "server-glue/spawn/plan_spawn.h"

#include "server-glue/library/convert.h"

#include <csignal>
#include <ctime>
#include <pmix_common.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// More at once would be a task that spawns in a loop without end.
constexpr std::size_t max_children = 4096;

int spawn_status_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::not_found:
        return PMIX_ERR_JOB_ALLOC_FAILED;
    case ErrorKind::limit:
    case ErrorKind::denied:
    case ErrorKind::unreachable:
    case ErrorKind::timeout:
        return status_of(kind);
    default:
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    }
}

// The host with the most agents that will be tools of its daemon (PMIX_FORKEXEC_AGENT), and how many.
std::pair<std::string, std::uint32_t> most_fork_agents(const SpawnPlan &plan) {
    std::map<std::string_view, std::uint32_t> agents;
    std::pair<std::string, std::uint32_t> most;
    for (const auto &app : plan.apps) {
        for (std::uint32_t i = 0; !app.fork_agent.empty() && i < app.count; ++i) {
            const auto &host = plan.host_of_rank[app.first + i];
            if (std::uint32_t here = ++agents[host]; here > most.second)
                most = {host, here};
        }
    }
    return most;
}

std::string line_of(const std::string &text) {
    return fmt::format("pmixhost: {}\n", text);
}

} // namespace

LauncherServer::LauncherServer(EventLoop &loop, Log &log, const Settings &settings, AllocationPlaces::Calls calls,
                               CentralServer::Authenticators authenticators, std::function<void()> on_end,
                               Patience patience)
    : loop_(loop), log_(log),
      terminal_(STDERR_FILENO, [](std::uint64_t lost) { return line_of(fmt::format("{} lines were left out", lost)); }),
      settings_(settings), patience_(patience), on_end_(std::move(on_end)), messages_(log),
      peers_(loop, log, settings, CentralRole::launcher, std::move(authenticators),
             {[this](CentralServer::StepId step, HostIndex from, std::uint8_t type, Bytes payload) {
                  const Spawner spawner{peers_.nspace_of(step), from};
                  messages_.hand_on(spawner, printable(spawner.nspace), type, std::move(payload));
              },
              [this](CentralServer::StepId step, HostIndex host, Mesh::Gone how) {
                  if (how == Mesh::Gone::lost)
                      host_lost({peers_.nspace_of(step), host});
              },
              [](CentralServer::StepId) {}}),
      places_(loop, log, std::move(calls), max_children, [this] { end_if_done(); }) {
    take_messages();
}

void LauncherServer::tell_user(const std::string &text) {
    terminal_.write(line_of(text));
}

void LauncherServer::on_invitation(const std::string &message) {
    if (message.empty())
        end_children("the step was ended");
    else
        peers_.on_invitation(message);
}

void LauncherServer::take_messages() {
    messages_.on<wire::SpawnRequest>([this](const Spawner &from, wire::SpawnRequest request, const auto &) {
        if (request.lives_on != 0)
            living_on_.insert(from.nspace);
        on_request(from, std::move(request));
    });
    messages_.on<wire::EndChild>(
        [this](const Spawner &from, const auto &end, const auto &) { end_child(from.nspace, end.nspace); });
    messages_.on<wire::SpawnCancel>([this](const Spawner &from, const auto &request, const auto &) {
        cancel(from, request.id, "the tool that has asked for it has gone, or its server leaves");
    });
    messages_.on<wire::LeaveAllocation>(
        [this](const Spawner &, const auto &left, const auto &) { places_.lobby_leaves(left.allocation); });
    messages_.on<wire::StepOver>([this](const Spawner &from, const auto &over, const auto &) {
        if (over.badly)
            end_children(fmt::format("tasks of host {} of the step have ended badly", from.host));
    });
}

void LauncherServer::on_request(const Spawner &from, wire::SpawnRequest request) {
    // The connection says which namespace asks, not the message; and it may have gone when there is a starter.
    request.nspace = from.nspace;
    auto starter = places_.enter(request.allocation, request.gives_back != 0);
    if (starter || ending_ || step_over_)
        return start(from, std::move(request), std::move(starter));
    auto limit = AllocationPlaces::starter_patience;
    if (settings_.spawn_timeout.count() > 0)
        limit = std::min(limit, settings_.spawn_timeout);
    if (std::uint64_t seconds = start_limit_of(request); seconds > 0)
        limit = std::min<std::chrono::milliseconds>(limit, std::chrono::seconds(seconds));
    const std::string allocation = request.allocation;
    std::uint64_t number = next_early_++;
    early_[number] = {from, std::move(request), loop_.now()};
    places_.find_starter(allocation, limit, [this, number](Result<std::shared_ptr<JobStarter>> found) {
        auto node = early_.extract(number);
        if (!node)
            return; // its step is ending
        Early &early = node.mapped();
        if (found) {
            take_from_start_limit(early.request, loop_.now() - early.since);
            return start(early.from, std::move(early.request), std::move(*found));
        }
        refuse(early.from, early.request, spawn_status_of(found.failure().kind), found.failure().text);
        places_.leave(early.request.allocation);
    });
}

void LauncherServer::refuse(const Spawner &from, const wire::SpawnRequest &request, int status,
                            const std::string &reason) {
    tell_user(fmt::format("PMIx_Spawn of rank {} of {}: {}", request.rank, printable(request.nspace),
                          printable(reason, 1000)));
    reply(from, request.id, status, {}, reason);
}

void LauncherServer::start(const Spawner &from, wire::SpawnRequest request, std::shared_ptr<JobStarter> starter) {
    const std::string allocation = request.allocation;
    if (!begin(from, std::move(request), std::move(starter)))
        places_.leave(allocation);
}

bool LauncherServer::begin(const Spawner &from, wire::SpawnRequest request, std::shared_ptr<JobStarter> starter) {
    auto refuse = [&](int status, const std::string &reason) {
        this->refuse(from, request, status, reason);
        return false;
    };
    if (ending_ || step_over_) {
        reply(from, request.id, PMIX_ERR_JOB_CANCELED, {}, "the step is ending");
        return false;
    }
    if (children_.size() >= max_children)
        return refuse(PMIX_ERR_OUT_OF_RESOURCE, "too many jobs have been spawned at once");
    auto planned = plan_spawn(request, starter->site());
    if (auto *no = std::get_if<SpawnRefusal>(&planned))
        return refuse(no->status, no->text);
    auto &plan = std::get<SpawnPlan>(planned);
    if (plan.has_fork_agents() && settings_.tools_enabled != "on")
        return refuse(PMIX_ERR_NOT_SUPPORTED,
                      "PMIX_FORKEXEC_AGENT is not supported here: the agent comes to the job's server as a tool, and "
                      "tools are switched off (tools.enabled); next: PMIX_EXEC_AGENT, which needs no server");
    // One that is not let in would end, and the job with it, half started.
    if (auto [host, agents] = most_fork_agents(plan); agents > settings_.tools_max_connections)
        return refuse(
            PMIX_ERR_NOT_SUPPORTED,
            fmt::format("PMIX_FORKEXEC_AGENT is not supported here for {} processes on host {}: each agent comes "
                        "to the job's server there as a tool, and that takes {} (tools.max_connections); next: "
                        "more hosts, or PMIX_EXEC_AGENT, which needs no server",
                        agents, host, settings_.tools_max_connections));
    plan.parent_host = from.host;
    auto command = starter->command(plan);
    if (!command)
        return refuse(spawn_status_of(command.failure().kind), command.failure().text);
    std::uint64_t number = next_child_++;
    // Of what the parent pushes the job's daemons have to know that nothing else comes.
    auto input = plan.stdin_rank      ? ChildJob::Input::ours
                 : plan.takes_input() ? ChildJob::Input::ended
                                      : ChildJob::Input::silent;
    auto job = ChildJob::start(loop_, *command, input,
                               {[this, number](SpawnEvent event) { on_event(number, std::move(event)); },
                                [this](std::string line) { terminal_.write(std::move(line)); },
                                [this, number](int status, std::string said) { on_end(number, status, said); }});
    if (!job)
        return refuse(job.failure().kind == ErrorKind::limit ? spawn_status_of(ErrorKind::limit)
                                                             : PMIX_ERR_JOB_FAILED_TO_LAUNCH,
                      job.failure().text);
    log_.debug("job {}: {} tasks, for rank {} of {}", number, plan.tasks(), request.rank, request.nspace);
    Child &child = children_[number];
    child.job = std::move(*job);
    child.starter = std::move(starter);
    child.drops_early_signals = command->drops_early_signals;
    child.allocation = request.allocation;
    child.of = from;
    child.id = request.id;
    child.tell_start = plan.tell_start;
    child.tell_end = plan.tell_end;
    child.silent_end = plan.silent_end;
    child.job_timeout = plan.job_timeout;
    child.logs_start = plan.logs_start;
    child.logs_end = plan.logs_end;
    child.plan = std::make_shared<const SpawnPlan>(std::move(plan));
    auto limit = child.plan->timeout ? std::chrono::milliseconds(*child.plan->timeout) : settings_.spawn_timeout;
    if (limit.count() > 0)
        child.timer = loop_.after(limit, [this, number, limit] {
            auto found = children_.find(number);
            if (found == children_.end() || found->second.answered)
                return;
            std::string why = fmt::format("the spawned job did not start within {} s; it is ended",
                                          static_cast<double>(limit.count()) / 1000.0);
            tell_user(why);
            answer(number, found->second, PMIX_ERR_TIMEOUT, why);
            end(number, found->second);
        });
    return true;
}

void LauncherServer::on_event(std::uint64_t number, SpawnEvent event) {
    auto found = children_.find(number);
    if (found == children_.end())
        return;
    Child &child = found->second;
    switch (event.kind) {
    case SpawnEvent::Kind::created:
        child.nspace = event.text;
        if (child.ending && child.drops_early_signals)
            child.job->signal(SIGTERM);
        break;
    case SpawnEvent::Kind::started:
        if (!child.answered)
            tell_start(child);
        break;
    case SpawnEvent::Kind::launched:
        if (child.answered)
            break;
        answer(number, child, event.status, event.text);
        if (!child.ran)
            end_failed(number, child);
        break;
    case SpawnEvent::Kind::over:
        break; // its exit code says more
    }
}

void LauncherServer::on_end(std::uint64_t number, int wait_status, const std::string &said) {
    auto node = children_.extract(number);
    if (!node)
        return;
    Child &child = node.mapped();
    log_.debug("job {} ({}) has ended with wait status {:#x}", number, child.nspace, wait_status);
    if (!child.answered) {
        // Programs that were so quick that nobody saw them run.
        bool well = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && !child.nspace.empty();
        if (well) {
            answer(number, child, PMIX_SUCCESS, {});
        } else if (child.nspace.empty()) {
            Error why = child.starter->explain(said);
            answer(number, child, spawn_status_of(why.kind), why.text);
        } else {
            answer(number, child, PMIX_ERR_JOB_FAILED_TO_LAUNCH, "the job ended before all of its programs ran");
        }
    }
    if (child.ran && child.logs_end)
        tell_user(fmt::format("{} has ended with exit code {}", printable(child.nspace), exit_code_of(wait_status)));
    if (child.ran || child.told_start)
        tell(child, wire::JobEvent::ended, wait_status);
    places_.leave(child.allocation);
    // The job does not go from within its own call.
    auto keep = std::make_shared<std::unique_ptr<ChildJob>>(std::move(child.job));
    loop_.post([keep, this] { end_if_done(); });
}

void LauncherServer::answer(std::uint64_t number, Child &child, int status, const std::string &reason) {
    if (std::exchange(child.answered, true))
        return;
    child.timer.reset();
    child.ran = status == PMIX_SUCCESS;
    reply(child.of, child.id, status, child.ran ? child.nspace : "", reason,
          child.ran ? describe(child) : wire::NamespaceInfo());
    child.plan.reset();
    if (child.ran && child.logs_start)
        tell_user(fmt::format("{}: all of its processes run", printable(child.nspace)));
    if (child.ran) {
        tell_start(child);
        tell(child, wire::JobEvent::running);
    }
    if (child.ran && child.job_timeout.count() > 0)
        limit_time(number, child);
}

void LauncherServer::limit_time(std::uint64_t number, Child &child) {
    child.timer = loop_.after(child.job_timeout, [this, number] {
        auto found = children_.find(number);
        if (found == children_.end())
            return;
        Child &late = found->second;
        tell_user(fmt::format("{}: its time of {} s is over (PMIX_JOB_TIMEOUT); it is ended", printable(late.nspace),
                              late.job_timeout.count()));
        end(number, late);
    });
}

// Its daemon ends it, and may not be able to: it has died, or the RM does not answer it. The programs that run would
// wait for the others until the job's time is over.
void LauncherServer::end_failed(std::uint64_t number, Child &child) {
    child.timer = loop_.after(patience_.failed, [this, number] {
        auto found = children_.find(number);
        if (found == children_.end())
            return;
        log_.warning("job {} was not launched as a whole, and goes on: it is ended", printable(found->second.nspace));
        end(number, found->second);
    });
}

void LauncherServer::tell_start(Child &child) {
    if (!child.nspace.empty() && child.tell_start && !std::exchange(child.told_start, true))
        tell(child, wire::JobEvent::started);
}

void LauncherServer::tell(const Child &child, std::uint8_t what, int wait_status) {
    bool silent = child.silent_end && exit_code_of(wait_status) == 0;
    bool asked = what == wire::JobEvent::ended ? child.tell_end && !silent : child.tell_start;
    if (!asked && what != wire::JobEvent::ended)
        return;
    wire::JobEvent message;
    message.asked = asked ? 1 : 0;
    message.nspace = child.nspace;
    message.what = what;
    message.exit_code = exit_code_of(wait_status);
    message.time = static_cast<std::uint64_t>(std::time(nullptr));
    send(child.of, wire::JobEvent::type, share(wire::encode(message)));
}

wire::NamespaceInfo LauncherServer::describe(const Child &child) const {
    JobPlace place = child.starter->place(*child.plan, child.nspace);
    wire::NamespaceInfo info;
    std::map<std::string_view, std::size_t> index;
    for (std::size_t host = 0; host < place.hosts.size(); ++host)
        index.emplace(place.hosts[host], host);
    std::vector<std::vector<Rank>> ranks(place.hosts.size());
    for (std::uint32_t rank = 0; rank < child.plan->tasks(); ++rank) {
        auto host = index.find(child.plan->host_of_rank[rank]);
        if (host == index.end())
            return {};
        ranks[host->second].push_back(rank);
    }
    for (std::size_t host = 0; host < place.hosts.size(); ++host)
        info.hosts.push_back({place.hosts[host], runs_of(ranks[host])});
    info.nspace = child.nspace;
    info.job_id = place.job_id;
    info.universe_size = place.universe_size;
    info.process_sets = format_process_sets(child.plan->process_sets);
    return info;
}

void LauncherServer::reply(const Spawner &to, std::uint64_t id, int status, const std::string &nspace,
                           const std::string &reason, wire::NamespaceInfo info) {
    wire::SpawnReply message;
    message.id = id;
    message.status = status;
    message.nspace = nspace;
    message.reason = reason.substr(0, 1024);
    message.info = std::move(info);
    Bytes bytes = wire::encode(message);
    if (bytes.size() > wire::frame_limit) { // whoever wants to know asks the session
        message.info = {};
        bytes = wire::encode(message);
    }
    send(to, wire::SpawnReply::type, share(std::move(bytes)));
}

void LauncherServer::send(const Spawner &to, std::uint8_t type, SharedBytes payload) {
    peers_.send(peers_.step_of(to.nspace), to.host, type, std::move(payload));
}

void LauncherServer::end_children(const std::string &why) {
    if (std::exchange(ending_, true))
        return;
    if (!children_.empty())
        log_.info("{}: the jobs that it spawned are ended", why);
    drop_early();
    places_.close();
    for (auto &[number, child] : children_)
        end(number, child);
}

void LauncherServer::end(std::uint64_t number, Child &child) {
    child.job->signal(SIGTERM);
    if (std::exchange(child.ending, true))
        return;
    child.kill_timer = loop_.after(patience_.end, [this, number] {
        auto found = children_.find(number);
        if (found == children_.end())
            return;
        const Child &left = found->second;
        tell_user(fmt::format("{} does not end: the command that runs it is killed, and what it leaves is the resource "
                              "manager's to end",
                              left.nspace.empty() ? "a job that was to be spawned" : printable(left.nspace)));
        left.job->signal(SIGKILL);
    });
}

// Of a step that lives on, what its other hosts have spawned does so as well, and what this one had spawned: it shares
// no fate with its parent. But nobody would hear of what was still being started for it.
void LauncherServer::host_lost(const Spawner &lost) {
    const std::string why = fmt::format("host {} of the step is lost", lost.host);
    if (!living_on_.contains(lost.nspace))
        return end_children(why);
    std::vector<std::uint64_t> asked;
    for (const auto &[number, early] : early_) {
        if (early.from == lost)
            asked.push_back(early.request.id);
    }
    for (const auto &[number, child] : children_) {
        if (child.of == lost && !child.answered)
            asked.push_back(child.id);
    }
    for (std::uint64_t id : asked)
        cancel(lost, id, why);
}

void LauncherServer::drop_early() {
    for (auto &[number, early] : std::exchange(early_, {}))
        start(early.from, std::move(early.request), nullptr); // says that the step is ending
}

void LauncherServer::end_child(const Bytes &parent, const Bytes &nspace) {
    for (auto &[number, child] : children_) {
        if (child.of.nspace == parent && child.nspace == nspace)
            end(number, child);
    }
}

// The answer may be on its way to a host that no longer waits for it.
void LauncherServer::cancel(const Spawner &from, std::uint64_t id, const std::string &why) {
    for (auto early = early_.begin(); early != early_.end(); ++early) {
        const Early &one = early->second;
        if (one.from != from || one.request.id != id)
            continue;
        reply(from, id, PMIX_ERR_JOB_CANCELED, {}, why);
        auto node = early_.extract(early);
        return places_.leave(node.mapped().request.allocation);
    }
    for (auto &[number, child] : children_) {
        if (child.of != from || child.id != id)
            continue;
        log_.info("{}: job {} is ended", why, number);
        answer(number, child, PMIX_ERR_JOB_CANCELED, why);
        end(number, child);
    }
}

void LauncherServer::on_step_over() {
    step_over_ = true;
    drop_early();
    places_.close();
    end_if_done();
}

void LauncherServer::end_if_done() {
    if (step_over_ && children_.empty() && !places_.is_giving_back() && on_end_)
        std::exchange(on_end_, nullptr)();
}

} // namespace pmixhost
