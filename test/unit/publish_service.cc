// Publish and lookup on the side of a step's daemon: processes and tools ask in their own name, and the session hears
// of a tool's end.
#include "server-glue/publish/publish_service.h"

#include "common/wire/session_messages.h"
#include "test/unit/fake_hosts.h"

#include <pmix_common.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World final : PublishPort {
    FakeHosts hosts;
    std::set<Bytes> here; // tools
    std::optional<uid_t> visitor;
    std::optional<std::uint32_t> says; // whose user's the data is
    TimePoint now = TimePoint() + 1000s;
    std::vector<pmix_status_t> answers;
    PublishService service{hosts, *this, "node", {10s, 60s, 4096}}; // the last: what waits is answered when it goes

    Owner owner_of(const Process &) override { return {1000, 100}; }
    std::optional<ToolPlace> tool(const Process &process) override {
        if (process.nspace == "job")
            return std::nullopt;
        return ToolPlace{"10.0.0.1", [this, name = process.nspace] { return here.contains(name); }, visitor};
    }
    void not_found() override {}
    int reached = 0;
    void reach_session() override { ++reached; }

    void publish(const Bytes &nspace, Rank rank, std::optional<std::chrono::seconds> timeout = std::nullopt,
                 const Bytes &value = "value") {
        PublishAsk ask;
        ask.caller = {nspace, rank};
        ask.data = {{"key", value}};
        ask.other_user = says;
        ask.timeout = timeout;
        ask.reply = {[this](pmix_status_t status) { answers.push_back(status); }, PMIX_ERROR};
        service.publish(now, std::move(ask));
    }
    void look_up(const Bytes &nspace, Rank rank, std::optional<std::chrono::seconds> timeout = std::nullopt) {
        LookupAsk ask;
        ask.timeout = timeout;
        ask.caller = {nspace, rank};
        ask.keys = {"key"};
        ask.wait = 0;
        ask.reply = {[this](pmix_status_t status, std::vector<wire::Found>) { answers.push_back(status); }, PMIX_ERROR,
                     std::vector<wire::Found>()};
        service.lookup(now, std::move(ask));
    }
    void unpublish(const Bytes &nspace, Rank rank) {
        UnpublishAsk ask;
        ask.caller = {nspace, rank};
        ask.reply = {[this](pmix_status_t status) { answers.push_back(status); }, PMIX_ERROR};
        service.unpublish(now, std::move(ask));
    }
    template <typename Message> Message said() {
        assert_false(hosts.to_session.empty());
        auto [type, bytes] = hosts.to_session.front();
        hosts.to_session.pop_front();
        assert_int_equal(type, Message::type);
        return *wire::decode<Message>(bytes);
    }
    void pass(Duration time) {
        now += time;
        if (service.next_time() <= now)
            service.on_time(now);
    }
};

void a_tool_publishes_in_its_own_name(void **) {
    World world;
    world.here = {"tool"};
    world.publish("tool", 3);
    auto of_tool = world.said<wire::PublishRequest>();
    assert_string_equal(of_tool.tool.c_str(), "tool");
    assert_int_equal(of_tool.rank, 3);
    assert_string_equal(of_tool.host.c_str(), "10.0.0.1");
    assert_int_equal(of_tool.uid, 1000);
    world.publish("job", 3);
    auto of_process = world.said<wire::PublishRequest>();
    assert_string_equal(of_process.tool.c_str(), "");
    assert_string_equal(of_process.host.c_str(), "node");
    assert_int_not_equal(of_tool.id, of_process.id);
    world.service.on_reply({of_tool.id, PMIX_ERR_DUPLICATE_KEY, {}});
    assert_int_equal(world.answers.size(), 1);
    assert_int_equal(world.answers[0], PMIX_ERR_DUPLICATE_KEY);
}

void a_tool_takes_back_its_own(void **) {
    World world;
    world.here = {"tool"};
    world.unpublish("tool", 3);
    auto of_tool = world.said<wire::UnpublishRequest>();
    assert_string_equal(of_tool.tool.c_str(), "tool");
    assert_int_equal(of_tool.rank, 3);
    world.unpublish("job", 2);
    auto of_process = world.said<wire::UnpublishRequest>();
    assert_string_equal(of_process.tool.c_str(), "");
    assert_int_equal(of_process.rank, 2);
    world.service.on_reply({of_process.id, PMIX_ERR_NOT_FOUND, {}});
    world.service.on_reply({of_tool.id, PMIX_SUCCESS, {}});
    assert_int_equal(world.answers.size(), 2);
    assert_int_equal(world.answers[0], PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.answers[1], PMIX_SUCCESS);
}

void the_session_hears_of_its_end(void **) {
    World world;
    assert_true(world.service.next_time() == TimePoint::max());
    world.here = {"tool", "other"};
    world.publish("tool", 0);
    world.publish("other", 0);
    world.service.on_reply({world.said<wire::PublishRequest>().id, PMIX_SUCCESS, {}});
    world.service.on_reply({world.said<wire::PublishRequest>().id, PMIX_SUCCESS, {}});
    world.pass(1s);
    assert_true(world.hosts.to_session.empty());
    world.here = {"other"};
    world.pass(1s);
    auto ended = world.said<wire::ToolEnded>();
    assert_string_equal(ended.nspace.c_str(), "tool");
    assert_int_equal(ended.rank, 0);
    world.here.clear();
    world.pass(1s);
    assert_string_equal(world.said<wire::ToolEnded>().nspace.c_str(), "other");
    assert_true(world.hosts.to_session.empty());
    assert_true(world.service.next_time() == TimePoint::max()); // nobody is looked after
}

void the_next_one_of_its_name_is_another_one(void **) {
    World world;
    world.here = {"tool"};
    world.publish("tool", 0);
    world.said<wire::PublishRequest>();
    world.here.clear();
    world.publish("tool", 0); // so it is heard of before anybody has looked
    world.said<wire::ToolEnded>();
    world.said<wire::PublishRequest>();
    assert_int_equal(world.answers.size(), 1); // the first one waits no more
}

void who_waits_is_told_apart_from_a_rank(void **) {
    World world;
    world.here = {"tool"};
    world.look_up("tool", 0);
    world.look_up("job", 0);
    world.service.on_process_ended(0);
    assert_int_equal(world.answers.size(), 1); // the process' own
    auto of_tool = world.said<wire::LookupRequest>();
    assert_string_equal(of_tool.tool.c_str(), "tool");
    world.service.on_reply({of_tool.id, PMIX_SUCCESS, {}});
    assert_int_equal(world.answers.size(), 2);
    assert_int_equal(world.answers[1], PMIX_SUCCESS);
}

void who_says_to_be_another_user_is_refused(void **) {
    World world;
    world.here = {"tool"};
    world.says = 1001;
    world.publish("job", 0);
    world.publish("tool", 0);
    assert_int_equal(world.answers.size(), 2);
    assert_int_equal(world.answers[0], PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(world.answers[1], PMIX_ERR_NO_PERMISSIONS);
    assert_true(world.hosts.to_session.empty());
    world.visitor = 1001; // whom the rules give everything
    world.publish("tool", 0);
    assert_int_equal(world.said<wire::PublishRequest>().uid, 1000);
    world.says = 1002;
    world.publish("tool", 0);
    assert_int_equal(world.answers.size(), 3);
    assert_int_equal(world.answers[2], PMIX_ERR_NO_PERMISSIONS);
}

void without_a_session_nobody_is_told(void **) {
    World world;
    world.here = {"tool"};
    world.publish("tool", 0);
    world.said<wire::PublishRequest>();
    world.service.on_session_gone();
    assert_int_equal(world.answers[0], PMIX_ERR_UNREACH);
    world.here.clear();
    world.pass(2s);
    assert_true(world.hosts.to_session.empty());
}

// Who gives data that is read once has to know whether the asker is there: so the session keeps the time.
void the_session_keeps_the_time_of_a_lookup(void **) {
    World world;
    world.look_up("job", 0, 5s);
    auto asked = world.said<wire::LookupRequest>();
    assert_int_equal(asked.timeout_ms, 5000);
    world.pass(6s);
    assert_true(world.answers.empty());
    world.service.on_reply({asked.id, PMIX_SUCCESS, {}}); // it was on its way in time
    assert_int_equal(world.answers.size(), 1);
    assert_int_equal(world.answers[0], PMIX_SUCCESS);
    world.look_up("job", 0, 5s);
    asked = world.said<wire::LookupRequest>();
    world.pass(15s); // it says nothing
    assert_int_equal(world.answers.size(), 2);
    assert_int_equal(world.answers[1], PMIX_ERR_TIMEOUT);
    world.service.on_reply({asked.id, PMIX_SUCCESS, {}});
    assert_int_equal(world.answers.size(), 2);
}

void a_request_is_kept_until_there_is_a_session(void **) {
    World world;
    world.hosts.session_connected = false;
    world.publish("job", 0, 2s);
    world.publish("job", 1, 8s);
    world.look_up("job", 2, 9s);
    assert_true(world.reached > 0);
    assert_true(world.hosts.to_session.empty());
    assert_false(world.service.used());
    world.pass(3s); // the first one has his answer, and may publish again
    assert_int_equal(world.answers.size(), 1);
    assert_int_equal(world.answers[0], PMIX_ERR_TIMEOUT);
    world.hosts.session_connected = true;
    world.service.on_session_here(world.now);
    assert_true(world.service.used());
    assert_int_equal(world.said<wire::PublishRequest>().rank, 1);
    auto lookup = world.said<wire::LookupRequest>();
    assert_int_equal(lookup.rank, 2);
    assert_int_equal(lookup.timeout_ms, 6000); // of its nine seconds
    assert_true(world.hosts.to_session.empty());
    world.service.on_session_here(world.now); // nothing is told twice
    assert_true(world.hosts.to_session.empty());
}

void a_process_that_ends_takes_along_what_was_kept(void **) {
    World world;
    world.hosts.session_connected = false;
    world.publish("job", 0);
    world.service.on_process_ended(0);
    world.service.on_session_here(world.now);
    assert_true(world.hosts.to_session.empty());
}

void what_is_asked_while_a_session_goes_is_for_the_next_one(void **) {
    World world;
    world.service.on_session_here(world.now);
    world.publish("job", 0);
    world.said<wire::PublishRequest>();
    world.hosts.session_connected = false;
    world.publish("job", 1);
    world.service.on_session_gone();
    assert_int_equal(world.answers.size(), 1); // what it was told went with it
    assert_int_equal(world.answers[0], PMIX_ERR_UNREACH);
    assert_int_equal(world.reached, 2);
    world.hosts.session_connected = true;
    world.service.on_session_here(world.now);
    assert_int_equal(world.said<wire::PublishRequest>().rank, 1);
    world.service.on_session_gone();
    assert_int_equal(world.answers.size(), 2);
    world.hosts.session_connected = false;
    world.publish("job", 2);
    world.service.on_session_gone(); // none can be reached
    assert_int_equal(world.answers.size(), 3);
    assert_int_equal(world.answers[2], PMIX_ERR_UNREACH);
}

void so_much_is_kept(void **) {
    World world;
    world.hosts.session_connected = false;
    world.publish("job", 0, std::nullopt, Bytes(3000, 'x'));
    world.publish("job", 1, std::nullopt, Bytes(3000, 'x'));
    assert_int_equal(world.answers.size(), 1);
    assert_int_equal(world.answers[0], PMIX_ERR_OUT_OF_RESOURCE);
    world.service.on_session_here(world.now);
    world.publish("job", 1, std::nullopt, Bytes(3000, 'x')); // there is room again
    assert_int_equal(world.answers.size(), 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_publishes_in_its_own_name),
        cmocka_unit_test(a_tool_takes_back_its_own),
        cmocka_unit_test(the_session_hears_of_its_end),
        cmocka_unit_test(the_next_one_of_its_name_is_another_one),
        cmocka_unit_test(who_waits_is_told_apart_from_a_rank),
        cmocka_unit_test(who_says_to_be_another_user_is_refused),
        cmocka_unit_test(without_a_session_nobody_is_told),
        cmocka_unit_test(the_session_keeps_the_time_of_a_lookup),
        cmocka_unit_test(a_request_is_kept_until_there_is_a_session),
        cmocka_unit_test(a_process_that_ends_takes_along_what_was_kept),
        cmocka_unit_test(what_is_asked_while_a_session_goes_is_for_the_next_one),
        cmocka_unit_test(so_much_is_kept),
    };
    return cmocka_run_group_tests_name("publish service", tests, nullptr, nullptr);
}
