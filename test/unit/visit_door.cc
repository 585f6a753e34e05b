// The gate's door for users who look at jobs of others: who has come, what is a wish, and who says nothing.
#include "server-glue/gate/visit_door.h"

#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    std::string directory;
    std::vector<VisitDoor::Visitor> visitors;
    std::map<uid_t, Refusals> refusals;

    Fixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        char name[] = "/tmp/pmixhost-visit.XXXXXX";
        directory = mkdtemp(name);
    }
    ~Fixture() { std::filesystem::remove_all(directory); }
    Result<std::unique_ptr<VisitDoor>> open() {
        return VisitDoor::open(
            *loop, directory, [this](VisitDoor::Visitor visitor) { visitors.push_back(std::move(visitor)); },
            [this](uid_t user) { return refusals[user]; });
    }
    UniqueFd knock() const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        gate_door_path(directory).copy(address.sun_path, sizeof address.sun_path - 1);
        UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        assert_int_equal(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        return fd;
    }
    static void say(const UniqueFd &fd, const std::string &word) {
        assert_int_equal(::send(fd.get(), word.data(), word.size(), MSG_NOSIGNAL), word.size());
    }
    // What comes back; empty: the connection has ended.
    std::string hear(const UniqueFd &fd) {
        std::string word;
        run_until(*loop, [&] {
            char bytes[4096];
            ssize_t there = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
            if (there > 0)
                word.assign(bytes, static_cast<std::size_t>(there));
            return there >= 0 || errno == ECONNRESET;
        });
        return word;
    }
};

void a_visitor_is_who_the_kernel_says(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    UniqueFd knocks = f.knock();
    Fixture::say(knocks, visit_word({4711, "12.0"}));
    run_until(*f.loop, [&] { return !f.visitors.empty(); });
    const auto &visitor = f.visitors[0];
    assert_true(visitor.asker == ::geteuid() && visitor.pid == ::getpid());
    assert_true(visitor.wish.user == 4711 && visitor.wish.job == "12.0");
}

void a_visitor_says_what_to_run(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    UniqueFd knocks = f.knock();
    Fixture::say(knocks, "run 4711 12.0\nkill\n--ranks=0");
    run_until(*f.loop, [&] { return !f.visitors.empty(); });
    const auto &visitor = f.visitors[0];
    assert_true(visitor.asker == ::geteuid() && visitor.pid == ::getpid() && visitor.wish.run);
    assert_string_equal(text_of(*visitor.wish.run, visitor.wish.job).c_str(), "pmixhost kill 12.0 '--ranks=0'");
    for (const std::string &word : {std::string("run 1 12\nps\n\x1b"), "run 1 12\nps\n" + std::string(3000, '-'),
                                    "run 1 12\nps" + std::string(5000, '\n'), std::string("run 1 12\nps\n-\0", 14)}) {
        UniqueFd other = f.knock();
        Fixture::say(other, word);
        assert_true(f.hear(other).starts_with("failed invalid "));
    }
    assert_int_equal(f.visitors.size(), 1);
}

void what_is_no_wish_is_told(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    for (const char *word :
         {"visit", "visit ", "visit 1", "visit 1 ", "visit -1 12", "visit 4294967295 12", "visit 99999999999 12",
          "visit 1 12 3", "visit 1 1\n2", "visit 1 1\x80", "Visit 1 12", "visit  1 12", "visit +1 12"}) {
        UniqueFd knocks = f.knock();
        Fixture::say(knocks, word);
        std::string said = f.hear(knocks);
        if (!said.starts_with("failed invalid "))
            fail_msg("'%s' is told '%s'", word, said.c_str());
        assert_string_equal(f.hear(knocks).c_str(), "");
    }
    UniqueFd knocks = f.knock();
    Fixture::say(knocks, visit_word({1, std::string(longest_visited_job + 1, '1')}));
    assert_true(f.hear(knocks).starts_with("failed invalid "));
    assert_true(f.visitors.empty());
}

void each_is_told_of_the_own_refusals(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    f.refusals[::geteuid()] = {2, 9s, 3s, "too many"};
    f.refusals[::geteuid() + 1] = {7, 9s, 3s, "somebody else's"};
    for (int times = 0; times < 2; ++times) {
        UniqueFd knocks = f.knock();
        Fixture::say(knocks, std::string(asks_for_refusals));
        assert_string_equal(f.hear(knocks).c_str(), "refused 2 9 3 too many");
        assert_string_equal(f.hear(knocks).c_str(), "");
    }
    // Nobody says of whom.
    UniqueFd knocks = f.knock();
    Fixture::say(knocks, fmt::format("{} {}", asks_for_refusals, ::geteuid() + 1));
    assert_true(f.hear(knocks).starts_with("failed invalid "));
    f.knock().reset();
    assert_true(f.visitors.empty());
}

void of_those_who_say_nothing_the_oldest_goes(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 17; ++i) { // one more than a user may have
        silent.push_back(f.knock());
        run_until(*f.loop, [] { return true; });
    }
    assert_string_equal(f.hear(silent[0]).c_str(), "");
    Fixture::say(silent[1], visit_word({1, "12"}));
    run_until(*f.loop, [&] { return f.visitors.size() == 1; });
    UniqueFd later = f.knock();
    Fixture::say(later, visit_word({1, "13"}));
    run_until(*f.loop, [&] { return f.visitors.size() == 2; });
}

void one_that_leaves_says_nothing(void **) {
    Fixture f;
    auto door = f.open();
    assert_true(door.ok());
    f.knock().reset();
    UniqueFd knocks = f.knock();
    Fixture::say(knocks, visit_word({1, "12"}));
    run_until(*f.loop, [&] { return f.visitors.size() == 1; });
}

void the_door_takes_the_place_of_an_earlier_one_only(void **) {
    Fixture f;
    {
        auto first = f.open();
        assert_true(first.ok());
        assert_true(f.open().ok()); // the first has not gone in order, say
    }
    assert_false(std::filesystem::exists(gate_door_path(f.directory)));
    std::ofstream(gate_door_path(f.directory)) << "a file";
    auto none = f.open();
    assert_true(!none.ok() && none.failure().kind == ErrorKind::exists);
    assert_true(std::filesystem::is_regular_file(gate_door_path(f.directory)));
    f.directory += "/" + std::string(200, 'x');
    assert_true(f.open().failure().kind == ErrorKind::invalid);
    f.directory.erase(f.directory.rfind('/'));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_visitor_is_who_the_kernel_says),
        cmocka_unit_test(a_visitor_says_what_to_run),
        cmocka_unit_test(what_is_no_wish_is_told),
        cmocka_unit_test(each_is_told_of_the_own_refusals),
        cmocka_unit_test(of_those_who_say_nothing_the_oldest_goes),
        cmocka_unit_test(one_that_leaves_says_nothing),
        cmocka_unit_test(the_door_takes_the_place_of_an_earlier_one_only),
    };
    return cmocka_run_group_tests_name("the gate's door for visitors", tests, nullptr, nullptr);
}
