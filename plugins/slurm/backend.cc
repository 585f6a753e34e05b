// The Slurm backend: what pmixhostd asks of Slurm once a step runs. Calls into libslurm block, and
// so happen in threads of their own, one for contact messages and one for ending the step, which are
// started when first needed: a supervisor that only wants to end the step creates a backend and
// never starts it.
#include "common/worker.h"
#include "plugins/slurm/backend_step.h"
#include "plugins/slurm/contact_socket.h"
#include "plugins/slurm/session_step.h"
#include "plugins/slurm/slurm_abi.h"
#include "server-glue/rm_backend.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>

namespace pmixhost::slurm {

namespace {

using namespace std::chrono_literals;

constexpr Duration first_pause = 50ms;
constexpr Duration longest_pause = 1s;
constexpr std::chrono::milliseconds report_limit = 2s;

// libslurm reads slurm.conf once per process.
void initialise_slurm() {
    static std::once_flag once;
    std::call_once(once, [] { slurm_init(nullptr); });
}

char *slurm_string(const std::string &text) {
    auto *copy = static_cast<char *>(
        slurm_xcalloc(1, text.size() + 1, true, false, __FILE__, __LINE__, __func__));
    std::memcpy(copy, text.data(), text.size());
    return copy;
}

// Blocks for up to Slurm's message timeout.
Result<void> forward(const std::string &node, std::string address, const std::string &message) {
    initialise_slurm();
    char *nodes = slurm_string(node);
    int code = slurm_forward_data(&nodes, address.data(),
                                  static_cast<std::uint32_t>(message.size()), message.data());
    slurm_xfree(reinterpret_cast<void **>(&nodes));
    if (code != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "the daemon on {} cannot be reached through slurmd: {}",
                     node, slurm_strerror(code));
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
            result = error(ErrorKind::unreachable, "step {}.{} cannot be ended: {}", job, step,
                           slurm_strerror(why));
    }
    return killed ? Result<void>() : result;
}

// pmixhostd's own path: what serves the session must be of the same build.
std::string own_program() {
    std::error_code failed;
    auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? PMIXHOST_LIBEXECDIR "/pmixhostd" : path.string();
}

class SlurmBackend final : public RmBackend {
  public:
    SlurmBackend(BackendContext context, SlurmStep step)
        : loop_(context.loop), log_(context.log), step_(std::move(step)),
          lifeline_(step_.lifeline_fd) {}

    const StepInfo &step() const override { return step_.info; }
    Capabilities capabilities() const override {
        Capabilities known;
        known.munge = true;
        known.ends_step = true;
        return known;
    }

    Result<void> start(BackendListener &listener) override {
        listener_ = &listener;
        auto path = path_of(step_.info.self);
        if (!path)
            return path.failure();
        auto socket = ContactSocket::open(loop_, log_, *path, [this](std::string message) {
            listener_->on_contact(std::move(message));
        });
        if (!socket)
            return socket.failure();
        contacts_ = std::move(*socket);
        if (lifeline_)
            lifeline_watch_ = loop_.watch(lifeline_.get(), EventLoop::readable, [this](unsigned) {
                lifeline_watch_.reset();
                listener_->on_rm_gone("slurmstepd has ended");
            });
        return {};
    }

    void send_contact(HostIndex host, std::string message, TimePoint deadline,
                      std::function<void(Result<void>)> done) override {
        auto sending = std::make_shared<Sending>();
        sending->done = std::move(done);
        sending->deadline = deadline;
        sending->message = std::move(message);
        if (host >= step_.node_of.size())
            return finish(sending, error(ErrorKind::not_found, "there is no host {}", host));
        if (sending->message.size() > max_contact)
            return finish(sending, error(ErrorKind::limit, "a contact message of {} bytes",
                                         sending->message.size()));
        auto path = path_of(host);
        if (!path)
            return finish(sending, path.failure());
        sending->node = step_.node_of[host];
        sending->path = std::move(*path);
        attempt(sending);
    }

    void reach(CentralRole role, std::string invitation, TimePoint deadline,
               std::function<void(Result<void>)> done) override {
        auto sending = std::make_shared<Sending>();
        sending->done = std::move(done);
        sending->deadline = deadline;
        sending->message = std::move(invitation);
        if (role != CentralRole::session)
            return finish(sending, error(ErrorKind::unsupported, "no {} here", name_of(role)));
        auto path = session_path(step_.settings.directory_base, geteuid(), step_.leader_job);
        if (!path)
            return finish(sending, path.failure());
        sending->node = step_.session_node;
        sending->path = std::move(*path);
        sending->start_session = true;
        attempt(sending);
    }

    void end_step(StepEnd end, std::function<void(Result<void>)> done) override {
        if (!ender_)
            ender_.emplace(loop_);
        std::optional<ReportTarget> report;
        if (!reported_)
            report = step_.report;
        reported_ = true;
        ender_->run(
            [report, end = std::move(end), this] {
                if (report) {
                    MungeSealer sealer;
                    auto sent = send_exit_report(*report, {end.exit_status, end.text}, sealer,
                                                 report_limit);
                    if (!sent)
                        log_.warning("srun does not hear why the step ends ({}): {}",
                                     sent.failure().text, end.text);
                }
                return kill_steps(step_.jobs, step_.name.step_id);
            },
            [this, done = std::move(done), alive = std::weak_ptr(alive_)](Result<void> killed) {
                done(std::move(killed));
                if (!alive.expired())
                    kill_again();
            });
    }

    void stop() override {
        alive_.reset();
        lifeline_watch_.reset();
        again_.reset();
        contacts_.reset();
        pauses_.clear();
        sender_.reset();
        ender_.reset();
    }

  private:
    // A host that is just starting its tasks may miss the first time. Where this daemon is one of
    // the killed, that is srun's to find out.
    void kill_again() {
        again_ = loop_.after(1s, [this] {
            if (ender_)
                ender_->run([this] { return kill_steps(step_.jobs, step_.name.step_id); },
                            [](Result<void>) {});
        });
    }

    struct Sending {
        std::string node, path, message;
        TimePoint deadline;
        Duration pause = first_pause;
        bool start_session = false; // at the first failure: there is none yet
        std::function<void(Result<void>)> done;
    };

    Result<std::string> path_of(HostIndex host) const {
        return contact_path(step_.settings.directory_base, geteuid(), step_.leader_job, step_.name.step_id,
                            host);
    }

    void attempt(std::shared_ptr<Sending> sending) {
        if (!sender_)
            sender_.emplace(loop_);
        sender_->run(
            [sending] { return forward(sending->node, sending->path, sending->message); },
            [this, sending, alive = std::weak_ptr(alive_)](Result<void> sent) {
                if (alive.expired())
                    return;
                // Until its daemon has made the socket, a host refuses.
                if (sent || loop_.now() + sending->pause >= sending->deadline)
                    return sending->done(std::move(sent));
                log_.debug("{}; once more", sent.failure().text);
                if (std::exchange(sending->start_session, false)) {
                    auto started = start_session({step_.leader_job, step_.session_node}, step_.settings,
                                                 own_program());
                    if (!started)
                        return sending->done(started.failure());
                }
                auto at = pauses_.emplace(pauses_.end());
                *at = loop_.after(sending->pause, [this, sending, at] {
                    pauses_.erase(at);
                    attempt(sending);
                });
                sending->pause = std::min(2 * sending->pause, longest_pause);
            });
    }
    // Never from within the call.
    void finish(std::shared_ptr<Sending> sending, Result<void> result) {
        loop_.post([sending, result] { sending->done(result); });
    }

    EventLoop &loop_;
    Log &log_;
    SlurmStep step_;
    BackendListener *listener_ = nullptr;
    UniqueFd lifeline_;
    EventLoop::Handle lifeline_watch_, again_;
    std::unique_ptr<ContactSocket> contacts_;
    std::list<EventLoop::Handle> pauses_;
    std::optional<Worker> sender_, ender_;
    bool reported_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // until stop()
};

Result<std::unique_ptr<RmBackend>> create(BackendContext context) {
    auto step = read_start_document(context.document);
    if (!step)
        return step.failure();
    return std::unique_ptr<RmBackend>(std::make_unique<SlurmBackend>(context, std::move(*step)));
}

class SessionContact final : public InvitationSource {
  public:
    explicit SessionContact(std::unique_ptr<ContactSocket> socket) : socket_(std::move(socket)) {}

  private:
    std::unique_ptr<ContactSocket> socket_;
};

Result<std::unique_ptr<InvitationSource>>
session_invitations(BackendContext context, const Settings &settings,
                    std::function<void(std::string)> on_invitation) {
    auto job = context.document.number("slurm.job_id", UINT32_MAX);
    if (!job)
        return job.failure();
    auto path = session_path(settings.directory_base, geteuid(), static_cast<std::uint32_t>(*job));
    if (!path)
        return path.failure();
    auto socket = ContactSocket::open(context.loop, context.log, *path, std::move(on_invitation),
                                      ContactSocket::Sharing::first_only);
    if (!socket)
        return socket.failure();
    return std::unique_ptr<InvitationSource>(std::make_unique<SessionContact>(std::move(*socket)));
}

} // namespace

} // namespace pmixhost::slurm

extern "C" __attribute__((visibility("default"))) const pmixhost::BackendModule pmixhost_backend = {
    pmixhost::BackendModule::current_abi, "slurm", pmixhost::slurm::create,
    pmixhost::slurm::session_invitations};
