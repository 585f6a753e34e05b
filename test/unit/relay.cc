// Connections of tools that are passed on between a desk and a daemon: bytes, windows, ends; and from which host a tool
// comes, whose name is not known when it connects.
#include "server-glue/tool_access/relay.h"

#include "server-glue/tool_access/tool_origins.h"

#include <cerrno>
#include <deque>
#include <sys/socket.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_at_once = 2 * wire::relay_window;

struct Pair {
    UniqueFd outer, inner;
    Pair() {
        int ends[2];
        assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        outer.reset(ends[0]);
        inner.reset(ends[1]);
    }
};

// Two relays, and what is under way between them.
struct Fixture {
    std::unique_ptr<EventLoop> loop = EventLoop::create([](const std::string &) { std::abort(); }).value();
    std::deque<std::pair<std::uint8_t, SharedBytes>> to_far, to_near;
    std::size_t most_under_way = 0; // bytes, of frames that carry some
    bool stopped = false;           // the link does not move
    Relay near{*loop, [this](std::uint8_t type, SharedBytes payload) { put(to_far, type, std::move(payload)); }};
    Relay far{*loop, [this](std::uint8_t type, SharedBytes payload) { put(to_near, type, std::move(payload)); }};
    EventLoop::Handle deliver = loop->before_waiting([this] {
        if (stopped)
            return;
        while (!to_far.empty() || !to_near.empty()) {
            move(to_far, far);
            move(to_near, near);
        }
    });

    void put(std::deque<std::pair<std::uint8_t, SharedBytes>> &queue, std::uint8_t type, SharedBytes payload) {
        queue.emplace_back(type, std::move(payload));
        std::size_t bytes = 0;
        for (const auto &frame : queue)
            bytes += frame.first == wire::RelayBytes::type ? frame.second->size() : 0;
        most_under_way = std::max(most_under_way, bytes);
    }
    static void move(std::deque<std::pair<std::uint8_t, SharedBytes>> &queue, Relay &to) {
        if (queue.empty())
            return;
        auto [type, payload] = std::move(queue.front());
        queue.pop_front();
        if (type == wire::RelayBytes::type)
            to.on_bytes(wire::decode<wire::RelayBytes>(*payload).value());
        else if (type == wire::RelayTaken::type)
            to.on_taken(wire::decode<wire::RelayTaken>(*payload).value());
        else
            to.on_end(wire::decode<wire::RelayEnd>(*payload).value());
    }
    // Writes what goes in at one end, and reads what comes at the other, until all is through.
    void carry(int from, int to, const std::string &bytes) {
        std::size_t written = 0;
        std::string read;
        run_until(*loop, [&] {
            ssize_t n = ::send(from, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
            written += n > 0 ? static_cast<std::size_t>(n) : 0;
            char buffer[65536];
            while ((n = ::recv(to, buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
                read.append(buffer, static_cast<std::size_t>(n));
            return read.size() == bytes.size();
        });
        assert_true(read == bytes);
    }
};

bool at_end(int fd) {
    char byte;
    return ::recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<char>(i * 7 + i / 251);
    return out;
}

void bytes_arrive_as_they_are(void **) {
    Fixture f;
    Pair tool, server;
    f.near.add(7, std::move(tool.inner));
    f.far.add(7, std::move(server.inner));
    f.carry(tool.outer.get(), server.outer.get(), pattern(3u << 20));
    f.carry(server.outer.get(), tool.outer.get(), pattern(3u << 20));
    assert_true(f.most_under_way <= most_at_once);
}

void what_was_read_already_comes_first(void **) {
    Fixture f;
    Pair tool, server;
    f.near.add(7, std::move(tool.inner), "ahead ");
    f.far.add(7, std::move(server.inner));
    assert_int_equal(::send(tool.outer.get(), "behind", 6, MSG_NOSIGNAL), 6);
    std::string read;
    run_until(*f.loop, [&] {
        char buffer[64];
        ssize_t n = ::recv(server.outer.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        read.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
        return read.size() >= 12;
    });
    assert_string_equal(read.c_str(), "ahead behind");
    f.carry(tool.outer.get(), server.outer.get(), pattern(3u << 20)); // and its window is whole again
}

void what_nobody_has_read_yet_is_known(void **) {
    Fixture f;
    Pair tool, server;
    f.near.add(7, std::move(tool.inner));
    f.far.add(7, std::move(server.inner));
    assert_false(f.far.has_unread());
    assert_int_equal(::send(server.outer.get(), "answer", 6, MSG_NOSIGNAL), 6);
    assert_true(f.far.has_unread());
    char buffer[16];
    run_until(*f.loop, [&] { return ::recv(tool.outer.get(), buffer, sizeof buffer, MSG_DONTWAIT) == 6; });
    assert_false(f.far.has_unread());
}

void who_does_not_read_costs_a_window_and_holds_up_nobody(void **) {
    Fixture f;
    Pair stuck, server_of_stuck, tool, server;
    f.near.add(1, std::move(stuck.inner));
    f.far.add(1, std::move(server_of_stuck.inner));
    f.near.add(2, std::move(tool.inner));
    f.far.add(2, std::move(server.inner));
    // The server writes as much as it can to the tool that does not read.
    std::string chunk(65536, 'x');
    std::size_t taken = 0, last = 1;
    while (taken != last) {
        last = taken;
        f.carry(tool.outer.get(), server.outer.get(), pattern(1u << 20)); // the other one goes on meanwhile
        ssize_t n;
        while ((n = ::send(server_of_stuck.outer.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
            taken += static_cast<std::size_t>(n);
    }
    int kernel = 0;
    socklen_t size = sizeof kernel;
    getsockopt(server_of_stuck.outer.get(), SOL_SOCKET, SO_SNDBUF, &kernel, &size);
    assert_true(taken >= wire::relay_window);
    assert_true(taken <= 2 * wire::relay_window + 4 * static_cast<std::size_t>(kernel));
}

void an_end_is_told_when_all_is_through(void **) {
    Fixture f;
    Pair tool, server;
    f.near.add(7, std::move(tool.inner));
    f.far.add(7, std::move(server.inner));
    std::string last = pattern(100'000);
    f.stopped = true;
    assert_int_equal(::send(tool.outer.get(), last.data(), last.size(), 0), last.size());
    tool.outer.reset();
    run_until(*f.loop, [&] { return f.near.size() == 0; });
    f.stopped = false;
    std::string read;
    run_until(*f.loop, [&] {
        char buffer[65536];
        ssize_t n;
        while ((n = ::recv(server.outer.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
            read.append(buffer, static_cast<std::size_t>(n));
        return n == 0;
    });
    assert_true(read == last);
    assert_int_equal(f.far.size(), 0);
}

// All of it in one turn, as where a daemon says its last and leaves.
void what_came_before_the_other_end_left_is_handed_on(void **) {
    Fixture f;
    Pair tool, silent;
    f.near.add(7, std::move(tool.inner));
    f.near.add(8, std::move(silent.inner));
    std::string last = pattern(wire::relay_window); // more than the socket takes at once
    bool is_over = false;
    f.near.on_bytes({7, last});
    f.near.finish([&] { is_over = true; });
    assert_false(is_over);
    assert_int_equal(f.near.size(), 1);
    assert_true(at_end(silent.outer.get()));
    std::string read;
    run_until(*f.loop, [&] {
        char buffer[65536];
        ssize_t n;
        while ((n = ::recv(tool.outer.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
            read.append(buffer, static_cast<std::size_t>(n));
        return n == 0;
    });
    assert_true(read == last);
    run_until(*f.loop, [&] { return is_over; });
    assert_int_equal(f.near.size(), 0);
}

void one_that_does_not_keep_to_the_window_is_closed(void **) {
    Fixture f;
    Pair server;
    f.far.add(7, std::move(server.inner));
    std::string much(wire::relay_window / 2 + 1, 'x');
    f.far.on_bytes({7, much});
    f.far.on_bytes({7, much});
    assert_int_equal(f.far.size(), 0);
    assert_int_equal(f.to_near.size(), 1);
    assert_int_equal(f.to_near.front().first, wire::RelayEnd::type);
    assert_true(at_end(server.outer.get()));
}

void what_is_of_no_connection_is_dropped(void **) {
    Fixture f;
    f.near.on_bytes({3, "x"});
    f.near.on_taken({3, 9});
    f.near.on_end({3});
    f.near.drop(3);
    assert_true(f.to_far.empty());
    Pair tool;
    f.near.add(4, std::move(tool.inner));
    f.near.on_taken({4, UINT32_MAX}); // more than is under way
    f.near.on_end({4});
    f.near.on_bytes({4, "late"});
    assert_int_equal(f.near.size(), 0);
    assert_true(f.to_far.empty());
}

const Process one{"t", 1}, two{"t", 2}, three{"t", 3};
const ToolOrigins::Coming nameless_here{}, nameless_there{"", 0, {"10.0.0.1", {}}};
using Verdict = ToolOrigins::Verdict;

ToolOrigins::IsHere as_long_as(const bool &here) {
    return [&here] { return here; };
}

void a_name_belongs_to_the_connection_before_it(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true;
    assert_true(origins.may_come(now, nameless_there) == Verdict::may);
    origins.came(now, nameless_there, as_long_as(here));
    assert_true(origins.may_come(now, nameless_here) == Verdict::later); // which would have the name?
    assert_true(origins.may_come(now, {"", 0, {"10.0.0.2", {}}}) == Verdict::later);
    origins.got_name(one);
    assert_string_equal(origins.of(one).from.c_str(), "10.0.0.1");
    assert_true(origins.may_come(now, nameless_here) == Verdict::may);
    origins.came(now, nameless_here, as_long_as(here));
    assert_true(origins.may_come(now, nameless_here) == Verdict::may); // all of this host
    origins.came(now, nameless_here, as_long_as(here));
    assert_true(origins.may_come(now, nameless_there) == Verdict::later);
    origins.got_name(two);
    assert_true(origins.may_come(now, nameless_there) == Verdict::later);
    origins.got_name(three);
    assert_true(origins.may_come(now, nameless_there) == Verdict::may);
    assert_string_equal(origins.of(two).from.c_str(), "");
    assert_string_equal(origins.of(three).from.c_str(), "");
}

void one_that_brings_a_name_is_known_by_it(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true;
    const ToolOrigins::Coming there{"t", 1, {"10.0.0.1", {}}}, local{"t", 1, {"", {}}};
    origins.came(now, there, as_long_as(here));
    assert_string_equal(origins.of(one).from.c_str(), "10.0.0.1");
    // The same name on this host has to wait: what the other one asked may still be on its way.
    assert_true(origins.may_come(now, local) == Verdict::later);
    here = false;
    assert_true(origins.may_come(now, local) == Verdict::later);
    assert_true(origins.may_come(now, there) == Verdict::may);
    assert_true(origins.may_come(now + ToolOrigins::aftermath, local) == Verdict::may);
    assert_string_equal(origins.of(one).from.c_str(), "");
}

void which_process_it_is_is_known_of_this_host(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.came(now, {"t", 1, {}, 4711}, as_long_as(here));
    assert_int_equal(origins.pid_of(one), 4711);
    assert_int_equal(origins.pid_of(two), 0);
    origins.came(now, {"", 0, {}, 4712}, as_long_as(other_here));
    origins.got_name(two);
    assert_int_equal(origins.pid_of(two), 4712);
    here = false;
    assert_true(origins.may_come(now, nameless_there) == Verdict::may); // which looks who has gone
    assert_int_equal(origins.pid_of(one), 0);
    assert_int_equal(origins.pid_of(two), 4712);
    origins.came(now, {"t", 2, {}, 0}, as_long_as(other_here)); // once more, and nobody knows which
    assert_int_equal(origins.pid_of(two), 0);
    // Its name may be that of one that is relayed.
    origins.came(now, {"t", 2, {"10.0.0.1", {}}}, as_long_as(here));
    assert_int_equal(origins.pid_of(two), 0);
}

void whose_it_is_is_known_with_where_it_is(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true;
    const ToolOrigins::Coming others{"", 0, {"10.0.0.1", 1001}}, own{"t", 1, {"10.0.0.1", {}}};
    origins.came(now, others, as_long_as(here));
    assert_true(origins.may_come(now, nameless_there) == Verdict::later);
    origins.got_name(one);
    assert_true(origins.of(one) == others.origin);
    // The same name of the job's user, from the same host.
    assert_true(origins.may_come(now, own) == Verdict::later);
    here = false;
    assert_true(origins.may_come(now, own) == Verdict::later);
    assert_true(origins.may_come(now + ToolOrigins::aftermath, own) == Verdict::may);
}

void one_that_the_library_drops_holds_up_nobody(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.came(now, nameless_there, as_long_as(here));
    here = false; // without having asked for a name
    assert_true(origins.may_come(now, nameless_here) == Verdict::may);
    origins.came(now, nameless_here, as_long_as(other_here));
    origins.got_name(one);
    assert_string_equal(origins.of(one).from.c_str(), "");
}

void in_doubt_it_is_of_the_other_host(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.came(now, nameless_there, as_long_as(here)); // and libpmix never asks
    assert_true(origins.may_come(now + ToolOrigins::patience / 2, nameless_here) == Verdict::later);
    now += ToolOrigins::patience;
    assert_true(origins.may_come(now, nameless_here) == Verdict::may);
    origins.came(now, nameless_here, as_long_as(other_here));
    origins.got_name(one);
    assert_string_equal(origins.of(one).from.c_str(), "10.0.0.1");
    here = false; // the doubt ends with it
    assert_true(origins.may_come(now, nameless_here) == Verdict::may);
    origins.came(now, nameless_here, as_long_as(other_here));
    origins.got_name(two);
    assert_string_equal(origins.of(two).from.c_str(), "");
}

void in_doubt_the_next_one_is_of_the_other_host_too(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.came(now, nameless_here, as_long_as(here)); // and libpmix asks late
    now += ToolOrigins::patience;
    assert_true(origins.may_come(now, nameless_there) == Verdict::may);
    origins.came(now, nameless_there, as_long_as(other_here));
    origins.got_name(one);
    origins.got_name(two); // which of them it is nobody knows
    assert_string_equal(origins.of(one).from.c_str(), "10.0.0.1");
    assert_string_equal(origins.of(two).from.c_str(), "10.0.0.1");
}

void who_had_no_turn_may_be_any_that_is_here(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.got_name(one); // nobody of another host has been here
    assert_string_equal(origins.of(one).from.c_str(), "");
    origins.came(now, {"t", 7, {"10.0.0.1", {}}}, as_long_as(here));
    assert_true(origins.got_name(two) == nullptr); // it has stated a name, and libpmix does not say so
    assert_string_equal(origins.of(two).from.c_str(), "10.0.0.1");
    // Nor does one that libpmix has dropped give its turn to another.
    origins.came(now, nameless_here, as_long_as(other_here));
    other_here = false;
    assert_true(origins.got_name(three) == nullptr);
    assert_string_equal(origins.of(three).from.c_str(), "10.0.0.1");
}

const ToolOrigins::Coming named_here{"t", 1, {}}, named_there{"t", 2, {"10.0.0.1", {}}};

void what_looks_like_a_name_is_one_if_it_was_stated(void **) {
    ToolOrigins origins(false);
    TimePoint now{};
    bool here = true;
    assert_false(origins.has_stated(one));
    origins.came(now, named_here, as_long_as(here));
    assert_false(origins.has_stated(two));
    assert_true(origins.has_stated(one));
    assert_false(origins.has_stated(one)); // another one that claims it
    origins.came(now, named_here, as_long_as(here));
    here = false;
    assert_false(origins.has_stated(one));
    ToolOrigins sure(true);
    assert_true(sure.has_stated(one));
}

void a_relayed_one_cannot_take_the_name_of_another(void **) {
    ToolOrigins origins(false);
    TimePoint now{};
    bool here = true;
    origins.came(now, named_here, as_long_as(here));
    assert_true(origins.may_come(now, named_there) == Verdict::may);
    assert_true(origins.may_come(now, nameless_here) == Verdict::may);
    assert_true(origins.may_come(now, nameless_there) == Verdict::later);
    assert_true(origins.has_stated(one));
    assert_true(origins.may_come(now, nameless_there) == Verdict::may);
    origins.came(now, nameless_there, as_long_as(here));
    assert_true(origins.may_come(now, named_here) == Verdict::later);
    assert_false(origins.has_stated(one)); // what it says it is
    origins.got_name(three);
    assert_string_equal(origins.of(three).from.c_str(), "10.0.0.1");
    assert_true(origins.may_come(now, named_here) == Verdict::may);
    origins.came(now, named_there, as_long_as(here));
    assert_true(origins.may_come(now, nameless_here) == Verdict::later);
}

void a_name_in_doubt_is_of_the_other_host(void **) {
    ToolOrigins origins(false);
    TimePoint now{};
    bool here = true, other_here = true;
    origins.came(now, nameless_there, as_long_as(here)); // and libpmix asks late
    now += ToolOrigins::patience;
    assert_true(origins.may_come(now, named_here) == Verdict::may);
    origins.came(now, named_here, as_long_as(other_here));
    assert_true(origins.has_stated(one)); // by which of them?
    assert_string_equal(origins.of(one).from.c_str(), "10.0.0.1");
    // A stated name of which libpmix tells late.
    here = false;
    origins.came(now, named_here, as_long_as(other_here));
    now += ToolOrigins::patience;
    assert_true(origins.may_come(now, nameless_there) == Verdict::may);
    assert_false(origins.has_stated(one));
}

void relayed_ones_are_bounded_and_forgotten(void **) {
    ToolOrigins origins(true);
    TimePoint now{};
    bool here = true;
    for (std::size_t i = 0; i < ToolOrigins::most; ++i)
        origins.came(now, {"many", static_cast<Rank>(i), {"10.0.0.1", {}}}, as_long_as(here));
    assert_true(origins.may_come(now, {"more", 0, {"10.0.0.1", {}}}) == Verdict::too_many);
    assert_true(origins.may_come(now, {"local", 0, {"", {}}}) == Verdict::may);
    here = false;
    assert_true(origins.may_come(now, {"more", 0, {"10.0.0.1", {}}}) == Verdict::too_many);
    assert_true(origins.may_come(now + ToolOrigins::aftermath, {"more", 0, {"10.0.0.1", {}}}) == Verdict::may);
    assert_string_equal(origins.of({"many", 0}).from.c_str(), "");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_as_they_are),
        cmocka_unit_test(what_was_read_already_comes_first),
        cmocka_unit_test(what_nobody_has_read_yet_is_known),
        cmocka_unit_test(who_does_not_read_costs_a_window_and_holds_up_nobody),
        cmocka_unit_test(an_end_is_told_when_all_is_through),
        cmocka_unit_test(what_came_before_the_other_end_left_is_handed_on),
        cmocka_unit_test(one_that_does_not_keep_to_the_window_is_closed),
        cmocka_unit_test(what_is_of_no_connection_is_dropped),
        cmocka_unit_test(a_name_belongs_to_the_connection_before_it),
        cmocka_unit_test(one_that_brings_a_name_is_known_by_it),
        cmocka_unit_test(in_doubt_it_is_of_the_other_host),
        cmocka_unit_test(in_doubt_the_next_one_is_of_the_other_host_too),
        cmocka_unit_test(who_had_no_turn_may_be_any_that_is_here),
        cmocka_unit_test(what_looks_like_a_name_is_one_if_it_was_stated),
        cmocka_unit_test(a_relayed_one_cannot_take_the_name_of_another),
        cmocka_unit_test(a_name_in_doubt_is_of_the_other_host),
        cmocka_unit_test(whose_it_is_is_known_with_where_it_is),
        cmocka_unit_test(which_process_it_is_is_known_of_this_host),
        cmocka_unit_test(one_that_the_library_drops_holds_up_nobody),
        cmocka_unit_test(relayed_ones_are_bounded_and_forgotten),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
