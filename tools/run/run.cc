// See run.h.
#include "tools/run/run.h"

#include "common/config/config_options.h"
#include "common/config/config_values.h"
#include "common/process/sweep.h"
#include "common/start/spawn_channel.h"
#include "common/text/printable.h"
#include "tools/run/layout.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

namespace {

constexpr auto leave_patience = 10s; // for a daemon to end when its tasks have
constexpr auto daemon_patience = 5s; // for what it was told to be done
constexpr auto sweep_limit = 5s;
constexpr auto interrupt_window = 1s;                // srun's: two Ctrl-C within it end the job
constexpr auto interrupt_kill_wait = 2s;             // and then it goes fast
constexpr std::chrono::milliseconds long_wait = 60s; // srun's: when to mention that the first task has ended
constexpr int timeout_code = 124;                    // timeout(1)'s

// Tells what a wait status means, in srun's words.
std::string describe_end(int status) {
    if (WIFEXITED(status))
        return fmt::format("Exited with exit code {}", WEXITSTATUS(status));
    const char *name = ::strsignal(WTERMSIG(status));
    return fmt::format("{}{}", name ? name : "Signal", WCOREDUMP(status) ? " (core dumped)" : "");
}

std::string tasks_text(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return fmt::format("{} {}", ranks.size() == 1 ? "task" : "tasks", rank_list(ranks));
}

// Enough descriptors for all tasks' pipes.
Result<void> raise_descriptor_limit(std::size_t wanted) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted)
        return {};
    if (limit.rlim_max < wanted)
        return error(ErrorKind::limit, "{} file descriptors are needed, the limit is {} (ulimit -Hn)", wanted,
                     limit.rlim_max);
    limit.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return system_error("ulimit -n", errno);
    return {};
}

} // namespace

template <typename... Args> void Run::say(fmt::format_string<Args...> format, Args &&...args) {
    stderr_.write("pmixhost: " + fmt::format(format, std::forward<Args>(args)...) + "\n");
}

Run::Run(EventLoop &loop, const RunOptions &options)
    : loop_(loop), options_(options), stdout_(
                                          loop, STDOUT_FILENO, [this] { resume_streams(stdout_); },
                                          [this](int why) {
                                              if (why != EPIPE) {
                                                  say("error: standard output: {}", std::strerror(why));
                                                  output_is_lost_ = true;
                                              }
                                              // As in a pipeline: a task that writes on gets SIGPIPE.
                                              for (auto &stream : streams_) {
                                                  if (stream.sink == &stdout_)
                                                      stream.stream->close();
                                              }
                                          }),
      stderr_(
          loop, STDERR_FILENO, [this] { resume_streams(stderr_); }, [](int) {}) {}

Run::~Run() {
    for (auto &host : hosts_)
        host.channel.reset();
    sweep_children(sweep_limit);
    identity_.remove_directories(static_cast<HostIndex>(hosts_.size()));
}

Result<void> Run::start(char *const *environment) {
    std::size_t tasks = 0;
    for (const auto &ranks : options_.ranks_by_host)
        tasks += ranks.size();
    rlimit files{};
    bool has_limit = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
    // Of each task two, which its daemon has as well until that is started.
    if (auto raised = raise_descriptor_limit(tasks * 4 + options_.hosts.size() * 2 + 64); !raised)
        return raised;
    auto identity = make_identity(options_, environment);
    if (!identity)
        return identity.failure();
    identity_ = std::move(*identity);
    if (has_limit)
        identity_.open_files = files.rlim_cur;
    adopt_orphans();
    catch_signals();
    for (const auto &note : options_.notes)
        say("{}", note);

    tasks_.resize(tasks);
    tasks_left_ = tasks;
    hosts_.resize(options_.hosts.size());
    std::string program = pmixhostd_path();
    for (HostIndex h = 0; h < hosts_.size(); ++h) {
        auto process = start_daemon(options_, identity_, h, program);
        if (!process)
            return error(process.failure().kind, "{}: {}", options_.hosts[h], process.failure().text);
        Host &host = hosts_[h];
        host.process = std::move(*process);
        host.tasks_left = host.tasks_total = options_.ranks_by_host[h].size();
        for (Rank rank : options_.ranks_by_host[h])
            tasks_[rank].host = h;
        open_streams(h);
        host.channel = std::make_unique<local::ControlChannel>(
            loop_, std::move(host.process.control),
            local::ControlChannel::Events{
                [this, h](local::ControlMessage message) { on_message(h, std::move(message)); },
                [this, h](std::string why) { on_channel_closed(h, why); }});
    }
    spawn_channel_ = take_spawn_channel();
    if (spawn_channel_)
        say_created(spawn_channel_.get(), identity_.nspace, tasks_.size());
    if (options_.time_limit > 0ms)
        time_limit_ = loop_.after(options_.time_limit, [this] {
            say("error: the time limit of {} is reached", format_duration(options_.time_limit));
            if (!decided_code_)
                decided_code_ = timeout_code;
            if (phase_ == Phase::running)
                return end_job(SIGTERM);
            // What the tasks have spawned is left.
            ending_ = true;
            if (jobs_)
                jobs_->end_jobs();
            patience_ = loop_.after(leave_patience, [this] { finish(); });
        });
    return {};
}

int Run::exit_code() const {
    if (decided_code_)
        return *decided_code_;
    if (WIFSIGNALED(highest_status_))
        return 128 + WTERMSIG(highest_status_);
    return highest_status_ == 0 && output_is_lost_ ? 1 : WEXITSTATUS(highest_status_);
}

// --- what the daemons say ------------------------------------------------------------------------

void Run::on_message(HostIndex h, local::ControlMessage message) {
    using namespace local;
    Host &host = hosts_[h];
    auto known = [&](Rank rank) { return rank < tasks_.size() && tasks_[rank].host == h; };
    if (auto *started = std::get_if<TaskStarted>(&message)) {
        if (!known(started->rank))
            return;
        if (!std::exchange(tasks_[started->rank].started, true))
            ++host.tasks_started;
        tasks_[started->rank].pid = static_cast<pid_t>(started->pid);
    } else if (auto *ended = std::get_if<TaskEnded>(&message)) {
        if (known(ended->rank))
            on_task_ended(h, ended->rank, static_cast<int>(ended->wait_status & 0xffff));
    } else if (auto *failed = std::get_if<TaskNotStarted>(&message)) {
        if (!known(failed->rank))
            return;
        tasks_[failed->rank].explained = true;
        not_started_[{h, printable(failed->text, 1000)}].push_back(failed->rank);
    } else if (auto *end = std::get_if<EndStep>(&message)) {
        if (!decided_code_) {
            report_ends();
            decided_code_ = end->exit_code;
            say("error: {}: {}", options_.hosts[h], printable(end->text, 1000));
        }
        end_job(SIGKILL);
    } else if (auto *gone = std::get_if<DaemonFailed>(&message)) {
        host.failure = printable(gone->text, 1000);
    } else if (auto *launched = std::get_if<Launched>(&message)) {
        on_launched(h, launched->status, launched->text);
    } else if (std::holds_alternative<Started>(message)) {
        on_first_runs();
    } else if (auto *contact = std::get_if<Contact>(&message)) {
        // From now on the message says whom it is from.
        if (contact->host >= hosts_.size())
            return on_invitation(h, contact->host - static_cast<HostIndex>(hosts_.size()), contact->message);
        if (hosts_[contact->host].channel)
            hosts_[contact->host].channel->send(Contact{h, std::move(contact->message)});
        else
            hosts_[h].channel->send(Contact{contact->host, {}}); // its daemon has ended
    } else {
        say("error: {}: its daemon sent a message that only pmixhost run sends", options_.hosts[h]);
    }
}

void Run::on_first_runs() {
    if (spawn_channel_ && !std::exchange(told_started_, true))
        say_started(spawn_channel_.get());
}

// Whoever spawned this run hears it when all hosts have said so, or of the first failure.
void Run::on_launched(HostIndex h, int status, const std::string &text) {
    if (!spawn_channel_)
        return;
    if (status == 0)
        on_first_runs();
    launched_.insert(h);
    auto with_tasks =
        std::count_if(hosts_.begin(), hosts_.end(), [](const Host &host) { return host.tasks_total > 0; });
    if (status == 0 && launched_.size() < static_cast<std::size_t>(with_tasks))
        return;
    say_launched(spawn_channel_.get(), status, printable(text, 1000));
    if (status != 0)
        spawn_channel_.reset(); // the first failure is the one
}

// The invitation is for a central role: the session is the first of them, the launcher the second.
void Run::on_invitation(HostIndex h, HostIndex role, const std::string &invitation) {
    if (role == 1) {
        if (!jobs_) {
            if (identity_.session_door.empty()) {
                auto door = SessionDoor::open(loop_, [this](std::string invited) { to_session(invited); });
                if (!door)
                    return say("error: nothing can be spawned: {}", door.failure().text);
                door_ = std::move(*door);
            }
            const auto &name = door_ ? door_->name() : identity_.session_door;
            ::setenv(session_door_variable, name.c_str(), 1); // for what it starts
            auto started = RoleProcess::start_launcher(options_, identity_, pmixhostd_path());
            if (!started)
                return say("error: nothing can be spawned: {}", started.failure().text);
            jobs_ = std::move(*started);
        }
        jobs_->invite(invitation);
        return;
    }
    if (role != 0)
        return say("error: {}: its daemon wants what pmixhost run does not know", options_.hosts[h]);
    to_session(invitation);
}

// Jobs that were spawned share the session of the one that began.
void Run::to_session(const std::string &invitation) {
    if (!identity_.session_door.empty()) {
        if (auto sent = send_to_session_door(identity_.session_door, invitation); !sent)
            say("error: the session cannot be reached: {}", sent.failure().text);
        return;
    }
    if (session_ && session_->invite(invitation))
        return;
    session_.reset();
    auto started = RoleProcess::start("session", options_, identity_, pmixhostd_path());
    if (!started)
        return say("error: the session's daemon cannot be started: {}", started.failure().text);
    session_ = std::move(*started);
    session_->invite(invitation);
}

void Run::on_task_ended(HostIndex h, Rank rank, int status) {
    Task &task = tasks_[rank];
    if (std::exchange(task.ended, true))
        return;
    --hosts_[h].tasks_left;
    --tasks_left_;
    highest_status_ = std::max(highest_status_, status);
    if (options_.input == rank && input_)
        input_->close();
    // Ends of tasks that we ended are no news, except of those that had a code of their own.
    if (status != 0 && !(ending_ && WIFSIGNALED(status)))
        ends_[{h, status}].push_back(rank);
    if (!std::exchange(report_posted_, true))
        loop_.post([this] { report_ends(); });
    if (tasks_left_ == 0)
        return all_tasks_ended();
    if (status != 0 && options_.kill_on_bad_exit && !ending_) {
        report_ends();
        say("error: task {} has ended badly, so the job ends (--kill-on-bad-exit)", rank);
        end_job(SIGKILL);
    }
    if (!wait_timer_) {
        bool limited = options_.wait > 0ms;
        wait_timer_ = loop_.after(limited ? options_.wait : long_wait, [this, limited] {
            say("{}: the first task exited {} ago", limited ? "error" : "warning",
                format_duration(limited ? options_.wait : long_wait));
            if (limited)
                end_job(SIGKILL);
        });
    }
}

void Run::report_ends() {
    report_posted_ = false;
    for (auto &[what, ranks] : std::exchange(not_started_, {}))
        say("error: {}: {}: {}", options_.hosts[what.first], tasks_text(ranks), what.second);
    for (auto &[what, ranks] : std::exchange(ends_, {}))
        say("error: {}: {}: {}", options_.hosts[what.first], tasks_text(ranks), describe_end(what.second));
}

void Run::on_channel_closed(HostIndex h, const std::string &why) {
    Host &host = hosts_[h];
    host.channel.reset();
    if (!why.empty())
        host.failure = why;
    if (host.tasks_left == 0)
        return;
    // Its tasks die with it; those that the kernel handed to us are swept at the end.
    host.lost = true;
    if (host.failure.empty())
        host.failure = host.process.page->failure();
    on_children(); // it may have been waited for, or can be
    if (!host.failure.empty() || host.reaped)
        on_lost(h);
    if (!decided_code_ && !ending_)
        decided_code_ = 1;
    // A job whose daemons cannot start does not start.
    if (!options_.live_on || host.tasks_started < host.tasks_total)
        end_job(SIGKILL);
    for (Rank rank : options_.ranks_by_host[h])
        on_task_ended(h, rank, SIGKILL);
}

void Run::on_lost(HostIndex h) {
    Host &host = hosts_[h];
    if (!std::exchange(host.lost, false))
        return;
    report_ends();
    std::string how = "it has gone";
    if (host.reaped)
        how = WIFSIGNALED(host.wait_status) ? describe_end(host.wait_status)
                                            : fmt::format("exit code {}", WEXITSTATUS(host.wait_status));
    say("error: {}: pmixhostd failed: {}", options_.hosts[h], host.failure.empty() ? how : host.failure);
}

// --- signals to us -------------------------------------------------------------------------------

void Run::catch_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGTTIN, SIG_IGN); // reading in the background then fails, see input.cc
    auto on = [&](int number, std::function<void()> action) {
        struct sigaction now {};
        ::sigaction(number, nullptr, &now);
        if (now.sa_handler == SIG_IGN && number != SIGCHLD)
            return; // nohup(1), or a script's background job: whoever started us wants it so
        signals_.push_back(loop_.on_signal(number, std::move(action)));
    };
    on(SIGCHLD, [this] { on_children(); });
    on(SIGINT, [this] { on_interrupt(); });
    for (int number : {SIGTERM, SIGHUP, SIGQUIT})
        on(number, [this, number] { on_termination(number); });
    for (int number : {SIGUSR1, SIGUSR2})
        on(number, [this, number] { signal_tasks(number); });
    on(SIGTSTP, [this] { on_stop_request(); });
    on(SIGCONT, [this] {
        signal_tasks(SIGCONT);
        if (input_)
            input_->resume();
    });
}

// srun's way with a user at a terminal: the first Ctrl-C tells how the job is, another one within a
// second ends it, a third one at once.
void Run::on_interrupt() {
    if (phase_ == Phase::over)
        return loop_.stop(); // all that is left is output that nobody takes
    if (!::isatty(STDERR_FILENO))
        return on_termination(SIGINT);
    bool again = loop_.now() - last_interrupt_ < interrupt_window;
    last_interrupt_ = loop_.now();
    interrupts_ = again ? interrupts_ + 1 : 1;
    if (interrupts_ >= 3 || (ending_ && again)) {
        say("killing the tasks");
        return end_job(SIGKILL);
    }
    if (interrupts_ == 2) {
        say("sending Ctrl-C to the tasks");
        end_job(SIGINT);
        kill_timer_ = loop_.after(interrupt_kill_wait, [this] { end_job(SIGKILL); });
        return;
    }
    say("interrupt (one more within 1 sec to abort)");
    print_status();
}

void Run::print_status() {
    std::vector<Rank> running, starting, ended;
    for (Rank rank = 0; rank < tasks_.size(); ++rank) {
        const Task &task = tasks_[rank];
        (task.ended ? ended : task.started ? running : starting).push_back(rank);
    }
    for (auto &[ranks, state] :
         {std::pair(starting, "starting"), std::pair(running, "running"), std::pair(ended, "exited")}) {
        if (!ranks.empty())
            say("{}: {}", tasks_text(ranks), state);
    }
}

void Run::on_termination(int number) {
    if (phase_ == Phase::over)
        return loop_.stop();
    if (phase_ == Phase::closing && jobs_) // only what was spawned is left
        return finish();
    // Said twice, it is meant.
    end_job(ending_ ? SIGKILL : number);
}

void Run::on_stop_request() {
    signal_tasks(SIGTSTP);
    ::raise(SIGSTOP); // until SIGCONT, whose handler continues the tasks
}

void Run::on_children() {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
        if (jobs_ && jobs_->pid() == pid)
            jobs_.reset();
        // Any other pid is an orphan of a task.
        for (HostIndex h = 0; h < hosts_.size(); ++h) {
            Host &host = hosts_[h];
            if (host.process.pid != pid || host.reaped)
                continue;
            host.reaped = true;
            host.wait_status = status;
            on_lost(h);
        }
    }
    finish_when_reaped();
}

// --- the end -------------------------------------------------------------------------------------

void Run::signal_tasks(int number) {
    for (auto &host : hosts_) {
        if (host.channel)
            host.channel->send(local::SignalTasks{static_cast<std::uint32_t>(number), {}});
    }
}

void Run::end_job(int number) {
    if (phase_ != Phase::running || killed_)
        return;
    ending_ = true;
    if (jobs_)
        jobs_->end_jobs();
    signal_tasks(number);
    if (number != SIGKILL)
        signal_tasks(SIGCONT); // a stopped task could not act on it
    if (number == SIGKILL)
        killed_ = true;
    // SIGKILL leaves nothing to wait for but daemons that do not do as they are told.
    kill_timer_ = loop_.after(killed_ ? Duration(daemon_patience) : Duration(options_.kill_wait), [this] {
        if (!killed_)
            return end_job(SIGKILL);
        say("error: the tasks could not be ended through their daemons");
        if (!decided_code_)
            decided_code_ = 1;
        finish();
    });
}

void Run::all_tasks_ended() {
    if (phase_ != Phase::running)
        return;
    phase_ = Phase::closing;
    kill_timer_.reset();
    wait_timer_.reset();
    if (!jobs_)
        time_limit_.reset();
    // A daemon takes its leave of the others by itself once its tasks have ended. One whose tasks
    // have not all begun has nobody to serve and nothing to say that was not said.
    for (auto &host : hosts_) {
        if (!host.reaped && host.tasks_started < host.tasks_total)
            ::kill(host.process.pid, SIGKILL);
    }
    patience_ = loop_.after(leave_patience, [this] { terminate_daemons(); });
    loop_.post([this] { finish_when_reaped(); });
}

void Run::terminate_daemons() {
    for (HostIndex h = 0; h < hosts_.size(); ++h) {
        if (hosts_[h].reaped)
            continue;
        say("warning: {}: pmixhostd does not end by itself", options_.hosts[h]);
        if (hosts_[h].channel)
            hosts_[h].channel->send(local::Terminate{});
    }
    patience_ = loop_.after(daemon_patience, [this] { finish(); });
}

void Run::finish_when_reaped() {
    if (phase_ == Phase::closing && std::all_of(hosts_.begin(), hosts_.end(),
                                                [](const Host &host) { return host.reaped || host.process.pid < 0; })) {
        if (!jobs_)
            return finish();
        // What the tasks have spawned goes on, and this with it, unless the job was ended.
        if (std::exchange(jobs_wanted_over_, true))
            return;
        patience_.reset();
        jobs_->no_more();
        if (ending_)
            patience_ = loop_.after(leave_patience, [this] { finish(); });
    }
}

void Run::finish() {
    if (phase_ == Phase::over)
        return;
    phase_ = Phase::over;
    patience_.reset();
    time_limit_.reset();
    kill_timer_.reset();
    for (auto &host : hosts_)
        host.channel.reset();
    session_.reset();
    for (pid_t pid : sweep_children(sweep_limit))
        say("error: process {} does not end", pid);
    for (HostIndex h = 0; h < hosts_.size(); ++h)
        on_lost(h);
    report_ends();
    // No process of the job is left, so what the pipes hold is all there will be.
    for (auto &stream : streams_)
        stream.stream->drain();
    if (input_)
        input_->close();
    stdout_.when_empty([this] { stderr_.when_empty([this] { loop_.stop(); }); });
}

// --- output --------------------------------------------------------------------------------------

void Run::open_streams(HostIndex h) {
    for (auto &task : hosts_[h].process.streams) {
        add_stream(std::move(task.out), stdout_, task.rank);
        add_stream(std::move(task.err), stderr_, task.rank);
        if (task.in)
            input_ = std::make_unique<InputForwarder>(loop_, std::move(task.in));
    }
    hosts_[h].process.streams.clear();
}

void Run::add_stream(UniqueFd pipe, OutputSink &sink, Rank rank) {
    OutputStream::Style style;
    style.unbuffered = options_.unbuffered;
    if (options_.label) {
        std::size_t width = std::to_string(tasks_.size() - 1).size();
        style.label = fmt::format("{:>{}}: ", rank, width);
    }
    streams_.push_back({&sink, std::make_unique<OutputStream>(loop_, std::move(pipe), sink, std::move(style))});
}

void Run::resume_streams(OutputSink &sink) {
    for (auto &stream : streams_) {
        if (stream.sink == &sink)
            stream.stream->resume();
    }
}

} // namespace pmixhost
