// The allocations of a launcher: when the RM is asked what starts jobs there, and when one is given back.
#include "server-glue/spawn/allocation_places.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/no_hosts.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// An RM that has the own allocation and those whose names are numbers.
struct World {
    struct Rm {
        std::atomic<int> asked = 0; // for a starter
        std::optional<OneTimeGate> gate;
        std::mutex mutex;
        std::vector<std::string> back; // in order
    };
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    std::shared_ptr<Rm> rm = std::make_shared<Rm>();
    std::optional<AllocationPlaces> places;
    std::vector<std::string> found; // in order
    std::size_t told_of = 0;        // allocations that are given back

    explicit World(Duration lobby_patience = 20s, bool is_slow = false) {
        if (is_slow)
            rm->gate.emplace();
        places.emplace(*loop, log,
                       AllocationPlaces::Calls{[rm = rm](const std::string &allocation) {
                                                   ++rm->asked;
                                                   if (rm->gate)
                                                       rm->gate->wait();
                                                   return starter_in(allocation);
                                               },
                                               [rm = rm](const std::string &allocation) -> Result<void> {
                                                   std::lock_guard lock(rm->mutex);
                                                   rm->back.push_back(allocation);
                                                   return {};
                                               },
                                               1ms, lobby_patience},
                       8, [this] { ++told_of; });
    }
    static Result<std::shared_ptr<JobStarter>> starter_in(const std::string &allocation) {
        if (allocation == "none")
            return error(ErrorKind::not_found, "there is no allocation");
        return std::static_pointer_cast<JobStarter>(std::make_shared<NoHosts>());
    }
    void find(const std::string &allocation, std::chrono::milliseconds limit = 20s) {
        places->find_starter(allocation, limit, [this](Result<std::shared_ptr<JobStarter>> one) {
            found.push_back(one ? "a starter" : one.failure().text);
        });
    }
    void await_found(std::size_t count) {
        run_until(*loop, [&] { return found.size() >= count; });
    }
    std::vector<std::string> back() {
        std::lock_guard lock(rm->mutex);
        return rm->back;
    }
};

void the_rm_is_asked_once_for_an_allocation(void **) {
    World world(20s, true);
    assert_null(world.places->enter("7", false).get());
    world.places->enter("7", false);
    world.find("7");
    world.find("7");
    assert_true(world.found.empty()); // never from within
    world.rm->gate->open();
    world.await_found(2);
    assert_true((world.found == std::vector<std::string>(2, "a starter")));
    assert_true(world.rm->asked <= 2); // where the second asked when the first was under way
    assert_non_null(world.places->enter("7", false).get());
}

void what_was_not_found_is_looked_for_again(void **) {
    World world;
    world.places->enter("none", false);
    world.find("none");
    world.await_found(1);
    assert_string_equal(world.found[0].c_str(), "there is no allocation");
    assert_null(world.places->enter("none", false).get());
    world.find("none");
    world.await_found(2);
    assert_int_equal(world.rm->asked, 2);
}

void an_rm_that_does_not_answer_is_not_waited_for(void **) {
    World world(20s, true);
    world.places->enter("", false);
    world.find("", 100ms);
    world.await_found(1);
    assert_string_equal(world.found[0].c_str(), "the resource manager has not answered within 0.1 s");
    world.rm->gate->open();
}

// It is asked for what starts jobs in a place that is nobody's any more.
void who_has_left_does_not_bring_a_place_back(void **) {
    World world(20s, true);
    world.places->enter("7", false);
    world.find("7");
    world.places->leave("7");
    world.rm->gate->open();
    world.await_found(1);
    assert_null(world.places->enter("7", false).get());
}

// Between jobs it is not looked for again; any other is forgotten with the last of its jobs.
void the_own_one_stays_as_it_is_known(void **) {
    World world;
    for (const char *allocation : {"", "7"}) {
        world.places->enter(allocation, true);
        world.find(allocation);
    }
    world.await_found(2);
    world.places->close();
    world.places->leave("");
    world.places->leave("7");
    assert_non_null(world.places->enter("", false).get());
    assert_null(world.places->enter("7", false).get());
    run_until(*world.loop, [&] { return world.told_of == 1; });
    assert_true((world.back() == std::vector<std::string>{"7"}));
    assert_false(world.places->is_giving_back());
}

void a_lobby_that_says_nothing_is_not_waited_for(void **) {
    World world(50ms);
    world.places->enter("7", true);
    world.places->enter("8", false);
    world.places->leave("8"); // the user's own
    world.places->leave("7");
    assert_false(world.places->is_giving_back()); // its output may be on its way
    run_until(*world.loop, [&] { return world.told_of == 1; });
    world.places->leave("7"); // once too often
    world.places->lobby_leaves("7");
    world.places->close();
    assert_false(world.places->is_giving_back());
    assert_true((world.back() == std::vector<std::string>{"7"}));
}

void who_enters_again_keeps_the_allocation(void **) {
    World world(1ms);
    world.places->enter("7", true);
    world.places->leave("7");
    world.places->enter("7", false); // as the first one said
    bool over = false;
    auto later = world.loop->after(50ms, [&] { over = true; });
    run_until(*world.loop, [&] { return over; });
    assert_true(world.back().empty());
    world.places->lobby_leaves("7");
    assert_false(world.places->is_giving_back());
    world.places->leave("7");
    assert_true(world.places->is_giving_back());
    run_until(*world.loop, [&] { return world.told_of == 1; });
}

void when_it_is_closed_the_idle_go_first(void **) {
    World world;
    for (const char *allocation : {"7", "8"})
        world.places->enter(allocation, true);
    world.places->leave("8");
    world.places->close();
    run_until(*world.loop, [&] { return world.told_of == 1; });
    assert_true((world.back() == std::vector<std::string>{"8"}));
    world.places->leave("7");
    run_until(*world.loop, [&] { return world.told_of == 2; });
    assert_true((world.back() == std::vector<std::string>{"8", "7"}));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_rm_is_asked_once_for_an_allocation),
        cmocka_unit_test(what_was_not_found_is_looked_for_again),
        cmocka_unit_test(an_rm_that_does_not_answer_is_not_waited_for),
        cmocka_unit_test(who_has_left_does_not_bring_a_place_back),
        cmocka_unit_test(the_own_one_stays_as_it_is_known),
        cmocka_unit_test(a_lobby_that_says_nothing_is_not_waited_for),
        cmocka_unit_test(who_enters_again_keeps_the_allocation),
        cmocka_unit_test(when_it_is_closed_the_idle_go_first),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
