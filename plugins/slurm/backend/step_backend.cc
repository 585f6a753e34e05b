// See step_backend.h.
#include "plugins/slurm/backend/step_backend.h"

#include "common/loop/slow_calls.h"
#include "common/loop/worker.h"
#include "common/process/program_beside.h"
#include "plugins/kit/contact_sender.h"
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/allocations.h"
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/backend/job_record.h"
#include "plugins/slurm/backend/rm_answers.h"
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/backend/step_ender.h"
#include "plugins/slurm/backend/step_output.h"
#include "plugins/slurm/steps/session_step.h"
#include "server-glue/rm/job_record.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/rm/user_notes.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <poll.h>

namespace pmixhost::slurm {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds report_limit = 2s;
constexpr std::size_t max_questions = 64; // that wait for slurmctld
constexpr std::size_t max_notes = 100;    // that wait for srun
// For srun to hear why its step ends, and for slurmctld to hear that it shall, from a daemon that leaves.
constexpr Duration last_words = 5s;

class SlurmBackend final : public RmBackend,
                           private RmQuestions,
                           private RmAllocations,
                           private RmJobRecord,
                           private RmUserNotes,
                           private RmRoles,
                           private RmSpawnedStep {
  public:
    SlurmBackend(BackendContext context, SlurmStep step)
        : loop_(context.loop), log_(context.log), step_(std::move(step)), family_(family_of(step_.info.shared_secret)),
          lifeline_(step_.lifeline_fd), output_(loop_, UniqueFd(step_.output_fd)) {}

    const StepInfo &step() const override { return step_.info; }
    RmQuestions *questions() override { return this; }
    RmAllocations *allocations() override { return this; }
    RmJobRecord *job_record() override { return this; }
    RmUserNotes *user_notes() override { return this; }
    RmRoles *roles() override { return this; }
    RmSpawnedStep *spawned_step() override { return this; }
    RmStepOutput *step_output() override { return &output_; }

    Result<void> start(BackendListener &listener) override {
        listener_ = &listener;
        auto path = path_of(step_.info.self);
        if (!path)
            return path.failure();
        auto socket = ContactSocket::open(loop_, log_, *path,
                                          [this](std::string message) { listener_->on_contact(std::move(message)); });
        if (!socket)
            return socket.failure();
        contacts_ = std::move(*socket);
        if (auto proves = can_prove(); !proves)
            return proves;
        if (lifeline_)
            lifeline_watch_ = loop_.watch(lifeline_.get(), EventLoop::readable, [this](unsigned) {
                lifeline_watch_.reset();
                listener_->on_rm_gone("slurmstepd has ended");
            });
        prepare_running_report();
        return {};
    }

    void send_contact(HostIndex host, std::string message, bool has_begun, TimePoint deadline,
                      std::function<void(Result<void>)> done) override {
        if (host >= step_.node_of.size())
            return fail(std::move(done), error(ErrorKind::not_found, "there is no host {}", host));
        if (message.size() > max_contact)
            return fail(std::move(done), error(ErrorKind::limit, "a contact message of {} bytes", message.size()));
        auto path = path_of(host);
        if (!path)
            return fail(std::move(done), path.failure());
        sender().send({step_.node_of[host], std::move(*path), std::move(message), deadline, has_begun},
                      std::move(done));
    }

    void reach(CentralRole role, std::string invitation, TimePoint start_after, TimePoint deadline,
               std::function<void(Result<void>)> done) override {
        if (role == CentralRole::launcher) {
            if (!step_.report)
                return fail(std::move(done), error(ErrorKind::unreachable, "srun gave no address"));
            return to_srun({kit::StarterMessage::Kind::invitation, 0, std::move(invitation)}, std::move(done));
        }
        auto path = session_path(step_.contacts, geteuid(), step_.leader_job, family_);
        if (!path)
            return fail(std::move(done), path.failure());
        sender().send({step_.session_node, std::move(*path), std::move(invitation), deadline, false, start_after,
                       [this] { return start_one_session(); }},
                      std::move(done));
    }

    bool calls_steps() const override { return true; }

    void end_step(StepEnd end, std::function<void(Result<void>)> done) override {
        if (!ender_)
            ender_.emplace(loop_, log_, ender_calls());
        ender_->end(std::move(end), std::move(done));
    }

    void tell_user(UserNote note, std::function<void(Result<void>)> done) override {
        note_to_srun({kit::StarterMessage::Kind::note, static_cast<int>(note.subject), std::move(note.line)},
                     std::move(done));
    }

    void offer_tools(std::string offer, std::function<void(Result<void>)> done) override {
        note_to_srun({kit::StarterMessage::Kind::tools, 0, std::move(offer)}, std::move(done));
    }

    void report_launch(LaunchReport report, std::function<void(Result<void>)> done) override {
        if (!step_.report)
            return loop_.post([done] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        if (report.status == 0 && running_report_) {
            if (running_report_->send())
                return loop_.post([done] { done({}); });
            running_report_.reset(); // its connections are closed
        }
        if (report.status == 0)
            report.text = std::to_string(step_.info.self); // srun waits for all hosts
        to_srun({kit::StarterMessage::Kind::launched, report.status, std::move(report.text)}, std::move(done));
    }

    void report_start(std::function<void(Result<void>)> done) override {
        if (!step_.report)
            return loop_.post([done] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        to_srun({kit::StarterMessage::Kind::started, 0, {}}, std::move(done));
    }

    void report_ends(std::string line, bool last, std::function<void(Result<void>)> done) override {
        if (!step_.report)
            return loop_.post([done] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        to_srun({kit::StarterMessage::Kind::ended, last ? 1 : 0, std::move(line)}, std::move(done));
    }

    void ask(RmQuestion question, TimePoint deadline, std::function<void(Result<RmAnswer>)> done) override {
        if (!asker_)
            asker_.emplace(loop_, max_questions);
        std::string name = fmt::format("{} {}", static_cast<int>(question.kind), question.allocation);
        asker_->run(
            std::move(name), deadline,
            [question = std::move(question), job = step_.leader_job] {
                initialise_slurm();
                return ask_slurm(question, job);
            },
            std::move(done));
    }

    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done) override {
        bool own = request.allocation.empty() || request.allocation == std::to_string(step_.leader_job);
        if (own && request.kind != RmAllocation::Kind::create && step_.jobs.size() > 1)
            return loop_.post([done = std::move(done)] {
                done(error(ErrorKind::unsupported, "a heterogeneous job cannot be changed"));
            });
        if (!allocations_)
            allocations_.emplace(loop_, log_, step_.leader_job,
                                 allocation_calls(initialise_slurm, steps_that_hold_hosts));
        allocations_->allocate(id, std::move(request), deadline, std::move(done));
    }
    void abandon_allocation(std::uint64_t id) override {
        if (allocations_)
            allocations_->abandon(id);
    }
    bool is_submitting() const override { return allocations_ && allocations_->is_submitting(); }

    void record(std::string line, TimePoint deadline, std::function<void(Result<void>)> done) override {
        if (loop_.now() < record_full_until_)
            return loop_.post([done = std::move(done)] { done(error(ErrorKind::limit, "the job's comment is full")); });
        if (!recorder_)
            recorder_.emplace(loop_, max_questions);
        recorder_->run(
            line, deadline,
            [line, job = step_.leader_job] { return append_to_comment(line, comment_calls(job, initialise_slurm)); },
            [this, done = std::move(done)](Result<void> recorded) {
                if (!recorded && recorded.failure().kind == ErrorKind::limit)
                    record_full_until_ = loop_.now() + 1min;
                done(std::move(recorded));
            });
    }

    void stop() override {
        allocations_.reset();
        lifeline_watch_.reset();
        output_.stop();
        contacts_.reset();
        sender_.reset();
        // What ends the step comes first.
        TimePoint limit = loop_.now() + last_words;
        auto finish = [&](auto &calls) {
            bool finished = !calls || calls->finish(std::max(limit - loop_.now(), Duration::zero()));
            calls.reset();
            return finished;
        };
        bool ended = finish(ender_), told = finish(messenger_), noted = finish(notes_);
        if (!ended || !told || !noted)
            log_.warning("slurmctld or srun has not answered within {} s; the daemon leaves",
                         std::chrono::duration_cast<std::chrono::seconds>(last_words).count());
        reporter_.reset();
        asker_.reset();
        recorder_.reset();
    }

  private:
    // Else the step would fail late, and in words that name anything but munge. Once tasks have passed the door nobody
    // could say it any more: a daemon's report to srun is sealed with munge, and only who waits at the door can do
    // without (plugins/kit/unproved_note.h). It comes behind the contact socket, which other hosts find meanwhile.
    Result<void> can_prove() const {
        if (step_.node_of.size() <= 1 || !step_.info.shared_secret.empty())
            return {};
        kit::MungeSealer munge;
        if (auto can = kit::can_seal(munge); !can)
            return error(
                can.failure().kind,
                "{}. It works where srun runs, and then all hosts of a step prove with it: start munged on all "
                "hosts, with one key and in its usual socket, or use one host",
                can.failure().text);
        return {};
    }

    StepEnder::Calls ender_calls() const {
        StepEnder::Calls calls;
        if (step_.report)
            calls.report = [target = *step_.report, secret = step_.info.shared_secret](const StepEnd &end) {
                return kit::send_to_starter(target, kit::ExitReport{end.exit_status, end.text}.message(),
                                            *kit::make_sealer(secret), report_limit);
            };
        calls.kill = [jobs = step_.jobs, step = step_.name.step_id] { return kill_steps(jobs, step); };
        return calls;
    }

    // The programs of a step whose launch is told may end as soon as they run, and this daemon with them: the report
    // that they ran goes out at once.
    void prepare_running_report() {
        if ((!step_.info.parent && !step_.info.tells_launch) || !step_.report)
            return;
        reporter_.emplace(loop_);
        reporter_->run(
            [target = *step_.report, self = step_.info.self, secret = step_.info.shared_secret] {
                return kit::ReadyMessage::prepare(target,
                                                  {kit::StarterMessage::Kind::launched, 0, std::to_string(self)},
                                                  *kit::make_sealer(secret), report_limit);
            },
            [this](Result<kit::ReadyMessage> ready) {
                if (ready)
                    running_report_ = std::move(*ready);
                else
                    log_.warning("{}", ready.failure().text);
            });
    }

    auto sending_to_srun(kit::StarterMessage message) const {
        return [target = *step_.report, message = std::move(message), secret = step_.info.shared_secret] {
            return kit::send_to_starter(target, message, *kit::make_sealer(secret), report_limit);
        };
    }

    void to_srun(kit::StarterMessage message, std::function<void(Result<void>)> done) {
        if (!messenger_)
            messenger_.emplace(loop_);
        messenger_->run(sending_to_srun(std::move(message)), std::move(done));
    }

    // Each may take a moment, and there may be many: nothing else waits behind them.
    void note_to_srun(kit::StarterMessage message, std::function<void(Result<void>)> done) {
        if (!step_.report)
            return loop_.post(
                [done = std::move(done)] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        if (!notes_)
            notes_.emplace(loop_, max_notes);
        notes_->run_alone(TimePoint::max(), sending_to_srun(std::move(message)), std::move(done));
    }

    Result<std::string> path_of(HostIndex host) const {
        return contact_path(step_.contacts, geteuid(), step_.leader_job, step_.name.step_id, host, family_);
    }

    // Each host has one message at a time, and so has the session.
    kit::ContactSender &sender() {
        if (!sender_)
            sender_.emplace(loop_, log_, 2 * step_.node_of.size() + max_questions, forward_to_node);
        return *sender_;
    }

    // One srun of ours at a time: it may have to wait for slurmctld.
    Result<void> start_one_session() {
        pollfd running{session_srun_.get(), POLLIN, 0};
        if (session_srun_ && ::poll(&running, 1, 0) == 0)
            return {};
        auto started = start_session({step_.leader_job, step_.session_node, step_.contacts, step_.info.shared_secret},
                                     step_.settings, program_beside("pmixhostd"));
        if (!started)
            return started.failure();
        session_srun_ = std::move(*started);
        return {};
    }

    // Never from within the call.
    void fail(std::function<void(Result<void>)> done, Result<void> failure) {
        loop_.post([done = std::move(done), failure] { done(failure); });
    }

    EventLoop &loop_;
    Log &log_;
    SlurmStep step_;
    std::string family_; // contact_socket.h
    BackendListener *listener_ = nullptr;
    UniqueFd lifeline_;
    EventLoop::Handle lifeline_watch_;
    StepOutput output_;
    std::unique_ptr<ContactSocket> contacts_;
    std::optional<StepEnder> ender_;
    std::optional<Worker> messenger_, reporter_; // to srun
    std::optional<SlowCalls> notes_;             // likewise
    std::optional<kit::ContactSender> sender_;
    std::optional<SlowCalls> asker_, recorder_;
    TimePoint record_full_until_{};
    std::optional<Allocations> allocations_;
    std::optional<kit::ReadyMessage> running_report_;
    UniqueFd session_srun_; // its pidfd
};

} // namespace

Result<std::unique_ptr<RmBackend>> create_step_backend(BackendContext context) {
    auto step = read_start_document(context.document, context.settings);
    if (!step)
        return step.failure();
    return std::unique_ptr<RmBackend>(std::make_unique<SlurmBackend>(context, std::move(*step)));
}

} // namespace pmixhost::slurm
