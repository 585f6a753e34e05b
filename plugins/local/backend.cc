// The local backend: virtual hosts on one machine, each a pmixhostd that `pmixhost run` has
// started. It starts its host's tasks itself and reaches the other hosts' daemons and the user
// through the control channel to `pmixhost run`. Nothing outlives that channel. This machine has neither queues
// nor allocations nor a record of jobs; and `pmixhost run` sees for itself what there is to say to the user.
#include "common/local/local_control.h"
#include "common/process/child_sweep.h"
#include "common/process/sweep.h"
#include "common/transport/invitation.h"
#include "plugins/local/start.h"
#include "plugins/local/starter.h"
#include "plugins/local/task_pipes.h"
#include "plugins/local/tasks.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/spawned_step.h"

#include <csignal>
#include <list>
#include <unordered_map>

namespace pmixhost::local {

namespace {

using namespace std::chrono_literals;

// Descendants of tasks that lost their parent are this process's to wait for.
constexpr auto reap_interval = 5s;
constexpr auto sweep_limit = 3s;

class LocalBackend final : public RmBackend, private RmRoles, private RmSpawnedStep {
  public:
    LocalBackend(BackendContext context, LocalStart start)
        : loop_(context.loop), log_(context.log), start_(std::move(start)),
          tasks_(loop_, {[this](Rank rank, pid_t pid) { on_started(rank, pid); },
                         [this](Rank rank, int code, std::string why) {
                             tell(TaskNotStarted{rank, static_cast<std::uint8_t>(code), why});
                         },
                         [this](Rank rank, int status) { on_ended(rank, status); }, on_exec_report()}),
          sweep_(loop_) {}

    const StepInfo &step() const override { return start_.step; }
    RmRoles *roles() override { return this; }
    RmSpawnedStep *spawned_step() override { return this; }

    Result<void> start(BackendListener &listener) override {
        listener_ = &listener;
        adopt_orphans();
        channel_.emplace(loop_, std::move(start_.control),
                         ControlChannel::Events{[this](ControlMessage message) { on_message(std::move(message)); },
                                                [this](std::string why) { on_launcher_gone(std::move(why)); }});
        for (const auto &fault : start_.faults)
            arm(fault);
        left_ = start_.tasks.size();
        for (std::size_t i = 0; i < start_.tasks.size(); ++i) {
            listener.want_environment(start_.tasks[i].rank, [this, i](Result<std::vector<std::string>> environment) {
                start_task(i, std::move(environment));
            });
        }
        reap_later();
        return {};
    }

    void send_contact(HostIndex host, std::string message, bool, TimePoint,
                      std::function<void(Result<void>)> done) override {
        // Answered from the loop, never from within the call.
        auto answer = [this, done = std::move(done)](Result<void> result) {
            loop_.post([done, result = std::move(result)] { done(result); });
        };
        if (message.size() > contact_limit)
            return answer(error(ErrorKind::limit, "a contact message of {} bytes", message.size()));
        if (host >= start_.step.map.host_count())
            return answer(error(ErrorKind::not_found, "a contact message for host {}", host));
        trip_at_contact();
        if (drops_ > 0) {
            --drops_;
            return answer({}); // lost on the way, as far as the daemon knows
        }
        if (delay_ > 0ms) {
            delayed_.push_back(loop_.after(delay_, [this, host, message] { tell(Contact{host, message}); }));
            return answer({});
        }
        if (!tell(Contact{host, std::move(message)}))
            return answer(error(ErrorKind::unreachable, "pmixhost run has ended"));
        answer({});
    }

    void reach(CentralRole role, std::string invitation, TimePoint, TimePoint,
               std::function<void(Result<void>)> done) override {
        auto invite = Invitation::decode(invitation);
        Result<void> result;
        if (!invite) {
            result = invite.failure();
        } else {
            invite->secret = start_.step.shared_secret; // this channel is private
            HostIndex peer = peer_of(role, start_.step.map.host_count());
            if (!tell(Contact{peer, wire::encode(*invite)}))
                result = error(ErrorKind::unreachable, "pmixhost run has ended");
        }
        loop_.post([done = std::move(done), result = std::move(result)] { done(result); });
    }

    bool calls_steps() const override { return false; }

    void report_launch(LaunchReport report, std::function<void(Result<void>)> done) override {
        bool told = tell(Launched{report.status, std::move(report.text)});
        loop_.post([done = std::move(done), told] {
            done(told ? Result<void>() : error(ErrorKind::unreachable, "pmixhost run has ended"));
        });
    }

    void report_start(std::function<void(Result<void>)> done) override {
        bool told = tell(Started{});
        loop_.post([done = std::move(done), told] {
            done(told ? Result<void>() : error(ErrorKind::unreachable, "pmixhost run has ended"));
        });
    }

    // No debugger starts `pmixhost run` by PMIx_Spawn and waits for it.
    void report_ends(std::string, bool, std::function<void(Result<void>)> done) override {
        loop_.post([done = std::move(done)] { done(error(ErrorKind::unsupported, "nobody hears of ends")); });
    }

    void end_step(StepEnd end, std::function<void(Result<void>)> done) override {
        bool told = tell(EndStep{static_cast<std::uint8_t>(end.exit_status), std::move(end.text)});
        loop_.post([done = std::move(done), told] {
            done(told ? Result<void>() : error(ErrorKind::unreachable, "pmixhost run has ended"));
        });
    }

    void stop() override {
        // The daemon may have heard of a task's end before this backend, and leave because of it.
        leaving_ = true;
        tasks_.settle();
        reaper_.reset();
        timers_.clear();
        delayed_.clear();
        stopped_ = true;
        tasks_.stop();
        sweep_.stop();
        for (pid_t pid : sweep_children(sweep_limit)) // the loop has ended
            log_.error("process {} does not end", pid);
        channel_.reset();
    }

  private:
    // Only a spawned job has somebody who wants to know.
    decltype(Tasks::Events::on_exec_report) on_exec_report() {
        if (!start_.step.parent)
            return nullptr;
        return [this](Rank rank, ExecWords words) {
            if (!leaving_)
                listener_->on_exec_report(rank, std::move(words));
        };
    }

    bool tell(ControlMessage message) { return channel_ && channel_->send(std::move(message)); }

    // --- tasks ---
    void start_task(std::size_t index, Result<std::vector<std::string>> environment) {
        if (stopped_)
            return;
        TaskSpec task = std::move(start_.tasks[index]);
        Rank rank = task.rank;
        hand_over_streams(task);
        if (ended_by_ != 0)
            return on_ended(rank, ended_by_);
        if (!environment)
            return not_started(rank, environment.failure());
        auto started =
            tasks_.start(std::move(task), task_environment(rank, *environment), start_.cwd, start_.open_files);
        if (!started)
            not_started(rank, started.failure());
    }

    // Also of a task that is not started: who follows it hears the end of its streams.
    void hand_over_streams(TaskSpec &task) {
        if (!listener_->wants_streams())
            return;
        auto taken = stand_between(task);
        if (!taken)
            log_.warning("the standard streams of rank {} stay with it: {}", task.rank, taken.failure().text);
        listener_->take_streams(task.rank, taken ? std::move(*taken) : TaskDescriptors());
    }

    void not_started(Rank rank, const Error &why) {
        tell(TaskNotStarted{rank, 1, why.text});
        on_ended(rank, 1 << 8);
    }

    // Later variables replace earlier ones of the same name.
    std::vector<std::string> task_environment(Rank rank, const std::vector<std::string> &pmix) {
        std::vector<std::string> out;
        std::unordered_map<std::string, std::size_t> place;
        auto put = [&](const std::vector<std::string> &variables) {
            for (const auto &entry : variables) {
                bool unless_there = entry.starts_with('?'); // contrib/doc/task-door.md
                std::string variable = entry.substr(unless_there ? 1 : 0);
                std::string name = variable.substr(0, variable.find('='));
                auto [known, fresh] = place.emplace(std::move(name), out.size());
                if (fresh)
                    out.push_back(variable);
                else if (!unless_there)
                    out[known->second] = variable;
            }
        };
        put(mpi_variables(start_));
        put(start_.task_env);
        put(pmix);
        put(identity_variables(start_.step, rank));
        return out;
    }

    void on_started(Rank rank, pid_t pid) {
        tell(TaskStarted{rank, static_cast<std::uint32_t>(pid)});
        if (!leaving_)
            listener_->on_task_started(rank, pid);
    }

    void on_ended(Rank rank, int status) {
        tell(TaskEnded{rank, static_cast<std::uint32_t>(status)});
        if (leaving_)
            return;
        --left_;
        listener_->on_task_ended(rank, status); // others may be waiting for this rank
        if (left_ == 0 && !stopped_)
            sweep();
    }

    // What the tasks left behind does not outlive the step, as under an RM. Tasks lead groups of their own; what is in
    // the daemon's is its own, and still has something to do (output_copies.h).
    void sweep() {
        auto is_own = [](pid_t pid) { return ::getpgid(pid) == ::getpgrp(); };
        auto swept = [this](std::vector<pid_t> left) {
            for (pid_t pid : left)
                log_.error("process {}, left behind by a task, does not end", pid);
            if (ending_)
                finish();
        };
        sweep_.start(sweep_limit, swept, is_own);
    }

    void reap_later() {
        reaper_ = loop_.after(reap_interval, [this] {
            reap_orphans(tasks_.pids());
            reap_later();
        });
    }

    // --- the launcher ---
    void on_message(ControlMessage message) {
        if (auto *contact = std::get_if<Contact>(&message)) {
            trip_at_contact();
            if (contact->message.empty())
                listener_->on_daemon_left(contact->host);
            else
                listener_->on_contact(std::move(contact->message));
        } else if (auto *signal = std::get_if<SignalTasks>(&message)) {
            on_signal(*signal);
        } else if (std::get_if<Terminate>(&message)) {
            end("pmixhost run has ended the step");
        } else {
            log_.warning("pmixhost run sent a message that only a daemon sends");
        }
    }

    void on_signal(const SignalTasks &order) {
        if (order.signal == 0 || order.signal >= NSIG)
            return;
        int number = static_cast<int>(order.signal);
        // Whether it is an end the sender says: what a signal means to a program is the program's.
        if (order.ends && order.ranks.empty())
            ended_by_ = number;
        tasks_.signal(number, order.ranks);
    }

    void on_launcher_gone(std::string why) {
        end(why.empty() ? "pmixhost run is gone" : "pmixhost run cannot be reached: " + why);
    }

    // The tasks first, then the daemon.
    void end(std::string why) {
        if (ending_)
            return;
        ending_ = true;
        why_ = std::move(why);
        ended_by_ = SIGKILL;
        tasks_.signal(SIGKILL, {});
        if (left_ == 0 && !sweep_.is_under_way())
            loop_.post([this] { finish(); });
    }

    void finish() {
        if (std::exchange(finished_, true) || stopped_)
            return;
        listener_->on_rm_gone(why_);
    }

    // --- faults on demand ---
    void arm(const Fault &fault) {
        int signal = fault.kind == Fault::Kind::stop ? SIGSTOP : SIGKILL;
        switch (fault.kind) {
        case Fault::Kind::kill:
        case Fault::Kind::stop:
            if (fault.after)
                timers_.push_back(loop_.after(*fault.after, [signal] { ::kill(::getpid(), signal); }));
            else
                at_contact_ = signal;
            break;
        case Fault::Kind::drop_contact:
            drops_ = fault.count;
            break;
        case Fault::Kind::delay_contact:
            delay_ = fault.by;
            break;
        case Fault::Kind::link_drop:
        case Fault::Kind::link_delay:
            break; // the mesh's (StepInfo::link_faults)
        }
    }
    void trip_at_contact() {
        if (int signal = std::exchange(at_contact_, 0))
            ::kill(::getpid(), signal);
    }

    EventLoop &loop_;
    Log &log_;
    LocalStart start_;
    BackendListener *listener_ = nullptr;
    std::optional<ControlChannel> channel_;
    Tasks tasks_;
    ChildSweep sweep_;
    std::size_t left_ = 0; // tasks that have not ended, started or not
    int ended_by_ = 0;     // the signal with which all of them are to end, once there was one
    bool ending_ = false, finished_ = false, stopped_ = false;
    std::string why_;
    bool leaving_ = false; // the listener is not called any more
    EventLoop::Handle reaper_;

    int at_contact_ = 0;
    std::uint32_t drops_ = 0;
    std::chrono::milliseconds delay_{0};
    std::list<EventLoop::Handle> timers_, delayed_;
};

Result<std::unique_ptr<RmBackend>> create(BackendContext context) {
    auto start = parse_local_start(context.document);
    if (!start)
        return start.failure();
    return std::unique_ptr<RmBackend>(std::make_unique<LocalBackend>(context, std::move(*start)));
}

} // namespace

} // namespace pmixhost::local

extern "C" {
extern __attribute__((visibility("default"))) const pmixhost::BackendModule pmixhost_backend;
constinit const pmixhost::BackendModule pmixhost_backend{
    pmixhost::BackendModule::current_abi,
    "local",
    pmixhost::facets(pmixhost::Facet::roles, pmixhost::Facet::spawned_step),
    pmixhost::local::create,
    nullptr,
    pmixhost::local::create_starter,
    nullptr, // all hosts are this one
    nullptr,
    nullptr,
    nullptr,
    nullptr};
}
