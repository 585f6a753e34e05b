// The Slurm backend: what pmixhostd asks of Slurm once a step runs. Calls into libslurm block, and
// so happen in threads of their own (contact messages, questions, ending the step), which are
// started when first needed: a supervisor that only wants to end the step creates a backend and
// never starts it.
#include "common/base/small_file.h"
#include "common/loop/slow_calls.h"
#include "common/loop/worker.h"
#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "common/text/shell_words.h"
#include "plugins/kit/contact_sender.h"
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/call_step.h"
#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/backend/job_record.h"
#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/backend/lobby.h"
#include "plugins/slurm/backend/own_steps.h"
#include "plugins/slurm/backend/rm_answers.h"
#include "plugins/slurm/backend/step_caller.h"
#include "plugins/slurm/backend/step_output.h"
#include "plugins/slurm/shim/prefork.h"
#include "plugins/slurm/shim/slurm_abi.h"
#include "plugins/slurm/shim/task_map.h"
#include "plugins/slurm/steps/session_step.h"
#include "plugins/slurm/steps/spawn_command.h"
#include "server-glue/rm/job_record.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/rm/user_notes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <poll.h>

namespace pmixhost::slurm {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds report_limit = 2s;
constexpr std::size_t max_questions = 64; // that wait for slurmctld
// For srun to hear why its step ends, and for slurmctld to hear that it shall, from a daemon that leaves.
constexpr Duration last_words = 5s;

// libslurm reads slurm.conf once per process.
void initialise_slurm() {
    static std::once_flag once;
    std::call_once(once, [] { slurm_init(nullptr); });
}

char *slurm_string(const std::string &text) {
    auto *copy = static_cast<char *>(slurm_xcalloc(1, text.size() + 1, true, false, __FILE__, __LINE__, __func__));
    std::memcpy(copy, text.data(), text.size());
    return copy;
}

// Blocks for up to Slurm's message timeout.
Result<void> forward(const std::string &node, std::string address, const std::string &message) {
    initialise_slurm();
    char *nodes = slurm_string(node);
    int code = slurm_forward_data(&nodes, address.data(), static_cast<std::uint32_t>(message.size()), message.data());
    slurm_xfree(reinterpret_cast<void **>(&nodes));
    // slurmd's own answer; when it cannot be reached itself, the code is one of Slurm's.
    if (code == ENOENT || code == ECONNREFUSED)
        return error(ErrorKind::not_found, "there is no daemon on {}", node);
    if (code != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "the daemon on {} cannot be reached through slurmd: {}", node,
                     slurm_strerror(code));
    return {};
}

// Blocks while slurmctld does not answer. Slurm knows a step whose tasks have ended no longer.
Result<void> kill_steps(const std::vector<std::uint32_t> &jobs, std::uint32_t step) {
    initialise_slurm();
    Result<void> result;
    bool killed = false;
    for (std::uint32_t job : jobs) {
        errno = 0;
        int code = kill_job_step(job, step, SIGKILL);
        int why = errno;
        if (code == SLURM_SUCCESS || why == ESLURM_INVALID_JOB_ID || why == ESLURM_ALREADY_DONE)
            killed = true;
        else
            result = error(ErrorKind::unreachable, "step {}.{} cannot be ended: {}", job, step, slurm_strerror(why));
    }
    return killed ? Result<void>() : result;
}

// Of a job, or NO_VAL: of all. Those that are no programs of srun (batch, extern, interactive) are left out.
Result<std::vector<StepOfJob>> steps_of(std::uint32_t job) {
    initialise_slurm();
    job_step_info_response_msg_t *answer = nullptr;
    if (get_job_steps(job, &answer) != SLURM_SUCCESS)
        return error(errno == ESLURM_INVALID_JOB_ID ? ErrorKind::not_found : ErrorKind::unreachable,
                     "the steps of {} cannot be looked up: {}",
                     job == NO_VAL ? std::string("all jobs") : fmt::format("job {}", job), slurm_strerror(errno));
    std::vector<StepOfJob> steps;
    for (std::uint32_t i = 0; i < answer->job_step_count; ++i) {
        const job_step_info_t &step = answer->job_steps[i];
        auto nodes = expand_host_list(step.nodes ? step.nodes : "", TaskMap::max_hosts);
        if (step.step_id.step_id > SLURM_MAX_NORMAL_STEP_ID || !nodes || nodes->empty())
            continue;
        steps.push_back({step.step_id.job_id, {step.step_id.step_id, step.name ? step.name : "", std::move(*nodes)}});
    }
    slurm_free_job_step_info_response_msg(answer);
    return steps;
}

Result<std::vector<RunningStep>> running_steps(std::uint32_t job) {
    auto found = steps_of(job);
    if (!found)
        return found.failure();
    std::vector<RunningStep> steps;
    for (auto &one : *found)
        steps.push_back(std::move(one.step));
    return steps;
}

// Suspended ones among them, whose processes are there.
Result<std::vector<OwnJob>> running_jobs() {
    initialise_slurm();
    job_info_msg_t *answer = nullptr;
    if (slurm_load_job_user(&answer, geteuid(), SHOW_ALL) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "your jobs cannot be looked up: {}", slurm_strerror(errno));
    LoadedJobs loaded(answer);
    std::vector<OwnJob> jobs;
    for (std::uint32_t i = 0; i < loaded->record_count; ++i) {
        auto &job = loaded->job_array[i];
        auto state = job.job_state & JOB_STATE_BASE;
        if (job.user_id != geteuid() || (state != JOB_RUNNING && state != JOB_SUSPENDED))
            continue;
        bool of_het_job = job.het_job_id != 0 && job.het_job_id != NO_VAL;
        jobs.push_back({job_number(job), of_het_job ? job.het_job_id : job_number(job)});
    }
    return jobs;
}

// pmixhostd's own path: what serves the session must be of the same build.
std::string own_program() {
    std::error_code failed;
    auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? PMIXHOST_LIBEXECDIR "/pmixhostd" : path.string();
}

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
            ender_.emplace(loop_);
        std::optional<kit::StarterAddress> report;
        if (!reported_)
            report = step_.report;
        reported_ = true;
        ender_->run(
            [report, end = std::move(end), jobs = step_.jobs, step = step_.name.step_id,
             secret = step_.info.shared_secret]() -> Result<StepEnded> {
                StepEnded ended;
                if (report) {
                    auto sent = kit::send_to_starter(*report, kit::ExitReport{end.exit_status, end.text}.message(),
                                                     *kit::make_sealer(secret), report_limit);
                    if (!sent)
                        ended.unheard =
                            fmt::format("srun does not hear why the step ends ({}): {}", sent.failure().text, end.text);
                }
                ended.killed = kill_steps(jobs, step);
                return ended;
            },
            [this, done = std::move(done), alive = std::weak_ptr(alive_)](Result<StepEnded> ended) {
                if (ended && !ended->unheard.empty())
                    log_.warning("{}", ended->unheard);
                done(ended ? ended->killed : ended.failure());
                if (!alive.expired())
                    kill_again();
            });
    }

    void tell_user(UserNote note, std::function<void(Result<void>)> done) override {
        if (!step_.report)
            return loop_.post([done] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        to_srun({kit::StarterMessage::Kind::note, static_cast<int>(note.subject), std::move(note.line)},
                std::move(done));
    }

    void offer_tools(std::string offer, std::function<void(Result<void>)> done) override {
        if (!step_.report)
            return loop_.post([done] { done(error(ErrorKind::unreachable, "srun gave no address")); });
        to_srun({kit::StarterMessage::Kind::tools, 0, std::move(offer)}, std::move(done));
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
            allocations_.emplace(loop_, log_, step_.leader_job, allocation_calls(initialise_slurm, running_steps));
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
        alive_.reset();
        allocations_.reset();
        lifeline_watch_.reset();
        output_.stop();
        again_.reset();
        contacts_.reset();
        sender_.reset();
        if (ender_ && !ender_->finish(last_words))
            log_.warning("slurmctld or srun has not answered within {} s; the daemon leaves",
                         std::chrono::duration_cast<std::chrono::seconds>(last_words).count());
        ender_.reset();
        reporter_.reset();
        asker_.reset();
        recorder_.reset();
    }

  private:
    // A host that is just starting its tasks may miss the first time. Where this daemon is one of
    // the killed, that is srun's to find out.
    void kill_again() {
        again_ = loop_.after(1s, [this] {
            if (ender_)
                ender_->run([jobs = step_.jobs, step = step_.name.step_id] { return kill_steps(jobs, step); },
                            [](Result<void>) {});
        });
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

    void to_srun(kit::StarterMessage message, std::function<void(Result<void>)> done) {
        if (!ender_)
            ender_.emplace(loop_);
        ender_->run(
            [target = *step_.report, message = std::move(message), secret = step_.info.shared_secret] {
                return kit::send_to_starter(target, message, *kit::make_sealer(secret), report_limit);
            },
            std::move(done));
    }

    struct StepEnded {
        std::string unheard; // why srun does not know; empty: it does
        Result<void> killed;
    };

    Result<std::string> path_of(HostIndex host) const {
        return contact_path(step_.contacts, geteuid(), step_.leader_job, step_.name.step_id, host, family_);
    }

    // Each host has one message at a time, and so has the session.
    kit::ContactSender &sender() {
        if (!sender_)
            sender_.emplace(loop_, log_, 2 * step_.node_of.size() + max_questions, forward);
        return *sender_;
    }

    // One srun of ours at a time: it may have to wait for slurmctld.
    Result<void> start_one_session() {
        pollfd running{session_srun_.get(), POLLIN, 0};
        if (session_srun_ && ::poll(&running, 1, 0) == 0)
            return {};
        auto started = start_session({step_.leader_job, step_.session_node, step_.contacts, step_.info.shared_secret},
                                     step_.settings, own_program());
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
    EventLoop::Handle lifeline_watch_, again_;
    StepOutput output_;
    std::unique_ptr<ContactSocket> contacts_;
    std::optional<Worker> ender_, reporter_;
    std::optional<kit::ContactSender> sender_;
    std::optional<SlowCalls> asker_, recorder_;
    TimePoint record_full_until_{};
    std::optional<Allocations> allocations_;
    std::optional<kit::ReadyMessage> running_report_;
    UniqueFd session_srun_; // its pidfd
    bool reported_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // until stop()
};

Result<std::unique_ptr<RmBackend>> create(BackendContext context) {
    auto step = read_start_document(context.document, context.settings);
    if (!step)
        return step.failure();
    // Else the step would fail late, and in words that name anything but munge.
    if (step->node_of.size() > 1 && step->info.shared_secret.empty()) {
        kit::MungeSealer munge;
        if (auto can = kit::can_seal(munge); !can)
            return error(
                can.failure().kind,
                "{}. It works where srun runs, and then all hosts of a step prove with it: start munged on all "
                "hosts, with one key and in its usual socket, or use one host",
                can.failure().text);
    }
    return std::unique_ptr<RmBackend>(std::make_unique<SlurmBackend>(context, std::move(*step)));
}

class SessionContact final : public InvitationSource {
  public:
    SessionContact(std::unique_ptr<ContactSocket> socket, std::unique_ptr<StepCaller> caller)
        : socket_(std::move(socket)), caller_(std::move(caller)) {}
    void call_steps(const std::set<Bytes> &known, std::function<void(CalledSteps)> done) override {
        caller_->call(known, std::move(done));
    }

  private:
    std::unique_ptr<ContactSocket> socket_;
    std::unique_ptr<StepCaller> caller_;
};

Result<std::unique_ptr<InvitationSource>> session_invitations(BackendContext context,
                                                              std::function<void(std::string)> on_invitation) {
    auto job = context.document.number("slurm.job_id", UINT32_MAX);
    if (!job)
        return job.failure();
    auto said = context.document.text("slurm.contacts");
    const std::string &contacts = said ? *said : context.settings.directory_base;
    auto secret = context.document.text("secret");
    std::string family = family_of(secret ? *secret : std::string());
    auto path = session_path(contacts, geteuid(), static_cast<std::uint32_t>(*job), family);
    if (!path)
        return path.failure();
    auto socket = ContactSocket::open(context.loop, context.log, *path, std::move(on_invitation),
                                      ContactSocket::Sharing::first_only);
    if (!socket)
        return socket.failure();
    auto caller =
        std::make_unique<StepCaller>(context.loop, context.log, static_cast<std::uint32_t>(*job),
                                     StepCaller::Where{contacts, family}, StepCaller::Slurm{running_steps, forward});
    return std::unique_ptr<InvitationSource>(std::make_unique<SessionContact>(std::move(*socket), std::move(caller)));
}

class SlurmStarter final : public JobStarter {
  public:
    SlurmStarter(SpawnContext context, SpawnSite site) : context_(std::move(context)), site_(std::move(site)) {}
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &plan) override { return spawn_command(plan, context_); }
    JobPlace place(const SpawnPlan &plan, const std::string &nspace) const override {
        auto hosts = sorted_hosts(plan.host_of_rank);
        auto name = std::string_view(nspace);
        name.remove_prefix(std::min(name.size(), namespace_prefix.size()));
        return {hosts ? std::move(*hosts) : std::vector<std::string>(), std::string(name), slots_for(plan)};
    }
    Error explain(const std::string &said) const override { return explain_srun(said); }

  private:
    // As srun's environment has them, which the step's daemons go by.
    std::uint32_t slots_for(const SpawnPlan &plan) const {
        static constexpr std::string_view variable = "SLURM_JOB_CPUS_PER_NODE=";
        for (const auto &entry : context_.environment) {
            if (!entry.starts_with(variable))
                continue;
            std::uint32_t slots = sum_of_cpus(std::string_view(entry).substr(variable.size()));
            return slots == 0 ? 0 : std::max(slots, plan.tasks());
        }
        return 0;
    }

    SpawnContext context_;
    SpawnSite site_;
};

// Asks slurmctld: srun's environment tells of the allocation only where srun did not make it itself.
Result<SpawnSite> allocation_of(std::uint32_t job_id) {
    initialise_slurm();
    resource_allocation_response_msg_t *answer = nullptr;
    if (slurm_allocation_lookup(job_argument(job_id), &answer) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "the allocation of job {} cannot be looked up: {}", job_id,
                     slurm_strerror(errno));
    SpawnSite site;
    site.forwards_streams = true;
    auto names = expand_host_list(answer->node_list ? answer->node_list : "", TaskMap::max_hosts);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t i = 0; i < answer->num_cpu_groups; ++i)
        slots.insert(slots.end(), answer->cpu_count_reps[i], answer->cpus_per_node[i]);
    slurm_free_resource_allocation_response_msg(answer);
    if (!names)
        return names.failure();
    slots.resize(names->size(), 1);
    for (std::size_t i = 0; i < names->size(); ++i)
        site.hosts.push_back({std::move((*names)[i]), slots[i]});
    return site;
}

// Where no Slurm is configured, libslurm ends the process that asks it for anything: another process asks first.
Result<void> find_slurm() {
    auto said = run_captured({"scontrol", "ping"}, std::chrono::seconds(10));
    if (!said)
        return said.failure();
    if (said->code != 0)
        return error(ErrorKind::unreachable, "Slurm does not answer on this host: {}; next: scontrol ping",
                     one_line(said->err.empty() ? said->out : said->err, 200));
    return {};
}

Result<void> call_running_step(const Settings &settings, const std::string &step, const std::string &message) {
    if (auto found = find_slurm(); !found)
        return found;
    return call_step(step, {settings.directory_base, contacts_directory}, {running_steps, forward}, message);
}

Result<std::vector<std::string>> own_running_steps() {
    if (auto found = find_slurm(); !found)
        return found.failure();
    return own_steps({running_jobs, running_steps, [] { return steps_of(NO_VAL); }});
}

Result<uid_t> owner_of_job(const std::string &name) {
    auto wish = parse_step_wish(name);
    if (!wish)
        return wish.failure();
    if (auto found = find_slurm(); !found)
        return found.failure();
    initialise_slurm();
    job_info_msg_t *answer = nullptr;
    if (slurm_load_job(&answer, wish->job, SHOW_ALL) != SLURM_SUCCESS)
        return error(errno == ESLURM_INVALID_JOB_ID ? ErrorKind::not_found : ErrorKind::unreachable,
                     "job {} cannot be looked up: {}", wish->job, slurm_strerror(errno));
    LoadedJobs loaded(answer);
    if (loaded->record_count == 0)
        return error(ErrorKind::not_found, "there is no job {}", wish->job);
    return loaded->job_array[0].user_id;
}

Result<std::uint64_t> job_of(const StartDocument &document, const std::string &allocation) {
    if (allocation.empty())
        return document.number("slurm.job_id", UINT32_MAX);
    auto number = job_number(allocation);
    return number ? Result<std::uint64_t>(*number) : number.failure();
}

// What srun has in its environment where it makes the allocation itself; the step's daemons go by it.
void describe_allocation(const SpawnSite &site, std::vector<std::string> &environment) {
    std::erase_if(environment, [](std::string_view variable) {
        return variable.starts_with("SLURM_") && !variable.starts_with("SLURM_CONF=");
    });
    std::string hosts, cpus;
    for (const auto &host : site.hosts) {
        hosts += (hosts.empty() ? "" : ",") + host.name;
        cpus += (cpus.empty() ? "" : ",") + std::to_string(host.slots);
    }
    environment.push_back("SLURM_JOB_NODELIST=" + hosts);
    environment.push_back("SLURM_JOB_CPUS_PER_NODE=" + cpus);
}

Result<std::unique_ptr<JobStarter>> create_starter(const StartDocument &document, const Settings &settings,
                                                   const std::string &allocation) {
    SpawnContext context;
    auto job = job_of(document, allocation);
    auto srun = srun_path(settings);
    if (!job || !srun)
        return !job ? job.failure() : srun.failure();
    context.job_id = static_cast<std::uint32_t>(*job);
    context.srun = std::move(*srun);
    std::string daemon = own_program();
    context.task_program = daemon.substr(0, daemon.rfind('/')) + "/pmixhost-task";
    auto text = [&](std::string_view key) {
        auto value = document.text(key);
        return value ? *value : std::string();
    };
    context.output = text("slurm.output");
    context.error = text("slurm.error");
    context.label = !text("slurm.label").empty();
    context.secret = text("secret");
    context.container = text("slurm.container");
    auto prefix = split_shell_words(settings.of_plugin("slurm.spawn_prefix"));
    if (!prefix)
        return error(prefix.failure().kind, "slurm.spawn_prefix: {}", prefix.failure().text);
    context.prefix = std::move(*prefix);
    for (char **variable = environ; *variable; ++variable)
        context.environment.emplace_back(*variable);

    auto site = allocation_of(context.job_id);
    if (!site)
        return site.failure();
    site->read_file = read_small_file;
    if (!allocation.empty())
        describe_allocation(*site, context.environment);
    return std::unique_ptr<JobStarter>(std::make_unique<SlurmStarter>(std::move(context), std::move(*site)));
}

Result<std::unique_ptr<RmBackend>> create_lobby_here(BackendContext context) {
    return create_lobby(context, {initialise_slurm, {running_steps, forward}, own_program});
}

Result<void> give_back(const std::string &allocation) {
    initialise_slurm();
    return end_allocation(allocation);
}

} // namespace

} // namespace pmixhost::slurm

extern "C" __attribute__((visibility("default"))) const pmixhost::BackendModule pmixhost_backend = {
    pmixhost::BackendModule::current_abi,
    "slurm",
    pmixhost::facets(pmixhost::Facet::questions, pmixhost::Facet::allocations, pmixhost::Facet::job_record,
                     pmixhost::Facet::user_notes, pmixhost::Facet::roles, pmixhost::Facet::spawned_step,
                     pmixhost::Facet::step_output),
    pmixhost::slurm::create,
    pmixhost::slurm::session_invitations,
    pmixhost::slurm::create_starter,
    pmixhost::slurm::call_running_step,
    pmixhost::slurm::own_running_steps,
    pmixhost::slurm::owner_of_job,
    pmixhost::slurm::create_lobby_here,
    pmixhost::slurm::give_back};
