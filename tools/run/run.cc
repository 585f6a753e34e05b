// See run.h.
#include "tools/run/run.h"

#include "common/config/config_values.h"
#include "common/process/sweep.h"
#include "common/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

namespace {

constexpr auto leave_patience = 10s; // for a daemon to end when its tasks have
constexpr auto daemon_patience = 5s; // for what it was told to be done
constexpr auto sweep_limit = 5s;
constexpr auto interrupt_kill_wait = 2s;             // after a second Ctrl-C it goes fast
constexpr std::chrono::milliseconds long_wait = 60s; // srun's: when to mention that the first task has ended
constexpr int timeout_code = 124;                    // timeout(1)'s

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

Run::Run(EventLoop &loop, const RunOptions &options)
    : loop_(loop), options_(options), streams_(loop, options), ends_(options.hosts, options.ranks_by_host),
      central_(loop, options, identity_, [this](const Error &why) { say("error: {}", why.text); }), sweep_(loop) {}

Run::~Run() {
    for (auto &host : hosts_)
        host.channel.reset();
    sweep_.stop();
    sweep_children(sweep_limit);
    identity_.remove_directories(static_cast<HostIndex>(hosts_.size()));
}

Result<void> Run::start(char *const *environment) {
    rlimit files{};
    bool has_limit = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
    // Of each task two, which its daemon has as well until that is started.
    if (auto raised = raise_descriptor_limit(ends_.left() * 4 + options_.hosts.size() * 2 + 64); !raised)
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
    hosts_.resize(options_.hosts.size());
    std::string program = pmixhostd_path();
    for (HostIndex host = 0; host < hosts_.size(); ++host) {
        if (auto started = start_host(host, program); !started)
            return error(started.failure().kind, "{}: {}", options_.hosts[host], started.failure().text);
    }
    spawner_.created(identity_.nspace, ends_.left(), hosts_.size());
    start_time_limit();
    return {};
}

Result<void> Run::start_host(HostIndex h, const std::string &program) {
    auto process = start_daemon(options_, identity_, h, program);
    if (!process)
        return process.failure();
    Host &host = hosts_[h];
    host.pid = process->pid;
    host.page = std::move(process->page);
    streams_.carry(std::move(process->streams));
    host.channel = std::make_unique<local::ControlChannel>(
        loop_, std::move(process->control),
        local::ControlChannel::Events{[this, h](local::ControlMessage message) { on_message(h, std::move(message)); },
                                      [this, h](std::string why) { on_channel_closed(h, why); }});
    return {};
}

void Run::start_time_limit() {
    if (options_.time_limit == 0ms)
        return;
    time_limit_ = loop_.after(options_.time_limit, [this] {
        say("error: the time limit of {} is reached", format_duration(options_.time_limit));
        ends_.decide(timeout_code);
        if (phase_ == Phase::running)
            end_job(SIGTERM);
        else
            end_spawned();
    });
}

int Run::exit_code() const {
    int code = ends_.exit_code();
    return code == 0 && streams_.output_is_lost() ? 1 : code;
}

// --- what the daemons say ------------------------------------------------------------------------

void Run::on_message(HostIndex h, local::ControlMessage message) {
    using namespace local;
    if (auto *started = std::get_if<TaskStarted>(&message)) {
        if (ends_.is_of(h, started->rank))
            ends_.started(started->rank);
    } else if (auto *ended = std::get_if<TaskEnded>(&message)) {
        if (ends_.is_of(h, ended->rank))
            on_task_ended(ended->rank, static_cast<int>(ended->wait_status & 0xffff));
    } else if (auto *failed = std::get_if<TaskNotStarted>(&message)) {
        if (ends_.is_of(h, failed->rank))
            ends_.not_started(failed->rank, printable(failed->text, 1000));
    } else if (auto *end = std::get_if<EndStep>(&message)) {
        if (ends_.decide(end->exit_code)) {
            report_ends();
            say("error: {}: {}", options_.hosts[h], printable(end->text, 1000));
        }
        end_job(SIGKILL);
    } else if (auto *gone = std::get_if<DaemonFailed>(&message)) {
        hosts_[h].failure = printable(gone->text, 1000);
    } else if (auto *launched = std::get_if<Launched>(&message)) {
        spawner_.launched(h, launched->status, printable(launched->text, 1000));
    } else if (std::holds_alternative<Started>(message)) {
        spawner_.first_runs();
    } else if (auto *contact = std::get_if<Contact>(&message)) {
        on_contact(h, std::move(*contact));
    } else {
        say("error: {}: its daemon sent a message that only pmixhost run sends", options_.hosts[h]);
    }
}

// The numbers after those of the hosts are the central roles'.
void Run::on_contact(HostIndex h, local::Contact contact) {
    if (contact.host >= hosts_.size()) {
        auto role = contact.host - static_cast<HostIndex>(hosts_.size());
        if (auto invited = central_.invite(role, contact.message); !invited)
            say("error: {}", invited.failure().text);
    } else if (auto &channel = hosts_[contact.host].channel) {
        channel->send(local::Contact{h, std::move(contact.message)}); // from now on it says whom it is from
    } else {
        hosts_[h].channel->send(local::Contact{contact.host, {}}); // its daemon has ended
    }
}

void Run::on_task_ended(Rank rank, int status) {
    // Ends of tasks that we ended are no news, except of those that had a code of their own.
    if (!ends_.ended(rank, status, ending_))
        return;
    streams_.task_ended(rank);
    if (!std::exchange(report_posted_, true))
        loop_.post([this] { report_ends(); });
    if (ends_.left() == 0)
        return all_tasks_ended();
    if (status != 0 && options_.kill_on_bad_exit && !ending_) {
        report_ends();
        say("error: task {} has ended badly, so the job ends (--kill-on-bad-exit)", rank);
        end_job(SIGKILL);
    }
    if (!wait_timer_)
        on_first_end();
}

void Run::on_first_end() {
    bool limited = options_.wait > 0ms;
    wait_timer_ = loop_.after(limited ? options_.wait : long_wait, [this, limited] {
        say("{}: the first task exited {} ago", limited ? "error" : "warning",
            format_duration(limited ? options_.wait : long_wait));
        if (limited)
            end_job(SIGKILL);
    });
}

void Run::report_ends() {
    report_posted_ = false;
    for (const auto &line : ends_.take_report())
        say("{}", line);
}

void Run::on_channel_closed(HostIndex h, const std::string &why) {
    Host &host = hosts_[h];
    host.channel.reset();
    if (!why.empty())
        host.failure = why;
    if (!ends_.any_left(h))
        return;
    // Its tasks die with it; those that the kernel handed to us are swept at the end.
    host.lost = true;
    if (host.failure.empty())
        host.failure = host.page->failure();
    on_children(); // it may have been waited for, or can be
    if (!host.failure.empty() || host.reaped)
        on_lost(h);
    if (!ending_)
        ends_.decide(1);
    // A job whose daemons cannot start does not start.
    if (!options_.live_on || !ends_.all_started(h))
        end_job(SIGKILL);
    for (Rank rank : options_.ranks_by_host[h])
        on_task_ended(rank, SIGKILL);
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
        on(number, [this, number] { pass_on(number); });
    on(SIGTSTP, [this] { on_stop_request(); });
    on(SIGCONT, [this] {
        pass_on(SIGCONT);
        streams_.resume_input();
    });
}

void Run::on_interrupt() {
    if (phase_ == Phase::over)
        return leave_soon();
    if (!::isatty(STDERR_FILENO))
        return on_termination(SIGINT);
    const auto means = interrupts_.next(loop_.now(), ending_);
    if (phase_ == Phase::closing && means != Interrupts::Means::tell) {
        say("{}", central_.jobs_run() && !ends_spawned_ ? "ending the jobs that the tasks have spawned"
                                                        : "ending what is left");
        return end_what_is_left();
    }
    switch (means) {
    case Interrupts::Means::kill:
        say("killing the tasks");
        return end_job(SIGKILL);
    case Interrupts::Means::end:
        say("sending Ctrl-C to the tasks");
        end_job(SIGINT);
        kill_timer_ = loop_.after(interrupt_kill_wait, [this] { end_job(SIGKILL); });
        return;
    case Interrupts::Means::tell:
        say("interrupt (one more within 1 sec to abort)");
        for (const auto &line : ends_.states())
            say("{}", line);
        if (central_.jobs_run())
            say("jobs that the tasks have spawned: running");
        return;
    }
}

void Run::on_termination(int number) {
    if (phase_ == Phase::over)
        return leave_soon();
    // Daemons that take their leave are as good as gone; for those others there is no limit.
    if (phase_ == Phase::closing && (central_.jobs_run() || streams_.user_is_slow()))
        return end_what_is_left();
    // Said twice, it is meant.
    end_job(ending_ ? SIGKILL : number);
}

// What is left of the job is killed and reported whoever is in a hurry; after that there is only output that nobody
// takes.
void Run::leave_soon() {
    if (sweep_.is_under_way())
        leaves_when_swept_ = true;
    else
        loop_.stop();
}

void Run::on_stop_request() {
    pass_on(SIGTSTP);
    ::raise(SIGSTOP); // until SIGCONT, whose handler continues the tasks
}

void Run::on_children() {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
        central_.child_ended(pid);
        // Any other pid is an orphan of a task; and what ends when all is over was killed by us.
        for (HostIndex h = 0; h < hosts_.size() && phase_ != Phase::over; ++h) {
            Host &host = hosts_[h];
            if (host.pid != pid || host.reaped)
                continue;
            host.reaped = true;
            host.wait_status = status;
            on_lost(h);
        }
    }
    finish_when_reaped();
}

// --- the end -------------------------------------------------------------------------------------

void Run::signal_tasks(int number, bool ends) {
    for (auto &host : hosts_) {
        if (host.channel)
            host.channel->send(
                local::SignalTasks{static_cast<std::uint32_t>(number), {}, static_cast<std::uint8_t>(ends)});
    }
}

void Run::end_job(int number) {
    if (phase_ != Phase::running || killed_)
        return;
    ending_ = true;
    central_.end_jobs();
    signal_tasks(number, true);
    if (number != SIGKILL)
        pass_on(SIGCONT); // a stopped task could not act on it
    if (number == SIGKILL)
        killed_ = true;
    // SIGKILL leaves nothing to wait for but daemons that do not do as they are told.
    kill_timer_ = loop_.after(killed_ ? Duration(daemon_patience) : Duration(options_.kill_wait), [this] {
        if (!killed_)
            return end_job(SIGKILL);
        say("error: the tasks could not be ended through their daemons");
        ends_.decide(1);
        finish();
    });
}

void Run::all_tasks_ended() {
    if (phase_ != Phase::running)
        return;
    phase_ = Phase::closing;
    kill_timer_.reset();
    wait_timer_.reset();
    if (!central_.jobs_run())
        time_limit_.reset();
    // A daemon takes its leave of the others by itself once its tasks have ended; until then it may hold what they
    // wrote (io.capture). One of whose tasks none has begun has nobody to serve and nothing to say that was not said.
    for (HostIndex h = 0; h < hosts_.size(); ++h) {
        if (!hosts_[h].reaped && ends_.none_started(h))
            ::kill(hosts_[h].pid, SIGKILL);
    }
    patience_ = loop_.after(leave_patience, [this] { terminate_daemons(); });
    loop_.post([this] { finish_when_reaped(); });
}

void Run::terminate_daemons() {
    // A daemon that stands between the tasks and us (io.capture) stays as long as we do not take what they wrote.
    if (streams_.user_is_slow()) {
        patience_ = loop_.after(leave_patience, [this] { terminate_daemons(); });
        return;
    }
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
    if (phase_ != Phase::closing ||
        !std::all_of(hosts_.begin(), hosts_.end(), [](const Host &host) { return host.reaped || host.pid < 0; }))
        return;
    if (!central_.jobs_run())
        return finish();
    // What the tasks have spawned goes on, and this with it, unless the job was ended.
    if (std::exchange(waits_for_spawned_, true))
        return;
    patience_.reset();
    central_.no_more_jobs();
    if (ending_)
        patience_ = loop_.after(leave_patience, [this] { finish(); });
}

// As whoever orders the end of a run does: their own runs end their tasks and remove what is theirs.
void Run::end_spawned() {
    ends_spawned_ = true;
    ending_ = true;
    central_.end_jobs();
    patience_ = loop_.after(leave_patience, [this] { finish(); });
}

void Run::end_what_is_left() {
    if (central_.jobs_run() && !ends_spawned_)
        end_spawned();
    else
        finish();
}

void Run::finish() {
    if (phase_ == Phase::over)
        return;
    phase_ = Phase::over;
    patience_.reset();
    time_limit_.reset();
    kill_timer_.reset();
    wait_timer_.reset();
    for (auto &host : hosts_)
        host.channel.reset();
    central_.end_session();
    sweep_.start(sweep_limit, [this](const std::vector<pid_t> &left) { on_swept(left); });
}

void Run::on_swept(const std::vector<pid_t> &left) {
    for (pid_t pid : left)
        say("error: process {} does not end", pid);
    for (HostIndex h = 0; h < hosts_.size(); ++h)
        on_lost(h);
    report_ends();
    streams_.finish([this] { loop_.stop(); });
    if (leaves_when_swept_)
        loop_.stop();
}

} // namespace pmixhost
