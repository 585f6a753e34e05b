// What is known of the jobs that were spawned on a host, in whatever order the launcher, their hosts and their requests
// speak, and what is given back of it.
#include "server-glue/spawn/spawned_jobs.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

using Words = std::vector<std::string>;
using Names = std::vector<Bytes>;

struct World {
    SpawnedJobs jobs;
    Words heard;
    World() {
        jobs.when_runs(
            [this](const Bytes &nspace, const SpawnedJob &job) { heard.push_back(job.spawner.nspace + " " + nspace); });
        jobs.when_ended([this](const Bytes &nspace) { heard.push_back("ended " + nspace); });
        jobs.when_ended([this](const Bytes &nspace) { heard.push_back("really " + nspace); });
        jobs.when_told([this](const Bytes &nspace) { heard.push_back("told " + nspace); });
    }
    static SpawnedJob job(const Bytes &debugged = {}) {
        SpawnedJob out;
        out.spawner = {"parent", 0};
        out.debugged = debugged;
        return out;
    }
    static SpawnedJob of_tool(const Bytes &debugged = {}, bool goes_on = false) {
        SpawnedJob out = job(debugged);
        out.tool_is_here = [] { return true; };
        out.goes_on = goes_on;
        return out;
    }
    void begin(const Bytes &nspace, SpawnedJob what = job()) {
        jobs.starts(nspace);
        jobs.runs(nspace, std::move(what));
        jobs.answered(nspace);
    }
    void end(const Bytes &nspace) {
        assert_true(jobs.ended(nspace));
        jobs.told(nspace);
    }
    Words take() { return std::exchange(heard, {}); }
};

void one_after_the_other(void **) {
    World world;
    world.jobs.starts("a");
    assert_true(world.jobs.is_running("a") && world.jobs.how_many() == 0); // its request still counts it
    assert_true(world.take().empty());
    world.jobs.runs("a", World::job());
    assert_true(world.take() == Words{"parent a"} && world.jobs.how_many() == 1);
    world.jobs.answered("a");
    assert_true(world.take().empty());
    assert_true(world.jobs.running() == std::set<Bytes>{"a"} && !world.jobs.has_ended("a"));
    assert_true(world.jobs.ended("a"));
    assert_true((world.take() == Words{"ended a", "really a"}));
    assert_true(world.jobs.running().empty() && world.jobs.has_ended("a") && world.jobs.how_many() == 0);
    world.jobs.told("a");
    assert_true(world.take() == Words{"told a"});
    assert_false(world.jobs.ended("a")); // as the launcher says when it has come back
    assert_true(world.take().empty());
}

// Its end may be known, and told, at each moment before its answer: whoever hears of it hears the same.
void a_quick_job(void **) {
    for (int when = 0; when < 3; ++when) {
        for (int told = when; told < 4; ++told) {
            World world;
            auto look = [&](int now) {
                if (now == when)
                    assert_true(world.jobs.ended("a"));
                if (now == told)
                    world.jobs.told("a");
            };
            look(0);
            world.jobs.starts("a");
            assert_true(world.jobs.is_running("a") == (when > 0));
            look(1);
            world.jobs.runs("a", World::job());
            assert_true(world.take() == Words{"parent a"});
            look(2);
            assert_true(world.take().empty() && world.jobs.has_ended("a") && world.jobs.how_many() == 0);
            world.jobs.answered("a");
            look(3);
            assert_true((world.take() == Words{"ended a", "really a", "told a"}));
            assert_true(world.jobs.running().empty());
        }
    }
}

// Its request was given up before the launcher answered.
void who_is_never_answered(void **) {
    World world;
    world.jobs.starts("a");
    world.jobs.answered("a");
    assert_true(world.jobs.is_running("a"));
    world.end("a");
    assert_true(world.take().empty() && world.jobs.running().empty() && world.jobs.has_ended("a"));
}

void whose_ends_are_told(void **) {
    World world;
    assert_false(world.jobs.tells_end("nobody", 1));
    world.begin("silent");
    SpawnedJob what = World::job();
    what.tells_end = SpawnedJob::TellsEnd::if_bad;
    world.begin("bad", what);
    what.tells_end = SpawnedJob::TellsEnd::always;
    world.begin("always", what);
    for (std::optional<int> code : {std::optional<int>(0), std::optional<int>(3), std::optional<int>()}) {
        assert_false(world.jobs.tells_end("silent", code));
        assert_true(world.jobs.tells_end("bad", code) == (code != 0));
        assert_true(world.jobs.tells_end("always", code));
    }
    world.end("always");
    assert_false(world.jobs.tells_end("always", 3));
}

void debuggers_are_beside_what_they_debug(void **) {
    World world;
    world.begin("job");
    world.begin("one", World::of_tool("job"));
    assert_true(world.jobs.debuggers_of("job") == Names{"one"});
    assert_false(world.jobs.has_lasting_debuggers("job"));
    world.begin("two", World::of_tool("job", true));
    world.begin("other", World::job("elsewhere"));
    assert_true((world.jobs.debuggers_of("job") == Names{"one", "two"}));
    assert_true(world.jobs.has_lasting_debuggers("job"));
    assert_true(world.jobs.has_lasting_debuggers("elsewhere")); // no tool has spawned them
    world.end("job");                                           // they hear of it, and then end
    assert_true((world.jobs.debuggers_of("job") == Names{"one", "two"}));
    world.end("two");
    assert_true(world.jobs.debuggers_of("job") == Names{"one"});
    assert_false(world.jobs.has_lasting_debuggers("job"));
    world.end("one");
    world.end("other");
    assert_true(world.jobs.debuggers_of("job").empty() && world.jobs.debuggers_of("elsewhere").empty());
    // Over before they are known to be any.
    world.jobs.ended("quick");
    world.begin("quick", World::of_tool("job"));
    assert_true(world.jobs.debuggers_of("job").empty());
}

void who_ends_with_its_tool(void **) {
    SpawnedJob job = World::job();
    assert_false(job.ends_with_tool());
    job = World::of_tool();
    assert_true(job.ends_with_tool());
    job.goes_on = true;
    assert_false(job.ends_with_tool());
    job.stands = true; // nobody would let it go
    assert_true(job.ends_with_tool());
}

void what_is_known_of_ended_jobs_is_bounded(void **) {
    World world;
    world.begin("lasting");
    for (int i = 0; i < 100'000; ++i) {
        std::string name = std::to_string(i);
        world.begin(name, World::of_tool(i % 2 == 0 ? "lasting" : ""));
        world.end(name);
        world.heard.clear();
    }
    assert_true(world.jobs.how_many() == 1 && world.jobs.running() == std::set<Bytes>{"lasting"});
    assert_true(world.jobs.debuggers_of("lasting").empty());
    assert_true(world.jobs.has_ended("99999") && world.jobs.has_ended("90000"));
    assert_false(world.jobs.has_ended("89999")); // the oldest went
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(a_quick_job),
        cmocka_unit_test(who_is_never_answered),
        cmocka_unit_test(whose_ends_are_told),
        cmocka_unit_test(debuggers_are_beside_what_they_debug),
        cmocka_unit_test(who_ends_with_its_tool),
        cmocka_unit_test(what_is_known_of_ended_jobs_is_bounded),
    };
    return cmocka_run_group_tests_name("jobs that were spawned", tests, nullptr, nullptr);
}
