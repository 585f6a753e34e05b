// Where a lobby's jobs are started, with a resource manager that does what the test says: it refuses, answers late,
// twice or with nonsense, while the tool goes, the lobby leaves, or the launcher is gone. And who gives back.
#include "server-glue/spawn/spawn_places.h"

#include "common/transport/invitation.h"
#include "server-glue/library/convert.h"
#include "server-glue/rm/spawn_places.h"
#include "server-glue/spawn/spawn_request.h"

#include "test/unit/bare_rm.h"
#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <algorithm>
#include <pmix.h>
#include <set>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct FakeRm final : BareRm, RmAllocations, RmSpawnPlaces, RmUserNotes {
    using Done = std::function<void(Result<RmAllocated>)>;
    struct Asked {
        std::uint64_t id = 0;
        RmAllocation request;
        TimePoint deadline;
        Done done;
    };
    bool gives_allocations = true;
    std::vector<Asked> asked, given_back; // new ones; releases
    std::vector<std::uint64_t> abandoned;
    std::vector<std::string> entered, notes;

    RmAllocations *allocations() override { return gives_allocations ? this : nullptr; }
    RmSpawnPlaces *spawn_places() override { return this; }
    RmUserNotes *user_notes() override { return this; }
    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline, Done done) override {
        auto &list = request.kind == RmAllocation::Kind::release ? given_back : asked;
        list.push_back({id, std::move(request), deadline, std::move(done)});
    }
    void abandon_allocation(std::uint64_t id) override { abandoned.push_back(id); }
    void look_at(std::string allocation, TimePoint deadline, Done done) override {
        RmAllocation named;
        named.allocation = std::move(allocation);
        asked.push_back({0, std::move(named), deadline, std::move(done)});
    }
    void enter(const RmAllocated &allocation) override { entered.push_back(allocation.allocation); }
    void tell_user(UserNote note, std::function<void(Result<void>)>) override { notes.push_back(note.line); }
};

RmAllocated allocated(const std::string &name) {
    RmAllocated out;
    out.allocation = name;
    out.hosts = {"n1"};
    return out;
}

wire::SpawnDirective text(const char *key, const std::string &value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::text), value, 0};
}
wire::SpawnDirective number(const char *key, std::uint64_t value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::number), {}, value};
}

// A lobby with one tool, and its launcher, which is a mesh alone.
struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    FakeRm rm;
    std::optional<StepContext> context;
    std::unique_ptr<Mesh> mesh, launcher;
    std::vector<std::string> left, ended;         // as the launcher hears
    std::vector<std::string> resumed, left_alone; // jobs that a debugger has paused, and has had stop
    std::optional<StepTools> tools;
    SpawnedJobs jobs;
    std::set<std::string> undrained; // jobs whose output still comes
    std::optional<ToolChildren> children;
    std::optional<SpawnPlaces> places;
    std::shared_ptr<bool> is_here = std::make_shared<bool>(true);
    int sessions_left = 0;
    struct Found {
        pmix_status_t status;
        SpawnPlaces::Stay stay;
        wire::SpawnRequest request;
    };
    std::vector<Found> found;

    static StepInfo step(bool is_lobby) {
        StepInfo info;
        info.is_lobby = is_lobby;
        info.nspace = info.job_id = info.step_key = "lobby";
        info.session_id = is_lobby ? 0 : 12;
        info.map = JobMap::without_ranks("here");
        info.apps.push_back({});
        return info;
    }
    explicit World(bool is_lobby = true) {
        settings.transport_interfaces = {"lo"};
        settings.allocation_timeout = 0ms;
        rm.info = step(is_lobby);
        context.emplace(*loop, log, settings, rm, false, DebugStops());
        context->leave_session = [this] { ++sessions_left; };
        mesh = make_mesh(0, {});
        context->mesh = mesh.get();
        tools.emplace(*context);
        children.emplace(*context, *tools, jobs,
                         ToolChildren::Debugged{[this](const Process &tool, const Bytes &debugged) {
                                                    resumed.push_back(tool.nspace + " " + debugged);
                                                },
                                                [this](const Bytes &nspace) { left_alone.push_back(nspace); }});
        places.emplace(*context, *children, jobs, [this](const Bytes &nspace) { return !undrained.contains(nspace); });
        ToolVisitor visitor;
        visitor.nspace = "tool";
        tools->came(visitor, {[here = is_here] { return *here; }, [] { return std::size_t{0}; }});
    }
    std::unique_ptr<Mesh> make_mesh(HostIndex self, std::function<void(std::uint8_t, const Bytes &)> hear) {
        auto made = Mesh::create(*loop, log, settings, "lobby", self, 1 + central_role_count,
                                 make_secret_authenticator("secret"),
                                 {[hear](HostIndex, std::uint8_t type, Bytes payload) { hear(type, payload); },
                                  [](HostIndex, Mesh::Gone, const Error &) {},
                                  [this](HostIndex, Bytes contact, TimePoint, std::function<void(Result<void>)> done) {
                                      loop->post([this, contact, done] {
                                          if (launcher)
                                              launcher->on_contact(contact);
                                          done({});
                                      });
                                  }});
        assert_true(made.ok());
        return std::move(*made);
    }
    void connect_launcher() {
        launcher = make_mesh(context->launcher_peer(), [this](std::uint8_t type, const Bytes &payload) {
            if (type == wire::EndChild::type)
                return ended.push_back(wire::decode<wire::EndChild>(payload)->nspace);
            assert_int_equal(type, wire::LeaveAllocation::type);
            left.push_back(wire::decode<wire::LeaveAllocation>(payload)->allocation);
        });
        mesh->invite(context->launcher_peer());
        run_until(*loop, [&] { return mesh->connected(context->launcher_peer()); });
    }
    void ask(std::vector<wire::SpawnDirective> directives) {
        wire::SpawnRequest request;
        request.directives = std::move(directives);
        auto &app = request.apps.emplace_back();
        app.count = 2;
        places->find({"tool", 0}, std::move(request),
                     [this](pmix_status_t status, SpawnPlaces::Stay stay, wire::SpawnRequest placed) {
                         found.push_back({status, std::move(stay), std::move(placed)});
                     });
    }
    // A job runs. `tool_is_here`: is the tool that has spawned it? Null: none has.
    void runs(
        const Bytes &nspace, const Bytes &debugged = {}, bool goes_on = false, bool stands = false,
        std::function<bool()> tool_is_here = [] { return true; }) {
        SpawnedJob job;
        job.spawner = {"tool", 0};
        job.tool_is_here = std::move(tool_is_here);
        job.debugged = debugged;
        job.goes_on = goes_on;
        job.stands = stands;
        jobs.starts(nspace);
        jobs.runs(nspace, std::move(job));
        jobs.answered(nspace);
    }
    void ends(const Bytes &nspace) {
        jobs.ended(nspace);
        jobs.told(nspace);
    }
    void answer(Result<RmAllocated> outcome) { rm.asked.back().done(std::move(outcome)); }
    // It has a place, from which jobs have gone when `found` is cleared.
    void has_place(const char *name, bool is_new) {
        ask({is_new ? number(PMIX_ALLOC_NUM_NODES, 1) : text(PMIX_ALLOC_ID, name)});
        answer(allocated(name));
        is_found(name, is_new);
    }
    void is_found(const char *name, bool gives_back) {
        assert_false(found.empty());
        assert_int_equal(found.back().status, PMIX_SUCCESS);
        assert_string_equal(found.back().request.allocation.c_str(), name);
        assert_int_equal(found.back().request.gives_back, gives_back ? 1 : 0);
    }
    void is_refused(pmix_status_t status, const char *why) {
        assert_false(found.empty());
        assert_int_equal(found.back().status, status);
        assert_null(found.back().stay.get());
        assert_false(rm.notes.empty());
        assert_non_null(std::strstr(rm.notes.back().c_str(), why));
    }
    bool has_given_back(const char *name, std::size_t times = 1) {
        return rm.given_back.size() == times && rm.given_back.back().request.allocation == name;
    }
};

// --- who has what -----------------------------------------------------------------------------------

void a_named_place_stays_when_its_jobs_have_gone(void **) {
    World world;
    world.has_place("7", false);
    assert_true(world.rm.entered == std::vector<std::string>{"7"});
    world.found.clear();
    assert_null(world.places->stay().get());
    assert_true(world.rm.given_back.empty() && !world.places->has_unsent());
}

void a_place_that_was_asked_for_is_given_back_by_who_knows_of_it(void **) {
    World world;
    world.has_place("7", true);
    assert_true(world.rm.asked[0].request.fails_if_hopeless);
    assert_int_equal(world.rm.asked[0].request.cpus, 2); // one for each process
    assert_true(world.rm.asked[0].id >= std::uint64_t{1} << 63);
    world.found.clear(); // refused in the lobby: the launcher was never asked
    assert_true(world.has_given_back("7"));
    assert_true(world.places->has_unsent());
    world.rm.given_back[0].done(error(ErrorKind::not_found, "it is over"));
    assert_false(world.places->has_unsent());

    world.connect_launcher(); // it knows nothing of the next one either
    world.has_place("8", true);
    world.found.clear();
    assert_true(world.has_given_back("8", 2));

    world.has_place("9", true);
    world.places->note_sent();
    world.found.clear();
    run_until(*world.loop, [&] { return !world.left.empty(); });
    assert_string_equal(world.left[0].c_str(), "9");
    assert_int_equal(world.rm.given_back.size(), 2);
}

void jobs_come_together_in_a_place(void **) {
    World world;
    world.has_place("7", true);
    world.ask({});
    world.is_found("7", true);
    world.ask({text(PMIX_ALLOC_ID, "7")});
    world.is_found("7", true);
    assert_int_equal(world.rm.asked.size(), 1);
    world.found.pop_back();
    world.found.pop_back();
    assert_true(world.rm.given_back.empty());
    world.found.clear();
    assert_true(world.has_given_back("7"));
}

// The last word of it, and of its output, come through the session of the allocation.
void a_job_is_in_its_place_until_nothing_more_comes_of_it(void **) {
    World world;
    world.has_place("7", true);
    world.undrained = {"one"};
    world.runs("one");
    world.runs("two");
    world.found.clear(); // both are answered
    world.ends("two");
    world.jobs.ended("one");
    assert_non_null(world.places->stay().get());
    assert_true(world.places->next_time() == TimePoint::max()); // its end is to be told first
    world.jobs.told("one");
    world.places->on_time(world.places->next_time());
    assert_non_null(world.places->stay().get());
    world.undrained.clear();
    assert_true(world.rm.given_back.empty());
    world.places->on_time(world.places->next_time());
    assert_true(world.has_given_back("7"));
    assert_true(world.places->next_time() == TimePoint::max());

    World other;
    other.has_place("7", true);
    other.undrained = {"one"};
    other.runs("one");
    other.found.clear();
    other.ends("one");
    other.places->on_time(other.context->now() + 1min); // nor is it waited for without an end
    assert_true(other.has_given_back("7"));
}

void a_tool_has_one_place_at_a_time(void **) {
    World world;
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    world.ask({text(PMIX_ALLOC_ID, "8")});
    world.is_refused(PMIX_ERR_RESOURCE_BUSY, "jobs of this tool wait for an allocation");
    world.answer(allocated("7"));
    world.is_found("7", true);
    world.ask({text(PMIX_ALLOC_ID, "8")});
    world.is_refused(PMIX_ERR_RESOURCE_BUSY, "jobs of this tool are in allocation 7");
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    world.is_refused(PMIX_ERR_RESOURCE_BUSY, "allocation 7");
}

// Its daemons are in the session of the other one.
void who_goes_on_to_another_place_leaves_the_session(void **) {
    World world;
    world.has_place("7", false);
    assert_int_equal(world.sessions_left, 0);
    world.found.clear();
    world.has_place("7", false);
    assert_int_equal(world.sessions_left, 0);
    world.found.clear();
    world.has_place("8", false);
    assert_int_equal(world.sessions_left, 1);
    world.found.clear();
    world.has_place("7", true);
    assert_int_equal(world.sessions_left, 2);
}

void what_makes_no_sense_in_a_lobby_is_refused(void **) {
    World world;
    world.ask({});
    world.is_refused(PMIX_ERR_JOB_ALLOC_FAILED, "PMIX_ALLOC_ID");
    world.ask({text(PMIX_ALLOC_ID, "two words")});
    world.is_refused(PMIX_ERR_BAD_PARAM, PMIX_ALLOC_ID);
    world.ask({text(PMIX_ALLOC_ID, "7"), {PMIX_NOHUP, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1}});
    world.is_refused(PMIX_ERR_NOT_SUPPORTED, "PMIX_NOHUP");
    world.rm.gives_allocations = false;
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    world.is_refused(PMIX_ERR_NOT_SUPPORTED, "gives no allocations");
    assert_true(world.rm.asked.empty());
}

// --- the resource manager ---------------------------------------------------------------------------

void what_the_rm_refuses_is_told_and_leaves_nothing(void **) {
    World world;
    for (auto kind : {ErrorKind::not_found, ErrorKind::denied, ErrorKind::limit, ErrorKind::timeout,
                      ErrorKind::unreachable, ErrorKind::exists}) {
        world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
        world.answer(error(kind, "slurm\nsays no"));
        world.is_refused(status_of(kind), "says no");
        assert_null(std::strchr(world.rm.notes.back().c_str(), '\n'));
    }
    assert_true(world.rm.entered.empty() && world.rm.given_back.empty());
    world.has_place("7", false); // and the next one may
}

void who_tries_again_and_again_is_told_once(void **) {
    World world;
    world.has_place("7", false);
    for (int i = 0; i < 3; ++i) {
        world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
        world.is_refused(PMIX_ERR_RESOURCE_BUSY, "in one at a time");
    }
    assert_int_equal(world.rm.notes.size(), 1);
    world.ask({{PMIX_NOHUP, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1}});
    world.is_refused(PMIX_ERR_NOT_SUPPORTED, "PMIX_NOHUP");
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    assert_int_equal(world.rm.notes.size(), 3);
    // With another place all begins anew.
    world.found.clear();
    world.has_place("8", false);
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    assert_int_equal(world.rm.notes.size(), 4);
}

void an_answer_that_names_nothing_is_none(void **) {
    World world;
    for (bool is_new : {false, true}) {
        world.ask({is_new ? number(PMIX_ALLOC_NUM_NODES, 1) : text(PMIX_ALLOC_ID, "7")});
        world.answer(allocated(""));
        world.is_refused(PMIX_ERROR, "names no allocation");
    }
    assert_true(world.rm.entered.empty() && world.rm.given_back.empty());
}

void a_second_answer_is_passed_over(void **) {
    World world;
    world.has_place("7", true);
    world.answer(allocated("8"));
    world.answer(error(ErrorKind::limit, "after all not"));
    assert_int_equal(world.found.size(), 1);
    assert_true(world.rm.entered == std::vector<std::string>{"7"});
}

void the_time_that_waiting_took_is_not_there_for_the_start(void **) {
    World world;
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1), number(PMIX_TIMEOUT, 100)});
    auto patience = world.rm.asked[0].deadline - world.context->now();
    assert_true(patience > 90s && patience <= 100s);
    world.answer(allocated("7"));
    assert_true(start_limit_of(world.found[0].request) >= 90 && start_limit_of(world.found[0].request) <= 100);
    world.found.clear();
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)}); // as long as it takes
    assert_true(world.rm.asked[1].deadline == TimePoint::max());
    world.answer(error(ErrorKind::limit, "no"));
    world.ask({text(PMIX_ALLOC_ID, "8")}); // that the RM says at once
    assert_true(world.rm.asked[2].deadline - world.context->now() <= 30s);
}

// --- who goes ---------------------------------------------------------------------------------------

void a_tool_that_goes_meanwhile_gives_up_its_allocation(void **) {
    World world;
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    world.places->on_time(world.places->next_time());
    assert_true(world.rm.abandoned.empty()); // it is there
    *world.is_here = false;
    world.places->on_time(world.places->next_time());
    assert_true(world.rm.abandoned == std::vector<std::uint64_t>{world.rm.asked[0].id});
    assert_true(world.places->next_time() == TimePoint::max());
    world.answer(allocated("7")); // nobody wants to know
    assert_true(world.found.empty() && world.rm.entered.empty());
}

void a_tool_that_goes_while_an_allocation_is_looked_at_leaves_it(void **) {
    World world;
    world.ask({text(PMIX_ALLOC_ID, "7")});
    *world.is_here = false;
    world.places->on_time(world.places->next_time());
    assert_true(world.rm.abandoned.empty()); // there is nothing to give up
    world.answer(allocated("7"));
    assert_true(world.found.empty() && world.rm.entered.empty() && world.rm.given_back.empty());
}

void a_lobby_that_leaves_gives_up_what_it_waits_for(void **) {
    World world;
    world.ask({number(PMIX_ALLOC_NUM_NODES, 1)});
    world.context->ending = true;
    world.places->on_leaving(true);
    assert_int_equal(world.rm.abandoned.size(), 1);
    world.answer(allocated("7")); // it was granted all the same
    assert_true(world.found.empty());
    assert_true(world.has_given_back("7"));
}

void a_lobby_that_leaves_gives_back_what_no_launcher_knows(void **) {
    for (bool is_sent : {false, true}) {
        World world;
        world.has_place("7", true);
        if (is_sent)
            world.places->note_sent(); // it waits for the connection
        world.places->on_leaving(true);
        assert_true(world.has_given_back("7"));
        world.found.clear();
        assert_true(world.has_given_back("7")); // once
    }
    World world;
    world.connect_launcher();
    world.has_place("7", true);
    world.places->note_sent();
    world.places->on_leaving(true); // the launcher does, when it has ended the jobs
    assert_true(world.rm.given_back.empty());
}

void the_launcher_goes(void **) {
    World world;
    world.connect_launcher();
    world.has_place("7", true);
    world.places->note_sent();
    world.places->on_launcher_gone();
    assert_true(world.has_given_back("7"));
    world.found.clear();
    world.places->on_launcher_gone();
    assert_true(world.has_given_back("7")); // once
}

void who_keeps_a_place_may_outlive_the_service(void **) {
    World world;
    world.has_place("7", true);
    world.places.reset();
    world.found.clear();
    assert_true(world.rm.given_back.empty());
}

// --- the jobs of tools ------------------------------------------------------------------------------

// Who has its server no more has disconnected.
void a_server_that_leaves_ends_what_its_tools_have_spawned(void **) {
    World world;
    world.connect_launcher();
    world.runs("its");
    world.runs("lasting", "", true, true);
    world.runs("of no meaning to its tool", "", true);
    world.runs("daemons", "lobby");
    world.runs("daemons of its", "its");
    world.runs("over");
    world.ends("over");
    world.children->on_leaving(false);
    world.context->send(world.context->launcher_peer(), wire::LeaveAllocation{"last"});
    run_until(*world.loop, [&] { return !world.left.empty(); });
    assert_true(world.ended == std::vector<std::string>{"its"});
    assert_true(world.left_alone == std::vector<std::string>{"lasting"});
}

// What it has paused of a job that goes on would stay so, and its daemons would wait for the end of that.
void a_server_that_leaves_lets_go_what_its_debuggers_have_paused(void **) {
    World world;
    world.connect_launcher();
    world.runs("daemons", "one");
    world.runs("short daemons", "two");
    world.ends("short daemons");
    world.runs("lasting daemons", "three", true);
    world.children->on_leaving(false);
    world.context->send(world.context->launcher_peer(), wire::LeaveAllocation{"last"});
    run_until(*world.loop, [&] { return !world.left.empty(); });
    std::sort(world.resumed.begin(), world.resumed.end());
    assert_true((world.resumed == std::vector<std::string>{"tool one", "tool three", "tool two"}));
    assert_true(world.ended == std::vector<std::string>{"daemons"});
}

// Its daemons, which go on as well, see to who stands as long as they are there.
void who_stands_when_the_last_debugger_has_gone_is_left_alone(void **) {
    World world;
    bool is_here = true;
    world.runs("lasting", "", true, true, [&is_here] { return is_here; });
    world.runs("its daemons", "lasting", false, false, nullptr); // a process of a job has spawned them
    TimePoint now = world.context->now();
    auto look = [&] { world.children->on_time(now += 1s); };
    look();
    is_here = false;
    look();
    assert_true(world.left_alone.empty());
    assert_true(world.children->next_time() < TimePoint::max());
    world.ends("its daemons");
    look();
    look();
    assert_true(world.left_alone == std::vector<std::string>{"lasting"}); // once
    assert_true(world.children->next_time() == TimePoint::max());
}

// --- a step that has processes ----------------------------------------------------------------------

void in_a_step_there_is_the_own_allocation(void **) {
    World world(false);
    for (auto directives : {std::vector<wire::SpawnDirective>{},
                            {text(PMIX_ALLOC_ID, "12")},
                            {number(PMIX_SESSION_ID, 12)},
                            {number(PMIX_ALLOC_NUM_NODES, 1)},
                            {text(PMIX_ALLOC_QUEUE, "two words")}}) {
        world.ask(directives);
        world.is_found("", false);
        assert_null(world.found.back().stay.get());
    }
    world.ask({text(PMIX_ALLOC_ID, "13")});
    assert_int_equal(world.found.back().status, PMIX_ERR_NOT_SUPPORTED);
    auto required = number(PMIX_ALLOC_NUM_NODES, 1);
    required.required = 1;
    world.ask({required});
    assert_int_equal(world.found.back().status, PMIX_ERR_NOT_SUPPORTED);
    assert_true(world.rm.asked.empty() && world.rm.notes.empty()); // the log has it
}

// What serves a step is made one after the other, and may be asked for something by then.
void nothing_may_be_done_before_there_are_rules(void **) {
    auto loop = make_loop();
    Log log(2, LogLevel::error, "test");
    Settings settings;
    FakeRm rm;
    rm.info = World::step(false);
    StepContext context(*loop, log, settings, rm, false, DebugStops());
    for (auto action : policy::all_actions)
        assert_false(context.may({"tool", 0}, action));
    assert_false(context.is_end_of_job({}));
    context.before_the_session_hears();
    context.leave_session();
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_named_place_stays_when_its_jobs_have_gone),
        cmocka_unit_test(a_place_that_was_asked_for_is_given_back_by_who_knows_of_it),
        cmocka_unit_test(jobs_come_together_in_a_place),
        cmocka_unit_test(a_job_is_in_its_place_until_nothing_more_comes_of_it),
        cmocka_unit_test(a_tool_has_one_place_at_a_time),
        cmocka_unit_test(who_goes_on_to_another_place_leaves_the_session),
        cmocka_unit_test(what_makes_no_sense_in_a_lobby_is_refused),
        cmocka_unit_test(what_the_rm_refuses_is_told_and_leaves_nothing),
        cmocka_unit_test(who_tries_again_and_again_is_told_once),
        cmocka_unit_test(an_answer_that_names_nothing_is_none),
        cmocka_unit_test(a_second_answer_is_passed_over),
        cmocka_unit_test(the_time_that_waiting_took_is_not_there_for_the_start),
        cmocka_unit_test(a_tool_that_goes_meanwhile_gives_up_its_allocation),
        cmocka_unit_test(a_tool_that_goes_while_an_allocation_is_looked_at_leaves_it),
        cmocka_unit_test(a_lobby_that_leaves_gives_up_what_it_waits_for),
        cmocka_unit_test(a_lobby_that_leaves_gives_back_what_no_launcher_knows),
        cmocka_unit_test(the_launcher_goes),
        cmocka_unit_test(who_keeps_a_place_may_outlive_the_service),
        cmocka_unit_test(a_server_that_leaves_ends_what_its_tools_have_spawned),
        cmocka_unit_test(a_server_that_leaves_lets_go_what_its_debuggers_have_paused),
        cmocka_unit_test(who_stands_when_the_last_debugger_has_gone_is_left_alone),
        cmocka_unit_test(in_a_step_there_is_the_own_allocation),
        cmocka_unit_test(nothing_may_be_done_before_there_are_rules),
    };
    return cmocka_run_group_tests_name("where jobs are started", tests, nullptr, nullptr);
}
