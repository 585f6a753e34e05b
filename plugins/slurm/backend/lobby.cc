// See lobby.h.
#include "plugins/slurm/backend/lobby.h"

#include "common/base/random_bytes.h"
#include "common/loop/slow_calls.h"
#include "plugins/kit/contact_sender.h"
#include "plugins/kit/launcher_start.h"
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/backend/rm_answers.h"
#include "plugins/slurm/base/contacts_directory.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/steps/session_step.h"
#include "server-glue/rm/roles.h"
#include "server-glue/rm/spawn_places.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/rm/user_notes.h"

#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace pmixhost::slurm {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_waiting = 64; // for slurmctld
constexpr Duration contacts_patience = 30s, contacts_pause = 1s, look_again = 50ms;
constexpr std::size_t longest_note = 2048;

// Where the daemons of this cluster's jobs have their contact sockets: those of jobs with a /tmp of their own somewhere
// else. Blocks.
Result<std::string> contacts_of_cluster(const std::string &base) {
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "Slurm's configuration cannot be looked up: {}", slurm_strerror(errno));
    std::string contacts = jobs_have_namespaces(*conf) ? std::string(contacts_directory) : base;
    free_loaded_conf(conf);
    return contacts;
}

class Lobby final : public RmBackend,
                    private RmQuestions,
                    private RmAllocations,
                    private RmUserNotes,
                    private RmRoles,
                    private RmSpawnedStep,
                    private RmSpawnPlaces {
  public:
    Lobby(BackendContext context, LobbyParts parts, StepInfo step, UniqueFd starter)
        : loop_(context.loop), log_(context.log), settings_(context.settings), parts_(std::move(parts)),
          step_(std::move(step)), starter_(std::move(starter)), asker_(loop_, most_waiting),
          sender_(std::in_place, loop_, log_, most_waiting, parts_.slurm.forward) {}

    const StepInfo &step() const override { return step_; }
    RmQuestions *questions() override { return this; }
    RmAllocations *allocations() override { return this; }
    RmUserNotes *user_notes() override { return this; }
    RmRoles *roles() override { return this; }
    RmSpawnedStep *spawned_step() override { return this; }
    RmSpawnPlaces *spawn_places() override { return this; }

    Result<void> start(BackendListener &listener) override {
        listener_ = &listener;
        starter_watch_ = loop_.watch(starter_.get(), EventLoop::readable, [this](unsigned) { hear_starter(); });
        find_contacts();
        return {};
    }

    void send_contact(HostIndex host, std::string, bool, TimePoint, std::function<void(Result<void>)> done) override {
        fail(std::move(done), error(ErrorKind::not_found, "there is no host {}", host));
    }
    // There is nothing to end.
    void end_step(StepEnd, std::function<void(Result<void>)> done) override {
        loop_.post([done = std::move(done)] { done({}); });
    }
    void stop() override {
        alive_.reset();
        allocations_.reset();
        starter_watch_.reset();
        waiting_.clear();
        sender_.reset();
        launcher_.channel.reset(); // it gives back what is to be given back, and ends
    }

  private:
    // RmQuestions
    bool answers(RmQuestion::Kind kind) const override {
        return kind == RmQuestion::Kind::allocation_status || kind == RmQuestion::Kind::queues;
    }
    void ask(RmQuestion question, TimePoint deadline, std::function<void(Result<RmAnswer>)> done) override {
        std::string name = fmt::format("{} {}", static_cast<int>(question.kind), question.allocation);
        asker_.run(
            std::move(name), deadline,
            [question = std::move(question), prepare = parts_.prepare] {
                prepare();
                return ask_slurm(question, 0);
            },
            std::move(done));
    }

    // RmAllocations
    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done) override {
        if (request.kind != RmAllocation::Kind::create && request.allocation.empty())
            return loop_.post([done = std::move(done)] {
                done(error(ErrorKind::invalid,
                           "PMIX_ALLOC_ID is missing: a tool whose user has no job has no allocation of its own"));
            });
        if (!allocations_)
            allocations_.emplace(loop_, log_, 0, allocation_calls(parts_.prepare, parts_.slurm.steps));
        allocations_->allocate(id, std::move(request), deadline, std::move(done));
    }
    void abandon_allocation(std::uint64_t id) override {
        if (allocations_)
            allocations_->abandon(id);
    }
    bool is_submitting() const override { return allocations_ && allocations_->is_submitting(); }

    // RmUserNotes
    void tell_user(UserNote note, std::function<void(Result<void>)> done) override {
        note.line.resize(std::min(note.line.size(), longest_note));
        bool sent = ::send(starter_.get(), note.line.data(), note.line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
        loop_.post([sent, done = std::move(done)] {
            done(sent ? Result<void>() : error(ErrorKind::unreachable, "the desk does not take it"));
        });
    }

    // RmRoles
    void reach(CentralRole role, std::string invitation, TimePoint start_after, TimePoint deadline,
               std::function<void(Result<void>)> done) override {
        if (role == CentralRole::launcher)
            return loop_.post([done = std::move(done), invited = invite_launcher(invitation)] { done(invited); });
        if (place_.allocation.empty())
            return fail(std::move(done), error(ErrorKind::unsupported,
                                               "a tool whose user has no job has a session with its first job alone"));
        reach_session(place_, std::move(invitation), start_after, deadline, std::move(done));
    }
    bool calls_steps() const override { return false; } // its session knows the steps of one allocation

    // RmSpawnedStep: it is none.
    void report_launch(LaunchReport, std::function<void(Result<void>)> done) override {
        fail(std::move(done), error(ErrorKind::unreachable, "nobody has spawned this"));
    }
    void report_start(std::function<void(Result<void>)> done) override {
        fail(std::move(done), error(ErrorKind::unreachable, "nobody has spawned this"));
    }
    void report_ends(std::string, bool, std::function<void(Result<void>)> done) override {
        fail(std::move(done), error(ErrorKind::unreachable, "nobody has spawned this"));
    }

    // RmSpawnPlaces
    void look_at(std::string allocation, TimePoint deadline, std::function<void(Result<RmAllocated>)> done) override {
        asker_.run(
            "job " + allocation, deadline,
            [allocation, prepare = parts_.prepare]() -> Result<RmAllocated> {
                prepare();
                return begun_allocation(allocation);
            },
            std::move(done));
    }
    void enter(const RmAllocated &allocation) override { place_ = allocation; }

    void hear_starter() {
        char bytes[max_contact + 1];
        ssize_t n = ::recv(starter_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n > 0)
            return listener_->on_contact(std::string(bytes, static_cast<std::size_t>(n)));
        starter_watch_.reset();
        listener_->on_rm_gone("the tool has gone");
    }

    void find_contacts() {
        if (looks_for_contacts_ || loop_.now() < contacts_again_)
            return;
        looks_for_contacts_ = true;
        contacts_again_ = loop_.now() + contacts_pause;
        asker_.run(
            "contacts", loop_.now() + contacts_patience,
            [base = settings_.directory_base, prepare = parts_.prepare] {
                prepare();
                return contacts_of_cluster(base);
            },
            [this, alive = std::weak_ptr(alive_)](Result<std::string> contacts) {
                if (alive.expired())
                    return;
                looks_for_contacts_ = false; // slurmctld may be there when it is asked again
                if (contacts)
                    contacts_ = std::move(*contacts);
                else
                    log_.warning("{}", contacts.failure().text);
            });
    }

    void reach_session(RmAllocated place, std::string invitation, TimePoint start_after, TimePoint deadline,
                       std::function<void(Result<void>)> done) {
        if (contacts_.empty()) {
            if (loop_.now() >= deadline)
                return fail(std::move(done), error(ErrorKind::timeout, "it is not known where the session is"));
            find_contacts();
            std::uint64_t number = next_++;
            waiting_[number] =
                loop_.after(look_again, [this, number, place = std::move(place), invitation = std::move(invitation),
                                         start_after, deadline, done = std::move(done)]() mutable {
                    auto keep = waiting_.extract(number);
                    reach_session(std::move(place), std::move(invitation), start_after, deadline, std::move(done));
                });
            return;
        }
        const std::string &name = place.allocation;
        auto job = job_number(name);
        if (!job || place.hosts.empty())
            return fail(std::move(done), error(ErrorKind::not_found, "allocation {} has no hosts", name));
        auto path = session_path(contacts_, ::geteuid(), *job, family_of({}));
        if (!path)
            return fail(std::move(done), path.failure());
        SessionStep session{*job, place.hosts.front(), contacts_, {}};
        sender_->send({session.node, std::move(*path), std::move(invitation), deadline, false, start_after,
                       [this, session] { return start_one_session(session); }},
                      std::move(done));
    }

    // One srun of ours at a time for an allocation: it may have to wait for slurmctld. What has no pidfd had ended
    // before.
    Result<void> start_one_session(const SessionStep &session) {
        std::erase_if(session_sruns_, [](const auto &entry) {
            pollfd running{entry.second.get(), POLLIN, 0};
            return !entry.second || ::poll(&running, 1, 0) != 0;
        });
        if (session_sruns_.contains(session.job))
            return {};
        auto started = start_session(session, settings_, parts_.program());
        if (!started)
            return started.failure();
        session_sruns_[session.job] = std::move(*started);
        return {};
    }

    Result<void> invite_launcher(const std::string &invitation) {
        if (!launcher_.channel) {
            StartDocument document;
            Result<void> added;
            for (const auto &[key, value] : {std::pair<std::string, std::string>("backend", "slurm"),
                                             {"host", step_.map.hosts().front()},
                                             {"job", "lobby"}})
                added = added ? document.add(key, value) : added;
            auto started =
                added ? kit::start_launcher({"launcher",
                                             -1,
                                             parts_.program(),
                                             {},
                                             std::move(document),
                                             // The lobby's own, for its libpmix:
                                             {"PMIX_MCA_", "NS_DATA_SEG_SIZE=", "NS_META_SEG_SIZE=", "HWLOC_"}})
                      : Result<kit::LauncherProcess>(added.failure());
            if (!started)
                return started.failure();
            launcher_ = std::move(*started);
        }
        std::uint32_t size = htonl(static_cast<std::uint32_t>(invitation.size()));
        std::string bytes(reinterpret_cast<const char *>(&size), sizeof size);
        bytes += invitation;
        ssize_t n = ::send(launcher_.channel.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n == static_cast<ssize_t>(bytes.size()))
            return {};
        launcher_.channel.reset(); // the next invitation finds another one
        return error(ErrorKind::unreachable, "the launcher of this tool's jobs has gone");
    }

    // Never from within the call.
    void fail(std::function<void(Result<void>)> done, Result<void> failure) {
        loop_.post([done = std::move(done), failure] { done(failure); });
    }

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    LobbyParts parts_;
    StepInfo step_;
    BackendListener *listener_ = nullptr;
    UniqueFd starter_;
    EventLoop::Handle starter_watch_;
    bool looks_for_contacts_ = false;
    TimePoint contacts_again_{};
    std::string contacts_; // the directory of contact sockets; empty: it is not known yet
    RmAllocated place_;    // where the jobs are
    std::optional<Allocations> allocations_;
    kit::LauncherProcess launcher_;
    std::map<std::uint32_t, UniqueFd> session_sruns_; // their pidfds, by the allocations' jobs
    std::map<std::uint64_t, EventLoop::Handle> waiting_;
    std::uint64_t next_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // until stop()
    SlowCalls asker_;
    std::optional<kit::ContactSender> sender_;
};

std::string hex_of(const std::string &bytes) {
    std::string out;
    for (unsigned char byte : bytes)
        out += fmt::format("{:02x}", byte);
    return out;
}

} // namespace

Result<std::unique_ptr<RmBackend>> create_lobby(BackendContext context, LobbyParts parts) {
    auto fd = context.document.number("lobby.fd", INT_MAX);
    if (!fd)
        return fd.failure();
    UniqueFd starter(static_cast<int>(*fd));
    char host[HOST_NAME_MAX + 1] = "";
    if (::fcntl(starter.get(), F_SETFD, FD_CLOEXEC) != 0 || ::gethostname(host, sizeof host - 1) != 0)
        return system_error("start document: lobby.fd", errno);
    StepInfo step;
    step.is_lobby = true;
    step.nspace = fmt::format("lobby.{:.64}.{}.{}", host, ::getpid(), hex_of(random_bytes(4)));
    step.job_id = step.nspace;
    step.step_key = "slurm:" + step.nspace;
    step.map = JobMap::without_ranks(host);
    step.apps.push_back({});
    return std::unique_ptr<RmBackend>(
        std::make_unique<Lobby>(context, std::move(parts), std::move(step), std::move(starter)));
}

} // namespace pmixhost::slurm
