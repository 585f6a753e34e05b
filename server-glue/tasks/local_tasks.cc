// See local_tasks.h.
#include "server-glue/tasks/local_tasks.h"

#include "common/process/topology.h"
#include "server-glue/library/expected_environment.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/tasks/job_info.h"
#include "server-glue/tasks/proxy_client.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/ranges.h>
#include <pmix.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

LocalTasks::LocalTasks(EventLoop &loop, Log &log, const StepInfo &step, const DebugStops &stops, std::string directory,
                       TaskTable *table, Callbacks callbacks)
    : loop_(loop), log_(log), step_(step), stops_(stops), directory_(std::move(directory)), table_(table),
      callbacks_(std::move(callbacks)),
      watch_(loop, [this](Rank rank, std::optional<int> status) { task_gone(rank, status); }) {}

// Null where it cannot be known; `pid` is 0 of one that has ended.
static std::shared_ptr<const CpuSet> binding_of(pid_t pid) {
    if (pid <= 0)
        return nullptr;
    auto cpus = CpuSet::of_process(pid);
    return cpus ? std::make_shared<CpuSet>(std::move(*cpus)) : nullptr;
}

// One that a process may write to, in that of its namespace, by the name that Open MPI would give it; empty where it
// cannot be made, and then the process does without. What is in it goes with that of the namespace.
static std::string directory_of(Rank rank, const std::string &of_nspace) {
    std::string path = fmt::format("{}/{}", of_nspace, rank);
    return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? path : std::string();
}

void LocalTasks::set_early_environment(EarlyEnvironment environment) {
    early_environment_ = std::move(environment);
    for (auto &entry : std::exchange(waiting_, {}))
        let_go(entry.rank, entry.gid, std::move(entry.answer));
}

void LocalTasks::set_library(PmixLibrary &library) {
    library_ = &library;
    if (let_go_.empty())
        early_environment_ = nullptr;
    register_when_complete();
}

void LocalTasks::open_door(UniqueFd fd) {
    TaskDoor::ExecReport exec_report;
    TaskDoor::ExecStops exec_stops;
    // What the RM starts for a spawned process is not yet its program.
    if (step_.parent)
        exec_report = [this](Rank rank, ExecWords words) { this->exec_report(rank, std::move(words)); };
    else if (!stops_.at(StopPlace::exec).empty())
        exec_stops = {
            [this](Rank rank) { return stops_.at(StopPlace::exec).contains(rank); },
            [this](Rank rank, UniqueFd armed) { callbacks_.await_exec_stop(rank, std::move(armed), [](bool) {}); }};
    TaskDoor::Executed executed;
    if (!step_.parent && step_.tells_launch)
        executed = [this](Rank rank) { task_runs(rank); };
    door_ = std::make_unique<TaskDoor>(
        loop_, log_, std::move(fd), ::getuid(), [this](TaskDoor::Knock k) { knock(std::move(k)); },
        std::move(exec_report), callbacks_.take_streams, std::move(exec_stops), std::move(executed));
}

void LocalTasks::exec_report(Rank rank, ExecWords words) {
    auto report = parse_start_report(words.said);
    if (!report.running)
        return callbacks_.on_launch_failed(report.failure, std::move(words.task));
    for (auto &copy : words.copies) {
        if (auto copies = callbacks_.copy_output(rank, std::move(copy)); !copies)
            return callbacks_.on_launch_failed({'o', EIO, copies.failure().text}, UniqueFd());
    }
    if (!stops_.at(StopPlace::exec).contains(rank))
        return task_runs(rank);
    auto stands = [this, rank](bool stands) {
        if (stands)
            return task_runs(rank);
        callbacks_.on_launch_failed(
            {'s', EIO, fmt::format("rank {} could not be stopped at its first instruction", rank)}, UniqueFd());
    };
    if (!report.stops || !words.armed)
        return stands(false);
    callbacks_.await_exec_stop(rank, std::move(words.armed), std::move(stands));
}

void LocalTasks::task_runs(Rank rank) {
    running_.insert(rank);
    if (running_.size() == step_.map.ranks_on(step_.self).size())
        callbacks_.on_launched();
    else if (running_.size() == 1)
        callbacks_.on_first_runs();
}

bool LocalTasks::any_ended_badly() const {
    return std::any_of(gone_.begin(), gone_.end(), [this](Rank rank) {
        return connected_.contains(rank) && !finalized_.contains(rank) && !cut_off_.contains(rank);
    });
}

void LocalTasks::knock(TaskDoor::Knock knock) {
    if (step_.map.host_of(knock.rank) != step_.self)
        return knock.answer(
            error(ErrorKind::invalid, "rank {} is not one of host {}", knock.rank, step_.map.hosts()[step_.self]));
    if (gone_.contains(knock.rank))
        return knock.answer(error(ErrorKind::denied, "rank {} has ended already", knock.rank));
    if (auto added = watch_.add(knock.rank, knock.pid, std::move(knock.pidfd)); !added) {
        bool dead = added.failure().kind == ErrorKind::not_found;
        knock.answer(added.failure());
        if (dead)
            ended(knock.rank, std::nullopt);
        return;
    }
    if (callbacks_.on_unread_streams)
        callbacks_.on_unread_streams(knock.rank, knock.unread);
    started(knock.rank, knock.pid);
    if (early_environment_ && !registered_)
        let_go(knock.rank, knock.gid, std::move(knock.answer));
    else
        waiting_.push_back({knock.rank, knock.gid, std::move(knock.answer)});
    if (!patience_ && !registered_)
        patience_ = loop_.after(straggler_patience, [this] {
            patience_over_ = true;
            register_when_complete();
        });
    register_when_complete();
}

void LocalTasks::let_go(Rank rank, gid_t gid, TaskDoor::Answer answer) {
    let_go_[rank] = {gid, binding_of(watch_.pid_of(rank))};
    auto environment = early_environment_(rank);
    environment.insert(environment.end(), remedies_.begin(), remedies_.end());
    answer(std::move(environment));
    callbacks_.on_let_go();
}

void LocalTasks::started(Rank rank, pid_t pid) {
    started_.insert(rank);
    if (!watch_.has(rank)) {
        if (auto added = watch_.add(rank, pid); !added)
            log_.warning("rank {}: {}", rank, added.failure().text);
    }
    if (table_)
        table_->set(step_.map.local_rank(rank), pid);
}

void LocalTasks::want_environment(Rank rank, TaskDoor::Answer answer) {
    waiting_.push_back({rank, ::getgid(), std::move(answer)});
    patience_over_ = true; // nobody knocks: the tasks will have this daemon's CPU binding
    register_when_complete();
}

void LocalTasks::register_when_complete() {
    if (registered_)
        return answer_all();
    if (!library_ || registering_ || (waiting_.empty() && let_go_.empty()))
        return;
    if (started_.size() >= step_.map.ranks_on(step_.self).size() || patience_over_)
        register_nspace();
}

void LocalTasks::register_nspace() {
    registering_ = true;
    patience_.reset();
    auto ranks = step_.map.ranks_on(step_.self);
    // The tasks' bindings are looked at now; what libpmix makes of them comes in the library thread.
    using Binding = std::pair<Rank, std::shared_ptr<const CpuSet>>;
    std::vector<Binding> bindings;
    for (Rank rank : ranks) {
        Binding &binding = bindings.emplace_back(rank, nullptr);
        auto early = let_go_.find(rank);
        binding.second =
            early != let_go_.end() ? early->second.binding : binding_of(door_ ? watch_.pid_of(rank) : ::getpid());
    }
    // What the RM gives the session is the RM's to remove.
    JobDirectories directories{step_.session_directory.empty() ? directory_ : step_.session_directory, directory_,
                               step_.session_directory.empty()};
    auto own_tasks = [bindings = std::move(bindings), directory = directory_] {
        std::vector<LocalTask> tasks;
        for (const auto &[rank, cpus] : bindings)
            tasks.push_back({rank, cpus ? PmixLibrary::cpuset_string(*cpus) : std::string(),
                             cpus ? PmixLibrary::locality_string(*cpus) : std::string(),
                             directory_of(rank, directory)});
        return tasks;
    };
    auto registered = [this](Result<void> done) {
        if (!done)
            return callbacks_.on_failure(done.failure());
        registered_ = true;
        register_early();
    };
    // The step's description does not change, and stays until the daemon ends.
    bool all = describes_all(step_, details_up_to_);
    auto describe = [&step = step_, &stops = stops_, own_tasks, directories, all] {
        return job_info(step, stops, own_tasks(), directories, all);
    };
    auto describe_own = [&step = step_, own_tasks] { return own_process_infos(step, own_tasks()); };
    library_->register_nspace(step_.nspace, static_cast<int>(ranks.size()), std::move(describe),
                              [this, all, registered, describe_own](Result<void> done) {
                                  if (all || !done)
                                      return registered(std::move(done));
                                  library_->describe_processes(step_.nspace, describe_own, registered);
                              });
}

void LocalTasks::register_early() {
    if (let_go_.empty())
        return serve();
    unregistered_ = let_go_.size();
    for (const auto &[rank, task] : let_go_) {
        library_->register_client(step_.nspace, rank, ::getuid(), task.gid, [this, rank = rank](pmix_status_t status) {
            if (status != PMIX_SUCCESS)
                return callbacks_.on_failure(
                    error(ErrorKind::system, "the PMIx library refuses rank {}: {}", rank, PMIx_Error_string(status)));
            if (--unregistered_ == 0)
                check_early(rank);
        });
    }
}

// One task stands for all: what they are told differs by the rank alone.
void LocalTasks::check_early(Rank rank) {
    library_->environment(step_.nspace, rank, [this, rank](auto given) {
        auto expected = early_environment_(rank);
        auto agrees = given ? is_as_expected(expected, *given) : Result<void>(given.failure());
        if (!agrees)
            return callbacks_.on_failure(agrees.failure());
        if (auto more = names_beyond(expected, *given); !more.empty())
            log_.warning("the PMIx library gives processes {} as well, which those that were let go before it was "
                         "started do not have; next: daemon.library = \"early\"",
                         fmt::join(more, ", "));
        serve();
    });
}

void LocalTasks::serve() {
    callbacks_.on_serving();
    answer_all();
}

void LocalTasks::answer_all() {
    for (auto &entry : std::exchange(waiting_, {}))
        answer(entry.rank, entry.gid, std::move(entry.answer));
}

void LocalTasks::answer(Rank rank, gid_t gid, TaskDoor::Answer reply) {
    auto shared = std::make_shared<TaskDoor::Answer>(std::move(reply));
    library_->register_client(step_.nspace, rank, ::getuid(), gid, [this, rank, shared](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            return (*shared)(
                error(ErrorKind::system, "the PMIx library refuses rank {}: {}", rank, PMIx_Error_string(status)));
        library_->environment(step_.nspace, rank, [this, shared](auto environment) {
            if (environment)
                environment->insert(environment->end(), remedies_.begin(), remedies_.end());
            (*shared)(std::move(environment));
        });
    });
}

void LocalTasks::ended(Rank rank, std::optional<int> wait_status) {
    if (watch_.has(rank))
        return watch_.ended(rank, wait_status);
    if (!gone_.contains(rank) && step_.map.host_of(rank) == step_.self) {
        started_.insert(rank); // it has been, too short to be seen
        task_gone(rank, wait_status);
    }
}

void LocalTasks::client_connected(Rank rank) {
    connected_.insert(rank);
    finalized_.erase(rank); // it may come again
    send_proxy_clients();
}

bool LocalTasks::client_finalized(Rank rank) {
    finalized_.insert(rank);
    return finalized_.size() == step_.map.ranks_on(step_.self).size();
}

void LocalTasks::task_gone(Rank rank, std::optional<int> wait_status) {
    gone_.insert(rank);
    if (wait_status && WIFSIGNALED(*wait_status) && WTERMSIG(*wait_status) == SIGPIPE)
        cut_off_.insert(rank);
    if (table_)
        table_->set(step_.map.local_rank(rank), 0);
    callbacks_.on_gone(rank, wait_status);
    // The clients go after what libpmix has posted already: it may know the rank as connected.
    loop_.post([this] { send_proxy_clients(); });
    if (watch_.running() == 0 && started_.size() == step_.map.ranks_on(step_.self).size())
        callbacks_.on_all_ended();
}

void LocalTasks::send_proxy_clients() {
    if (!registered_)
        return;
    bool anyone_connected = false;
    for (Rank rank : connected_)
        anyone_connected = anyone_connected || (!gone_.contains(rank) && !has_proxy_.contains(rank));
    if (!anyone_connected)
        return;
    for (Rank rank : gone_) {
        if (connected_.contains(rank) || !has_proxy_.insert(rank).second)
            continue;
        library_->environment(step_.nspace, rank, [this, rank = rank](auto environment) {
            for (std::size_t i = 0; environment && i < remedies_.size(); ++i)
                environment->push_back(remedies_[i].substr(1)); // it has none of its own
            auto sent = environment ? send_proxy_client(*environment) : Result<void>(environment.failure());
            if (!sent)
                log_.error("no proxy client for rank {}, which ended before PMIx_Init: {}; others that wait "
                           "for it will wait for their timeout",
                           rank, sent.failure().text);
        });
    }
}

} // namespace pmixhost
