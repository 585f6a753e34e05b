// See task_registration.h.
#include "server-glue/tasks/task_registration.h"

#include "common/process/topology.h"
#include "server-glue/library/expected_environment.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/tasks/job_info.h"

#include <cerrno>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

TaskRegistration::TaskRegistration(EventLoop &loop, Log &log, const StepInfo &step, const DebugStops &stops,
                                   std::string directory, const TaskLives &lives, Callbacks callbacks)
    : loop_(loop), log_(log), step_(step), stops_(stops), directory_(std::move(directory)), lives_(lives),
      callbacks_(std::move(callbacks)) {}

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

void TaskRegistration::set_early_environment(EarlyEnvironment environment) {
    early_environment_ = std::move(environment);
    for (auto &entry : std::exchange(waiting_, {}))
        let_go(entry.rank, entry.gid, std::move(entry.answer));
}

void TaskRegistration::set_library(PmixLibrary &library) {
    library_ = &library;
    if (let_go_.empty())
        early_environment_ = nullptr;
    register_when_complete();
}

void TaskRegistration::knock(Rank rank, gid_t gid, TaskDoor::Answer answer) {
    if (early_environment_ && !registered_)
        let_go(rank, gid, std::move(answer));
    else
        waiting_.push_back({rank, gid, std::move(answer)});
    if (!patience_ && !registered_)
        patience_ = loop_.after(straggler_patience, [this] {
            patience_over_ = true;
            register_when_complete();
        });
    register_when_complete();
}

void TaskRegistration::let_go(Rank rank, gid_t gid, TaskDoor::Answer answer) {
    let_go_[rank] = {gid, binding_of(callbacks_.process_of(rank))};
    auto environment = early_environment_(rank);
    environment.insert(environment.end(), remedies_.begin(), remedies_.end());
    answer(std::move(environment));
    callbacks_.on_let_go();
}

void TaskRegistration::want_environment(Rank rank, TaskDoor::Answer answer) {
    waiting_.push_back({rank, ::getgid(), std::move(answer)});
    patience_over_ = true; // nobody knocks: the tasks will have this daemon's CPU binding
    register_when_complete();
}

void TaskRegistration::register_when_complete() {
    if (registered_)
        return answer_all();
    if (!library_ || registering_ || (waiting_.empty() && let_go_.empty()))
        return;
    if (lives_.all_started() || patience_over_)
        register_nspace();
}

void TaskRegistration::register_nspace() {
    registering_ = true;
    patience_.reset();
    auto ranks = step_.map.ranks_on(step_.self);
    // The tasks' bindings are looked at now; what libpmix makes of them comes in the library thread.
    using Binding = std::pair<Rank, std::shared_ptr<const CpuSet>>;
    std::vector<Binding> bindings;
    for (Rank rank : ranks) {
        Binding &binding = bindings.emplace_back(rank, nullptr);
        auto early = let_go_.find(rank);
        binding.second = early != let_go_.end() ? early->second.binding : binding_of(callbacks_.process_of(rank));
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

void TaskRegistration::register_early() {
    if (let_go_.empty())
        return serve();
    std::vector<PmixLibrary::Client> clients;
    for (const auto &[rank, task] : let_go_)
        clients.push_back({rank, task.gid, clients.empty()});
    auto first = clients.front().rank;
    library_->register_clients(step_.nspace, ::getuid(), clients, [this, first](auto environments) {
        for (const auto &environment : environments) {
            if (!environment)
                return callbacks_.on_failure(environment.failure());
        }
        check_early(first, *environments.front());
    });
}

// One task stands for all: what they are told differs by the rank alone.
void TaskRegistration::check_early(Rank rank, const std::vector<std::string> &given) {
    auto expected = early_environment_(rank);
    if (auto agrees = is_as_expected(expected, given); !agrees)
        return callbacks_.on_failure(agrees.failure());
    if (auto more = names_beyond(expected, given); !more.empty())
        log_.warning("the PMIx library gives processes {} as well, which those that were let go before it was "
                     "started do not have; next: daemon.library = \"early\"",
                     fmt::join(more, ", "));
    serve();
}

void TaskRegistration::serve() {
    callbacks_.on_serving();
    answer_all();
}

// All at once: each hand-over to the library and back wakes threads.
void TaskRegistration::answer_all() {
    if (waiting_.empty())
        return;
    std::vector<PmixLibrary::Client> clients;
    for (const Waiting &entry : waiting_)
        clients.push_back({entry.rank, entry.gid});
    auto waiting = std::make_shared<std::vector<Waiting>>(std::exchange(waiting_, {}));
    library_->register_clients(step_.nspace, ::getuid(), clients, [this, waiting](auto environments) {
        for (auto &environment : environments) {
            if (environment)
                environment->insert(environment->end(), remedies_.begin(), remedies_.end());
        }
        for (std::size_t i = 0; i < waiting->size(); ++i)
            (*waiting)[i].answer(std::move(environments[i]));
    });
}

void TaskRegistration::environment_of_proxy(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) {
    library_->environment(step_.nspace, rank, [this, done = std::move(done)](auto environment) {
        for (std::size_t i = 0; environment && i < remedies_.size(); ++i)
            environment->push_back(remedies_[i].substr(1)); // it has none of its own
        done(std::move(environment));
    });
}

} // namespace pmixhost
