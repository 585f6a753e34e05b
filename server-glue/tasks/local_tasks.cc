// See local_tasks.h.
#include "server-glue/tasks/local_tasks.h"

#include "server-glue/tasks/proxy_client.h"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

LocalTasks::LocalTasks(EventLoop &loop, Log &log, const StepInfo &step, const DebugStops &stops, std::string directory,
                       TaskTable *table, Callbacks callbacks)
    : loop_(loop), log_(log), step_(step), stops_(stops), table_(table), callbacks_(std::move(callbacks)),
      watch_(loop, [this](Rank rank, std::optional<int> status) { task_gone(rank, status); }),
      lives_(step.map.ranks_on(step.self).size()),
      descriptions_(loop, [this](Rank rank) { return watch_.pid_of(rank); }),
      registration_(loop, log, step, stops, std::move(directory), lives_,
                    // Without a door this daemon starts the tasks, which have its binding.
                    {[this](Rank rank) { return door_ ? watch_.pid_of(rank) : ::getpid(); }, callbacks_.on_serving,
                     callbacks_.on_let_go, callbacks_.on_failure}) {}

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
    if (words.description && !lives_.gone(rank) && !lives_.connected(rank))
        descriptions_.keep(rank, std::move(words.description));
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
    lives_.runs_program(rank);
    if (lives_.all_running())
        callbacks_.on_launched();
    else if (lives_.running() == 1)
        callbacks_.on_first_runs();
}

void LocalTasks::knock(TaskDoor::Knock knock) {
    if (step_.map.host_of(knock.rank) != step_.self)
        return knock.answer(
            error(ErrorKind::invalid, "rank {} is not one of host {}", knock.rank, step_.map.hosts()[step_.self]));
    if (lives_.gone(knock.rank))
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
    registration_.knock(knock.rank, knock.gid, std::move(knock.answer));
}

void LocalTasks::started(Rank rank, pid_t pid) {
    lives_.has_started(rank);
    if (!watch_.has(rank)) {
        if (auto added = watch_.add(rank, pid); !added)
            log_.warning("rank {}: {}", rank, added.failure().text);
    }
    if (table_)
        table_->set(step_.map.local_rank(rank), pid);
}

void LocalTasks::ended(Rank rank, std::optional<int> wait_status) {
    if (watch_.has(rank))
        return watch_.ended(rank, wait_status);
    if (!lives_.gone(rank) && step_.map.host_of(rank) == step_.self)
        task_gone(rank, wait_status); // it has been, too short to be seen
}

void LocalTasks::client_connected(Rank rank) {
    lives_.has_connected(rank);
    descriptions_.drop(rank); // its agent has had its answer
    send_proxy_clients();
}

bool LocalTasks::client_finalized(Rank rank) {
    lives_.has_finalized(rank);
    return lives_.all_finalized();
}

void LocalTasks::task_gone(Rank rank, std::optional<int> wait_status) {
    lives_.has_ended(rank, wait_status && WIFSIGNALED(*wait_status) && WTERMSIG(*wait_status) == SIGPIPE);
    descriptions_.drop(rank);
    if (table_)
        table_->set(step_.map.local_rank(rank), 0);
    callbacks_.on_gone(rank, wait_status);
    // The clients go after what libpmix has posted already: it may know the rank as connected.
    loop_.post([this] { send_proxy_clients(); });
    if (watch_.running() == 0 && lives_.all_started())
        callbacks_.on_all_ended();
}

void LocalTasks::send_proxy_clients() {
    if (!registration_.is_registered())
        return;
    for (Rank rank : lives_.take_absent()) {
        registration_.environment_of_proxy(rank, [this, rank](auto environment) {
            auto sent = environment ? send_proxy_client(*environment) : Result<void>(environment.failure());
            if (!sent)
                log_.error("no proxy client for rank {}, which ended before PMIx_Init: {}; others that wait "
                           "for it will wait for their timeout",
                           rank, sent.failure().text);
        });
    }
}

} // namespace pmixhost
