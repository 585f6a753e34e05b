// Who waits at the gate for what: the rules, the desk, the limits of one user and of all.
#include "server-glue/gate/tool_gate.h"
#include "common/base/fd_pair.h"
#include "common/base/user_lines.h"
#include "server-glue/gate/desk_channel.h"

#include "test/unit/check.h"

#include <cstring>
#include <filesystem>
#include <set>
#include <sys/socket.h>
#include <vector>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Fixture {
    std::multiset<uid_t> started, ended;
    std::vector<std::pair<ToolGate::Id, uid_t>> given;
    std::map<ToolGate::Id, std::string> refused;
    bool full = false;
    TimePoint now = TimePoint() + 1h;
    ToolGate gate;
    ToolGate::Id last = 0;

    explicit Fixture(ToolGate::Limits limits = {})
        : gate(limits, {[this](uid_t user) { started.insert(user); }, [this](uid_t user) { ended.insert(user); },
                        [this](ToolGate::Id id, uid_t user) {
                            if (!full)
                                given.emplace_back(id, user);
                            return !full;
                        },
                        [this](ToolGate::Id id, uid_t, const std::string &why) { refused[id] = why; }}) {}
    ToolGate::Id come(uid_t user) {
        if (gate.arrived(++last, user, now))
            gate.judged(last, user, {}, now);
        return last;
    }
    void pass(Duration time) {
        now += time;
        gate.on_time(now);
    }
};

void a_desk_is_started_for_the_first_tool(void **) {
    Fixture f;
    f.come(7), f.come(7);
    assert_int_equal(f.started.count(7), 1);
    assert_true(f.given.empty());
    f.gate.on_ready(7, f.now);
    assert_int_equal(f.given.size(), 2);
    f.come(7);
    assert_int_equal(f.given.size(), 3);
    f.come(8);
    assert_int_equal(f.started.count(8), 1);
    assert_int_equal(f.given.size(), 3);
}

void what_the_rules_refuse_starts_none(void **) {
    Fixture f;
    assert_true(f.gate.arrived(1, 7, f.now));
    assert_true(f.started.empty());
    f.gate.judged(1, 7, error(ErrorKind::denied, "no"), f.now);
    assert_string_equal(f.refused.at(1).c_str(), "no");
    assert_true(f.started.empty());
    // One that the rules have not judged yet is not handed over by what another one gets.
    assert_true(f.gate.arrived(2, 7, f.now));
    assert_true(f.gate.arrived(3, 7, f.now));
    f.gate.judged(3, 7, {}, f.now);
    f.gate.on_ready(7, f.now);
    assert_int_equal(f.given.size(), 1);
    assert_int_equal(f.given[0].first, 3);
}

void a_flood_of_one_user_keeps_no_other_out(void **) {
    Fixture f;
    for (int i = 0; i < 2000; ++i)
        f.come(7);
    assert_int_equal(f.gate.waiting(), 16);
    assert_int_equal(f.refused.size(), 1984);
    f.come(8);
    assert_int_equal(f.refused.size(), 1984);
    f.gate.on_ready(8, f.now);
    assert_int_equal(f.given.size(), 1);
    // Nor when its desk runs.
    f.gate.on_ready(7, f.now);
    f.given.clear();
    for (int i = 0; i < 2000; ++i)
        f.come(7);
    assert_int_equal(f.given.size(), 0); // the second is not over
    f.pass(1s);
    for (int i = 0; i < 2000; ++i)
        f.come(7);
    assert_int_equal(f.given.size(), 100);
    f.come(8);
    assert_int_equal(f.given.size(), 101);
}

void nothing_waits_for_ever(void **) {
    Fixture f;
    assert_true(f.gate.arrived(1, 7, f.now)); // the rules do not answer
    f.last = 1;
    f.come(8); // nor does the desk
    assert_true(f.gate.next_time() == f.now + 8s);
    f.pass(8s);
    assert_string_equal(f.refused.at(1).c_str(), "the rules took too long");
    assert_string_equal(f.refused.at(2).c_str(), "its desk did not start in time");
    assert_int_equal(f.ended.count(8), 1);
    f.gate.judged(1, 7, {}, f.now); // now they do
    f.gate.on_ready(8, f.now);
    assert_true(f.given.empty());
    f.pass(2s);
    assert_true(f.gate.next_time() == TimePoint::max());
    assert_int_equal(f.gate.desks(), 0);
}

void a_desk_that_does_not_start_is_not_tried_for_each(void **) {
    Fixture f;
    f.come(7);
    f.gate.on_desk_gone(7, "no memory", f.now);
    assert_string_equal(f.refused.at(1).c_str(), "no desk could be started: no memory");
    f.come(7);
    assert_int_equal(f.refused.size(), 2);
    assert_int_equal(f.started.count(7), 1);
    f.pass(2s);
    f.come(7);
    assert_int_equal(f.started.count(7), 2);
}

void a_desk_that_is_killed_costs_its_tools_alone(void **) {
    Fixture f;
    f.come(7), f.come(8);
    f.gate.on_ready(7, f.now), f.gate.on_ready(8, f.now);
    f.gate.on_taken(7, 1, f.now), f.gate.on_taken(8, 1, f.now);
    f.pass(2s);
    f.gate.on_desk_gone(7, "killed", f.now);
    assert_true(f.refused.empty());
    f.come(7), f.come(8);
    assert_int_equal(f.started.count(7), 2);
    assert_int_equal(f.started.count(8), 1);
    assert_int_equal(f.given.size(), 3);
}

void a_desk_that_ends_at_once_is_not_tried_for_each(void **) {
    Fixture f;
    f.come(7);
    f.gate.on_ready(7, f.now);
    f.pass(1s);
    f.gate.on_desk_gone(7, "a fault", f.now);
    f.come(7);
    assert_string_equal(f.refused.at(2).c_str(), "the desk ended at once: a fault");
    assert_int_equal(f.started.count(7), 1);
    f.pass(2s);
    f.come(7);
    assert_int_equal(f.started.count(7), 2);
}

void who_waits_for_a_desk_that_is_late_is_refused(void **) {
    Fixture f;
    f.come(7);
    f.pass(7s);
    f.come(7);
    f.pass(1s);
    assert_int_equal(f.ended.count(7), 1);
    assert_string_equal(f.refused.at(2).c_str(), "its desk did not start in time");
    f.come(7); // at once
    assert_string_equal(f.refused.at(3).c_str(), "its desk did not start in time");
    assert_int_equal(f.started.count(7), 1);
    f.pass(2s);
    f.come(7);
    assert_int_equal(f.started.count(7), 2);
}

void an_idle_desk_leaves(void **) {
    Fixture f;
    f.come(7);
    f.gate.on_ready(7, f.now);
    f.gate.on_taken(7, 1, f.now);
    f.pass(1h);
    assert_true(f.ended.empty());
    f.come(7);
    f.gate.on_quiet(7, 1, f.now); // it has not seen the second one
    f.gate.on_taken(7, 2, f.now);
    f.pass(1h);
    assert_true(f.ended.empty());
    f.gate.on_quiet(7, 2, f.now);
    f.pass(10min - 1s);
    assert_true(f.ended.empty());
    f.pass(1s);
    assert_int_equal(f.ended.count(7), 1);
    assert_int_equal(f.gate.desks(), 0);
}

void an_idle_desk_makes_room(void **) {
    Fixture f({.desks = 2});
    f.come(1), f.come(2);
    f.gate.on_ready(1, f.now), f.gate.on_ready(2, f.now);
    f.come(3);
    assert_string_equal(f.refused.at(3).c_str(), "2 desks serve other users (gate.max_desks)");
    f.gate.on_quiet(2, 1, f.now);
    f.come(3);
    assert_int_equal(f.ended.count(2), 1);
    assert_int_equal(f.started.count(3), 1);
    assert_int_equal(f.gate.desks(), 2);
}

void a_desk_that_hangs_has_to_leave(void **) {
    Fixture f;
    f.come(7), f.come(7);
    f.gate.on_ready(7, f.now);
    f.gate.on_taken(7, 1, f.now);
    f.gate.on_taken(7, 3, f.now); // it has been given two
    f.pass(7s);
    assert_true(f.ended.empty());
    f.gate.on_taken(7, 2, f.now);
    f.pass(1h);
    assert_true(f.ended.empty());
    f.come(7);
    f.pass(7s);
    f.come(7); // no more time for that
    f.pass(1s);
    assert_int_equal(f.ended.count(7), 1);
    f.come(7);
    assert_int_equal(f.started.count(7), 2);
}

void a_desk_that_takes_no_more_costs_the_tool(void **) {
    Fixture f;
    f.come(7);
    f.gate.on_ready(7, f.now);
    f.full = true;
    f.come(7);
    assert_int_equal(f.refused.size(), 1);
    assert_int_equal(f.gate.waiting(), 0);
}

void a_desk_that_says_what_none_says_is_found_out(void **) {
    Fixture f;
    f.come(7);
    assert_false(f.gate.on_taken(7, 0, f.now)); // it is not there yet
    assert_true(f.gate.on_ready(7, f.now));
    assert_false(f.gate.on_ready(7, f.now));
    assert_false(f.gate.on_taken(7, 0, f.now));
    assert_false(f.gate.on_taken(7, 2, f.now));
    assert_false(f.gate.on_quiet(7, 2, f.now));
    assert_true(f.gate.on_taken(7, 1, f.now));
    assert_false(f.gate.on_taken(7, 1, f.now));
    // Of one connection: ready, took, refused, quiet.
    for (int i = 0; i < 4; ++i)
        assert_true(f.gate.counts_word(7));
    assert_false(f.gate.counts_word(7));
    f.come(7);
    assert_true(f.gate.counts_word(7));
    assert_false(f.gate.on_ready(8, f.now));
    assert_false(f.gate.counts_word(8));
}

void lines_for_the_log_are_bounded_by_time(void **) {
    Fixture f;
    assert_false(f.gate.counts_line(7, f.now));
    f.come(7);
    assert_true(f.gate.on_ready(7, f.now));
    for (int minute = 0; minute < 60; ++minute) {
        for (int i = 0; i < 20; ++i)
            assert_true(f.gate.counts_line(7, f.now));
        f.now += 1min;
    }
    int borne = 0;
    while (f.gate.counts_line(7, f.now) && borne < 10000)
        ++borne;
    assert_true(borne >= 20 && borne < 1000);
    // The words that a connection explains are others; and the next desk begins anew.
    assert_true(f.gate.counts_word(7));
    f.gate.on_desk_gone(7, "", f.now);
    f.come(7);
    assert_true(f.gate.counts_line(7, f.now));
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// A message with so many copies of `fd`.
void send_descriptors(int channel, int fd, std::size_t count) {
    std::vector<int> fds(count, fd);
    std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
    char byte = 't';
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), count * sizeof(int));
    assert_int_equal(sendmsg(channel, &message, 0), 1);
}

void descriptors_that_nobody_wants_do_not_stay(void **) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    assert_true(ends.ok());
    int desk = ends->first.get(), gate = ends->second.get();
    std::size_t before = open_descriptors();
    send_descriptors(desk, desk, 1);
    {
        auto one = receive_descriptor(gate, MSG_DONTWAIT);
        assert_true(one.ok() && one->has_value() && (*one)->fd);
        assert_int_equal(open_descriptors(), before + 1);
    }
    for (std::size_t count : {2, 3, 200}) {
        send_descriptors(desk, desk, count);
        assert_false(receive_descriptor(gate, MSG_DONTWAIT).ok());
        assert_int_equal(open_descriptors(), before);
        // The gate's side reads bytes.
        send_descriptors(desk, desk, count);
        assert_string_equal((*receive_word(gate))->c_str(), "t");
        assert_int_equal(open_descriptors(), before);
    }
    assert_false(receive_word(gate)->has_value());
    assert_false(receive_descriptor(gate, MSG_DONTWAIT)->has_value());
    ends->first.reset();
    assert_true((*receive_word(gate))->empty());
}

void the_log_has_lines_for_each_user(void **) {
    UserLines lines;
    TimePoint now{};
    int written = 0;
    for (int i = 0; i < 2000; ++i)
        written += lines.admit(7, now).has_value();
    assert_int_equal(written, 20);
    assert_int_equal(lines.admit(8, now).value(), 0);
}

void words_of_desks(void **) {
    auto word = [](std::string_view text) { return parse_gate_word(text); };
    assert_true(std::holds_alternative<DeskReady>(*word("ready")));
    assert_int_equal(std::get<DeskQuiet>(*word("quiet 12")).given, 12);
    assert_int_equal(std::get<DeskTook>(*word("took 3")).given, 3);
    assert_string_equal(std::get<DeskRefused>(*word("refused a b")).why.c_str(), "a b");
    assert_string_equal(std::get<DeskTells>(*word("tells a b")).what.c_str(), "a b");
    assert_true(word("failed denied no").failure().kind == ErrorKind::denied);
    for (const char *bad :
         {"", "ready ", "took", "took x", "quiet ", "quiet -1", "quiet 1 ", "quiet 99999999999999999999", "serving x"})
        assert_false(word(bad).ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_desk_is_started_for_the_first_tool),
        cmocka_unit_test(what_the_rules_refuse_starts_none),
        cmocka_unit_test(a_flood_of_one_user_keeps_no_other_out),
        cmocka_unit_test(nothing_waits_for_ever),
        cmocka_unit_test(a_desk_that_does_not_start_is_not_tried_for_each),
        cmocka_unit_test(a_desk_that_is_killed_costs_its_tools_alone),
        cmocka_unit_test(a_desk_that_ends_at_once_is_not_tried_for_each),
        cmocka_unit_test(who_waits_for_a_desk_that_is_late_is_refused),
        cmocka_unit_test(an_idle_desk_leaves),
        cmocka_unit_test(an_idle_desk_makes_room),
        cmocka_unit_test(a_desk_that_hangs_has_to_leave),
        cmocka_unit_test(a_desk_that_takes_no_more_costs_the_tool),
        cmocka_unit_test(a_desk_that_says_what_none_says_is_found_out),
        cmocka_unit_test(lines_for_the_log_are_bounded_by_time),
        cmocka_unit_test(descriptors_that_nobody_wants_do_not_stay),
        cmocka_unit_test(the_log_has_lines_for_each_user),
        cmocka_unit_test(words_of_desks),
    };
    return cmocka_run_group_tests_name("the gate", tests, nullptr, nullptr);
}
