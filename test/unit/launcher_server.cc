// The launcher while the RM does not say where jobs can be started: it goes on hearing, and requests are
// answered in time. And what the spawner hears of a job, in which order.
#include "server-glue/daemon/launcher_server.h"

#include "common/transport/invitation.h"
#include "server-glue/spawn/spawn_request.h"

#include <atomic>
#include <fmt/ranges.h>
#include <mutex>
#include <optional>
#include <pmix_common.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/no_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// Each job is this script, which has the spawn channel as $PMIXHOST_SPAWN_FD.
class Script final : public JobStarter {
  public:
    using Parents = std::shared_ptr<std::vector<std::string>>; // of the plans, in order
    Script(std::string text, Parents parents) : text_(std::move(text)), parents_(std::move(parents)) {
        site_.hosts.push_back({"here", 4});
    }
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &plan) override {
        parents_->push_back(plan.parent_nspace);
        return JobCommand{{"/bin/sh", "-c", text_}, {"PATH=/usr/bin:/bin"}, {}, std::nullopt, true};
    }
    JobPlace place(const SpawnPlan &, const std::string &) const override { return {}; }
    Error explain(const std::string &) const override { return error(ErrorKind::system, "no word"); }

  private:
    std::string text_;
    Parents parents_;
    SpawnSite site_;
};

constexpr HostIndex hosts = 2; // of the step; one of them is there

// A daemon of a step, and its launcher.
struct World {
    std::unique_ptr<EventLoop> loop;
    Log log;
    Settings settings;
    std::shared_ptr<OneTimeGate> opening = std::make_shared<OneTimeGate>();
    std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);
    struct Given {
        std::mutex mutex;
        std::vector<std::string> back; // allocations, in order
        int fails = 0;                 // the next so many times
        std::shared_ptr<OneTimeGate> waits = nullptr;
        std::vector<std::string> so_far() {
            std::lock_guard lock(mutex);
            return back;
        }
    };
    std::shared_ptr<Given> given = std::make_shared<Given>();
    Script::Parents parents = std::make_shared<std::vector<std::string>>();
    std::optional<LauncherServer> launcher;
    std::unique_ptr<Mesh> daemon;
    std::vector<wire::SpawnReply> replies;
    bool ended = false;
    EventLoop::Handle limit;

    std::vector<std::string> heard; // of a job
    World(std::chrono::milliseconds spawn_timeout, bool has_hosts, std::string script = {}, int log_fd = 2,
          Duration end_patience = 20s)
        : log(log_fd, log_fd == 2 ? LogLevel::error : LogLevel::warning, "test") {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        settings.transport_interfaces = {"lo"};
        settings.spawn_timeout = spawn_timeout;
        auto make_starter = [opening = opening, asked = asked, has_hosts, script,
                             parents = parents](const std::string &allocation) -> Result<std::shared_ptr<JobStarter>> {
            ++*asked;
            opening->wait();
            if (!has_hosts || allocation == "none")
                return error(ErrorKind::not_found, "there is no allocation");
            if (!script.empty())
                return std::static_pointer_cast<JobStarter>(std::make_shared<Script>(script, parents));
            return std::static_pointer_cast<JobStarter>(std::make_shared<NoHosts>());
        };
        launcher.emplace(
            *loop, log, settings,
            AllocationPlaces::Calls{make_starter,
                                    [given = given](const std::string &allocation) -> Result<void> {
                                        std::unique_lock lock(given->mutex);
                                        given->back.push_back(allocation);
                                        bool fails = given->fails > 0 && given->fails-- > 0;
                                        auto waits = given->waits;
                                        lock.unlock();
                                        if (waits)
                                            waits->wait();
                                        return fails ? error(ErrorKind::unreachable, "slurmctld is away")
                                                     : Result<void>();
                                    },
                                    1ms},
            [](const Bytes &) { return make_secret_authenticator("secret"); },
            [this] {
                ended = true;
                loop->stop();
            },
            LauncherServer::Patience{50ms, end_patience});
        join();
        limit = loop->after(30s, [] { fail_msg("nothing came"); });
    }
    // The daemon comes, once more.
    void join() {
        const HostIndex size = hosts + central_role_count;
        auto mesh = Mesh::create(*loop, log, settings, "step", 0, size, make_secret_authenticator("secret"),
                                 {[this](HostIndex, std::uint8_t type, Bytes payload) {
                                      hear(type, payload);
                                      loop->stop();
                                  },
                                  [](HostIndex, Mesh::Gone, const Error &) {},
                                  [this](HostIndex, Bytes contact, TimePoint, std::function<void(Result<void>)> done) {
                                      loop->post([this, contact, done] {
                                          invite(contact);
                                          done({});
                                      });
                                  }});
        assert_true(mesh.ok());
        daemon = std::move(*mesh);
    }
    void invite(const Bytes &contact) {
        Invitation invitation;
        invitation.contact = contact;
        invitation.step_key = "step";
        invitation.host_count = hosts;
        invitation.nspace = "parent";
        launcher->on_invitation(wire::encode(invitation));
    }
    void pass(Duration time) {
        auto stop = loop->after(time, [this] { loop->stop(); });
        assert_true(loop->run().ok());
    }
    void hear(std::uint8_t type, const Bytes &payload) {
        if (type == wire::JobEvent::type) {
            auto event = *wire::decode<wire::JobEvent>(payload);
            const char *const names[] = {"", "runs", "ended", "started"};
            heard.push_back(fmt::format("{} {}", event.nspace, names[event.what]));
            return;
        }
        assert_int_equal(type, wire::SpawnReply::type);
        replies.push_back(*wire::decode<wire::SpawnReply>(payload));
        heard.push_back(replies.back().status == 0 ? "answered" : "refused");
    }
    void ask(std::uint64_t id, const char *directive = nullptr, const std::string &allocation = {},
             bool gives_back = false, bool lives_on = false) {
        wire::SpawnRequest request;
        request.lives_on = lives_on ? 1 : 0;
        request.allocation = allocation;
        request.gives_back = gives_back ? 1 : 0;
        request.id = id;
        request.nspace = "parent";
        if (directive) {
            request.directives.push_back({directive, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1});
            auto &app = request.apps.emplace_back();
            app.command = "/bin/true";
            app.argv = {"/bin/true"};
            app.count = 1;
        }
        daemon->send(peer_of(CentralRole::launcher, hosts), wire::SpawnRequest::type, share(wire::encode(request)));
    }
    void cancel(std::uint64_t id) {
        daemon->send(peer_of(CentralRole::launcher, hosts), wire::SpawnCancel::type,
                     share(wire::encode(wire::SpawnCancel{id})));
    }
    void leave(const std::string &allocation) {
        daemon->send(peer_of(CentralRole::launcher, hosts), wire::LeaveAllocation::type,
                     share(wire::encode(wire::LeaveAllocation{allocation})));
    }
    void end_all() {
        launcher->end_children("the test is over");
        launcher->on_step_over();
        while (!ended)
            assert_true(loop->run().ok());
    }
    void run_until_replies(std::size_t count) {
        while (replies.size() < count)
            assert_true(loop->run().ok());
    }
};

void a_request_does_not_wait_longer_than_for_a_spawn(void **) {
    World world(300ms, true);
    world.ask(1);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].id, 1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_TIMEOUT);
    assert_non_null(strstr(world.replies[0].reason.c_str(), "has not answered within 0.3 s"));
    world.opening->open();
    world.ask(2);
    world.run_until_replies(2);
    assert_int_equal(world.replies[1].id, 2);
    assert_int_not_equal(world.replies[1].status, PMIX_ERR_TIMEOUT); // there is nothing to be started
}

// One program started by agents, and one that is started without.
void ask_for_agents(World &world, std::uint64_t id, std::uint32_t agents, std::uint32_t others = 0) {
    wire::SpawnRequest request;
    request.id = id;
    request.nspace = "parent";
    for (auto count : {agents, others}) {
        if (count == 0)
            continue;
        auto &app = request.apps.emplace_back();
        app.command = "/bin/true";
        app.argv = {"/bin/true"};
        app.count = count;
    }
    request.apps.front().directives.push_back(
        {PMIX_FORKEXEC_AGENT, 0, static_cast<std::uint8_t>(SpawnValue::text), "/opt/agent", 0});
    world.daemon->send(peer_of(CentralRole::launcher, hosts), wire::SpawnRequest::type, share(wire::encode(request)));
}

// They come all at once, and one that is not let in would end the job when it is half started.
void a_host_has_no_more_agents_than_tools_are_let_in(void **) {
    World world(0ms, true, "exit 0");
    world.opening->open();
    world.settings.tools_max_connections = 2;
    ask_for_agents(world, 1, 3);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_NOT_SUPPORTED);
    assert_non_null(strstr(world.replies[0].reason.c_str(), "3 processes on host here"));
    assert_non_null(strstr(world.replies[0].reason.c_str(), "takes 2 (tools.max_connections)"));
    assert_int_equal(world.parents->size(), 0); // nothing was started
    ask_for_agents(world, 2, 2, 2);             // who has no agent is no tool
    world.run_until_replies(2);
    assert_int_equal(world.parents->size(), 1);
}

// An agent that starts its process has to come to the job's server first.
void without_tools_there_is_no_agent_that_asks(void **) {
    World world(0ms, true, "exit 0");
    world.opening->open();
    world.settings.tools_enabled = "off";
    ask_for_agents(world, 1, 1);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_NOT_SUPPORTED);
    assert_non_null(strstr(world.replies[0].reason.c_str(), "tools.enabled"));
    assert_int_equal(world.parents->size(), 0); // nothing was started
    world.settings.tools_enabled = "on";
    ask_for_agents(world, 2, 1);
    world.run_until_replies(2);
    assert_int_equal(world.parents->size(), 1);
}

void who_is_told_to_end_ends(void **) {
    World world(0ms, true);
    world.ask(1);
    auto stop = world.loop->after(10ms, [&] { world.loop->stop(); });
    while (*world.asked == 0) {
        assert_true(world.loop->run().ok());
        stop = world.loop->after(10ms, [&] { world.loop->stop(); });
    }
    stop.reset();
    world.launcher->end_children("the user wants it"); // SIGTERM, while the RM is asked
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_JOB_CANCELED);
    world.launcher->on_step_over();
    if (!world.ended)
        assert_true(world.loop->run().ok());
    assert_true(world.ended);
    world.launcher.reset(); // does not wait
    world.opening->open();
}

void requests_of_one_moment_ask_the_rm_once_more_at_most(void **) {
    World world(20s, false);
    for (std::uint64_t id = 1; id <= 10; ++id)
        world.ask(id);
    auto open = world.loop->after(300ms, [&] { world.opening->open(); });
    world.run_until_replies(10);
    for (const auto &reply : world.replies) {
        assert_int_equal(reply.status, PMIX_ERR_JOB_ALLOC_FAILED);
        assert_string_equal(reply.reason.c_str(), "there is no allocation");
    }
    assert_true(*world.asked <= 2);
}

std::string heard_of(const char *script, const char *directive, const char *last) {
    World world(20s, true, script);
    world.opening->open();
    world.ask(1, directive);
    while (world.heard.empty() || world.heard.back() != last)
        assert_true(world.loop->run().ok());
    return fmt::format("{}", fmt::join(world.heard, ", "));
}

void the_start_the_launch_and_the_end_come_in_order(void **) {
    const char *all = "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'started '; c 'launched 0 '";
    assert_string_equal(heard_of(all, PMIX_NOTIFY_JOB_EVENTS, "job ended").c_str(),
                        "job started, answered, job runs, job ended");
    const char *at_once = "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'launched 0 '; c 'started '";
    assert_string_equal(heard_of(at_once, PMIX_NOTIFY_JOB_EVENTS, "job ended").c_str(),
                        "answered, job started, job runs, job ended");
    assert_string_equal(heard_of(all, PMIX_NOTIFY_COMPLETION, "job ended").c_str(), "answered, job ended");
}

void what_has_begun_and_was_not_launched_ends(void **) {
    const char *fails = "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'started '; exit 1";
    assert_string_equal(heard_of(fails, PMIX_NOTIFY_JOB_EVENTS, "job ended").c_str(),
                        "job started, refused, job ended");
    assert_string_equal(heard_of(fails, PMIX_NOTIFY_COMPLETION, "refused").c_str(), "refused");
}

// Nobody else may be there to do it.
void what_was_not_launched_and_does_not_end_is_ended(void **) {
    World world(20s, true,
                "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'launched -1 no such program'; "
                "exec sleep 300");
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, -1);
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
}

void a_command_that_does_not_end_is_killed(void **) {
    World world(
        20s, true,
        "trap '' TERM; c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'launched 0 '; exec sleep 300", 2,
        100ms);
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    world.launcher->end_children("the step was ended");
    world.launcher->on_step_over();
    world.pass(20ms);
    assert_false(world.ended);
    while (!world.ended)
        assert_true(world.loop->run().ok());
}

// --- the server of the tool that has asked leaves ----------------------------------------------------

constexpr const char *never_ends =
    "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'launched 0 '; exec sleep 300";

void what_waits_for_a_place_is_taken_back(void **) {
    World world(20s, true, never_ends);
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.ask(2, PMIX_NOTIFY_COMPLETION);
    world.cancel(2);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].id, 2);
    assert_int_equal(world.replies[0].status, PMIX_ERR_JOB_CANCELED);
    world.opening->open();
    world.run_until_replies(2);
    assert_int_equal(world.replies[1].id, 1);
    assert_int_equal(world.replies[1].status, PMIX_SUCCESS);
    world.end_all(); // for one job
    assert_true((world.heard == std::vector<std::string>{"refused", "answered", "job ended"}));
}

void what_is_being_started_is_taken_back(void **) {
    World world(20s, true, "echo created job >&$PMIXHOST_SPAWN_FD; exec sleep 300");
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.cancel(1);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_JOB_CANCELED);
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
}

// As srun does with a signal while it has no step.
void who_takes_no_notice_before_there_is_a_job_is_told_again(void **) {
    World world(400ms, true,
                "trap '' TERM; sleep 1; trap - TERM; echo created job >&$PMIXHOST_SPAWN_FD; exec sleep 300");
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_TIMEOUT);
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
}

// The host does not have the answer yet, or does not look at it any more.
void what_runs_already_is_taken_back(void **) {
    World world(20s, true, never_ends);
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_SUCCESS);
    world.cancel(1);
    while (world.heard.back() != "job ended")
        assert_true(world.loop->run().ok());
    assert_int_equal(world.replies.size(), 1);
}

// --- a host of the step goes ---------------------------------------------------------------------------

// Its daemon asked to be dialed, and had ended when that was tried.
void who_was_never_here_is_not_lost(void **) {
    World world(20s, true, never_ends);
    world.settings.transport_connect_timeout = 100ms;
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    Contact contact;
    contact.host = 1;
    contact.port = 1;
    contact.cookie = Bytes(16, 'c');
    contact.addresses = {"127.0.0.1"};
    world.invite(wire::encode(contact));
    world.pass(1500ms);
    world.ask(2, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(2);
    assert_int_equal(world.replies[1].status, PMIX_SUCCESS);
    assert_true((world.heard == std::vector<std::string>{"answered", "answered"}));
    world.end_all();
}

// What is asked for when the daemon is lost and comes again.
int asked_after_a_loss(bool lives_on) {
    World world(20s, true, never_ends);
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION, {}, false, lives_on);
    world.run_until_replies(1);
    world.daemon.reset();
    world.pass(200ms);
    world.join();
    world.ask(2, PMIX_NOTIFY_COMPLETION, {}, false, lives_on);
    world.run_until_replies(2);
    world.end_all();
    return world.replies[1].status;
}

void a_step_that_lives_on_spawns_on(void **) {
    assert_int_equal(asked_after_a_loss(true), PMIX_SUCCESS);
    assert_int_equal(asked_after_a_loss(false), PMIX_ERR_JOB_CANCELED);
}

// Its jobs are its own when it has come again.
void a_lost_host_that_is_back_commands_its_jobs(void **) {
    World world(20s, true, never_ends);
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION, {}, false, true);
    world.run_until_replies(1);
    world.daemon.reset();
    world.pass(200ms);
    world.join();
    world.daemon->send(peer_of(CentralRole::launcher, hosts), wire::EndChild::type,
                       share(wire::encode(wire::EndChild{"job"})));
    while (world.heard.back() != "job ended")
        assert_true(world.loop->run().ok());
    world.daemon.reset(); // its step lives on, though this connection has not said so
    world.pass(200ms);
    world.join();
    world.ask(2, PMIX_NOTIFY_COMPLETION, {}, false, true);
    world.run_until_replies(2);
    assert_int_equal(world.replies[1].status, PMIX_SUCCESS);
    world.end_all();
}

// Its tasks end well, and others of its step go on: so does what it has asked for.
void who_has_left_before_there_is_a_place_is_the_parent(void **) {
    World world(20s, true, never_ends);
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    while (*world.asked == 0)
        world.pass(10ms);
    world.daemon->farewell();
    world.pass(200ms);
    world.daemon.reset();
    world.opening->open();
    while (world.parents->empty())
        world.pass(10ms);
    assert_string_equal(world.parents->front().c_str(), "parent");
    world.end_all();
}

// Until so many allocations have been given back, or a while has gone by without.
std::vector<std::string> given_back(World &world, std::size_t count) {
    auto look = world.loop->after(5ms, [&] { world.loop->stop(); });
    for (int i = 0; i < 200 && world.given->so_far().size() < count; ++i) {
        assert_true(world.loop->run().ok());
        look = world.loop->after(5ms, [&] { world.loop->stop(); });
    }
    return world.given->so_far();
}

constexpr const char *runs = "c() { echo \"$*\" >&$PMIXHOST_SPAWN_FD; }; c created job; c 'launched 0 '; ";

void an_allocation_is_given_back_with_the_last_of_its_jobs(void **) {
    World world(20s, true, runs + std::string("exec sleep 300"));
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    world.ask(2, PMIX_NOTIFY_COMPLETION, "7", true);
    world.ask(3, PMIX_NOTIFY_COMPLETION, "8");
    world.run_until_replies(3);
    assert_int_equal(given_back(world, 1).size(), 0);
    world.launcher->end_children("the tool has gone");
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
    auto back = world.given->so_far(); // before the launcher ends
    assert_int_equal(back.size(), 1);
    assert_string_equal(back[0].c_str(), "7");
}

void an_allocation_is_given_back_when_the_lobby_has_left_it(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true); // ends at once
    world.run_until_replies(1);
    assert_int_equal(given_back(world, 1).size(), 0); // its output may be on its way
    world.leave("7");
    assert_int_equal(given_back(world, 1).size(), 1);
    world.ask(2, nullptr, "8", true); // no program
    world.leave("8");
    world.run_until_replies(2);
    assert_int_equal(given_back(world, 2).size(), 2);
    world.ask(3, PMIX_NOTIFY_COMPLETION, "none", true); // the RM does not know it
    world.run_until_replies(3);
    world.leave("8"); // once more, and one that never was
    world.leave("9");
    world.launcher->end_children("the tool has gone");
    auto back = given_back(world, 3);
    assert_int_equal(back.size(), 3);
    assert_string_equal(back[2].c_str(), "none");
}

// It is killed while the RM is asked where jobs can be started.
void what_waits_for_a_place_is_over_with_the_lobby(void **) {
    World world(20s, true, "exit 0");
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    auto look = world.loop->after(1ms, [&] { world.loop->stop(); });
    while (*world.asked == 0) {
        assert_true(world.loop->run().ok());
        look = world.loop->after(1ms, [&] { world.loop->stop(); });
    }
    world.launcher->on_step_over();
    assert_true(given_back(world, 1) == std::vector<std::string>{"7"});
    look.reset();
    while (!world.ended || world.replies.empty())
        assert_true(world.loop->run().ok());
    assert_int_equal(world.replies[0].status, PMIX_ERR_JOB_CANCELED);
    world.launcher.reset(); // does not wait
    world.opening->open();
}

void who_comes_back_to_an_allocation_keeps_it(void **) {
    World world(20s, true, runs + std::string("exec sleep 300"));
    world.opening->open();
    world.ask(1, nullptr, "7", true); // refused
    world.run_until_replies(1);
    world.ask(2, PMIX_NOTIFY_COMPLETION, "7", true);
    world.leave("7"); // of the first
    world.run_until_replies(2);
    assert_int_equal(given_back(world, 1).size(), 0);
    world.launcher->end_children("the tool has gone");
    assert_int_equal(given_back(world, 1).size(), 1);
}

void the_own_allocation_is_never_given_back(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION, "", true);
    world.run_until_replies(1);
    world.launcher->on_step_over();
    if (!world.ended)
        assert_true(world.loop->run().ok());
    assert_int_equal(world.given->so_far().size(), 0);
}

// The RM is away, and there again: the launcher stays until the allocation is given back, once.
void an_allocation_that_is_not_taken_is_given_back_again(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.given->fails = 3;
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    world.run_until_replies(1);
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
    assert_true((world.given->so_far() == std::vector<std::string>(4, "7")));
}

// Who leaves it twice, or comes with another request meanwhile, does not have it given back twice.
void what_is_being_given_back_is_left_once(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.given->fails = 5;
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    world.run_until_replies(1);
    for (int i = 0; i < 3; ++i)
        world.leave("7");
    assert_int_equal(given_back(world, 6).size(), 6);
    world.leave("7");
    world.launcher->end_children("the tool has gone");
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
    assert_int_equal(world.given->so_far().size(), 6);
}

void allocations_are_given_back_one_after_the_other(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    auto gate = std::make_shared<OneTimeGate>();
    world.given->waits = gate;
    for (std::uint64_t id = 1; id <= 3; ++id)
        world.ask(id, PMIX_NOTIFY_COMPLETION, std::to_string(id), true);
    world.run_until_replies(3);
    world.launcher->on_step_over();
    assert_int_equal(given_back(world, 1).size(), 1);
    assert_false(world.ended); // until the RM has answered
    gate->open();
    while (!world.ended)
        assert_true(world.loop->run().ok());
    assert_int_equal(world.given->so_far().size(), 3);
}

void an_rm_that_stays_away_is_given_up(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.given->fails = INT32_MAX;
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    world.run_until_replies(1);
    world.launcher->on_step_over();
    while (!world.ended)
        assert_true(world.loop->run().ok());
    assert_int_equal(world.given->so_far().size(), AllocationPlaces::most_returns);
}

// The timer of a try is ended with it.
void who_is_stopped_meanwhile_asks_no_more(void **) {
    World world(20s, true, "exit 1");
    world.opening->open();
    world.given->fails = INT32_MAX;
    world.ask(1, PMIX_NOTIFY_COMPLETION, "7", true);
    world.run_until_replies(1);
    world.leave("7");
    assert_true(given_back(world, 2).size() >= 2);
    world.launcher.reset();
    auto so_far = world.given->so_far().size();
    auto stop = world.loop->after(50ms, [&] { world.loop->stop(); });
    assert_true(world.loop->run().ok());
    assert_true(world.given->so_far().size() <= so_far + 1);
}

void a_command_that_is_too_long_is_refused_by_its_limit(void **) {
    World world(20s, true, "exit 0 #" + std::string(200'000, 'x'));
    world.opening->open();
    world.ask(1, PMIX_NOTIFY_COMPLETION);
    world.run_until_replies(1);
    assert_int_equal(world.replies[0].status, PMIX_ERR_OUT_OF_RESOURCE);
    assert_non_null(strstr(world.replies[0].reason.c_str(), "MAX_ARG_STRLEN"));
}

// What several jobs say at once is read line by line; what has no end is not kept.
void the_words_of_a_job_come_in_lines(void **) {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    auto loop = std::move(*made);
    std::vector<std::string> lines;
    std::string said_in_all;
    JobCommand command{{"/bin/sh", "-c",
                        "printf 'one\nand ' >&2; sleep 0.2; printf 'two\n\n' >&2; head -c 20000 /dev/zero | "
                        "tr '\\0' x >&2; printf ' last' >&2"},
                       {"PATH=/usr/bin:/bin"},
                       {}};
    auto job = ChildJob::start(*loop, command, ChildJob::Input::silent,
                               {[](SpawnEvent) {}, [&](std::string line) { lines.push_back(std::move(line)); },
                                [&](int, std::string said) {
                                    said_in_all = std::move(said);
                                    loop->stop();
                                }});
    assert_true(job.ok());
    assert_true(loop->run().ok());
    assert_int_equal(said_in_all.size(), 8 + 5 + 20'000 + 5);
    assert_true(lines.size() == 6);
    assert_string_equal(lines[0].c_str(), "one\n");
    assert_string_equal(lines[1].c_str(), "and two\n");
    assert_string_equal(lines[2].c_str(), "\n");
    assert_int_equal(lines[3].size(), ChildJob::max_line + 1);
    assert_true(lines.back().starts_with("xxx") && lines.back().ends_with("x last\n"));
}

// A command may tell the end of its input to every host, whose tasks may have ended.
void a_job_without_input_reads_no_end(void **) {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    auto loop = std::move(*made);
    std::string said_in_all;
    // read -t 0: whether read(2) would return, also with an end.
    JobCommand command{{"/bin/bash", "-c", "read -t 0 && echo ended >&2; echo asked >&2"}, {"PATH=/usr/bin:/bin"}, {}};
    auto job = ChildJob::start(*loop, command, ChildJob::Input::silent,
                               {[](SpawnEvent) {}, [](const std::string &) {},
                                [&](int, std::string said) {
                                    said_in_all = std::move(said);
                                    loop->stop();
                                }});
    assert_true(job.ok());
    assert_true(loop->run().ok());
    assert_string_equal(said_in_all.c_str(), "asked\n");
}

// Of a daemon of another version, or of one gone mad.
void a_message_that_makes_no_sense_is_dropped_with_a_word(void **) {
    UniqueFd written(memfd_create("log", MFD_CLOEXEC));
    World world(0ms, true, {}, written.get());
    world.opening->open();
    const std::uint8_t types[] = {wire::SpawnRequest::type, wire::EndChild::type, wire::SpawnCancel::type,
                                  wire::LeaveAllocation::type, wire::StepOver::type};
    for (std::uint8_t type : types)
        world.daemon->send(peer_of(CentralRole::launcher, hosts), type, share("xyz"));
    world.daemon->send(peer_of(CentralRole::launcher, hosts), 250, share("xyz"));
    world.ask(1); // and it goes on
    world.run_until_replies(1);
    std::string text(1u << 16, '\0');
    auto got = pread(written.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    for (const char *name : {"SpawnRequest", "EndChild", "SpawnCancel", "LeaveAllocation", "StepOver"}) {
        if (text.find(name) == text.npos)
            fail_msg("the log has no %s: %s", name, text.c_str());
    }
    assert_true(text.find("parent sent a message of unknown type 250") != text.npos);
    world.end_all();
}

} // namespace

int main() {
    alarm(120); // a loop that waits is a failure
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_request_does_not_wait_longer_than_for_a_spawn),
        cmocka_unit_test(a_host_has_no_more_agents_than_tools_are_let_in),
        cmocka_unit_test(without_tools_there_is_no_agent_that_asks),
        cmocka_unit_test(who_is_told_to_end_ends),
        cmocka_unit_test(requests_of_one_moment_ask_the_rm_once_more_at_most),
        cmocka_unit_test(the_start_the_launch_and_the_end_come_in_order),
        cmocka_unit_test(what_has_begun_and_was_not_launched_ends),
        cmocka_unit_test(what_was_not_launched_and_does_not_end_is_ended),
        cmocka_unit_test(a_command_that_does_not_end_is_killed),
        cmocka_unit_test(what_waits_for_a_place_is_taken_back),
        cmocka_unit_test(what_is_being_started_is_taken_back),
        cmocka_unit_test(who_takes_no_notice_before_there_is_a_job_is_told_again),
        cmocka_unit_test(what_runs_already_is_taken_back),
        cmocka_unit_test(who_was_never_here_is_not_lost),
        cmocka_unit_test(a_step_that_lives_on_spawns_on),
        cmocka_unit_test(a_lost_host_that_is_back_commands_its_jobs),
        cmocka_unit_test(who_has_left_before_there_is_a_place_is_the_parent),
        cmocka_unit_test(an_allocation_is_given_back_with_the_last_of_its_jobs),
        cmocka_unit_test(an_allocation_is_given_back_when_the_lobby_has_left_it),
        cmocka_unit_test(what_waits_for_a_place_is_over_with_the_lobby),
        cmocka_unit_test(who_comes_back_to_an_allocation_keeps_it),
        cmocka_unit_test(the_own_allocation_is_never_given_back),
        cmocka_unit_test(an_allocation_that_is_not_taken_is_given_back_again),
        cmocka_unit_test(what_is_being_given_back_is_left_once),
        cmocka_unit_test(allocations_are_given_back_one_after_the_other),
        cmocka_unit_test(an_rm_that_stays_away_is_given_up),
        cmocka_unit_test(who_is_stopped_meanwhile_asks_no_more),
        cmocka_unit_test(a_command_that_is_too_long_is_refused_by_its_limit),
        cmocka_unit_test(the_words_of_a_job_come_in_lines),
        cmocka_unit_test(a_job_without_input_reads_no_end),
        cmocka_unit_test(a_message_that_makes_no_sense_is_dropped_with_a_word),
    };
    return cmocka_run_group_tests_name("launcher server", tests, nullptr, nullptr);
}
