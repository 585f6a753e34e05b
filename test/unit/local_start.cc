// The local backend's part of the start document, its fault knobs and the text form of arguments:
// each wrong or missing value is refused with its key.
#include "common/local/local_control.h"
#include "common/local/local_text.h"
#include "plugins/local/fault.h"
#include "plugins/local/start.h"
#include "plugins/local/tasks.h"

#include "test/unit/check.h"

#include <fcntl.h>
#include <functional>
#include <sys/socket.h>
#include <sys/wait.h>

using namespace pmixhost;
using namespace pmixhost::local;

namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

int some_fd() {
    return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

// Two hosts, three tasks; this is the second host, with ranks 1 and 2.
Lines right_document() {
    return {
        {"backend", "local"},
        {"host", "b"},
        {"directory", "/tmp/x"},
        {"local.nspace", "local.1.2"},
        {"local.secret", std::string(64, 'a')},
        {"local.control_fd", std::to_string(some_fd())},
        {"local.cwd", "/tmp"},
        {"local.map_by", "slot"},
        {"local.host_name", "a"},
        {"local.host_name", "b"},
        {"local.ranks", "0"},
        {"local.ranks", "1,2"},
        {"local.app_ranks", "0 0,1"},
        {"local.app_ranks", "1 2"},
        {"local.app_arg", "0 prog"},
        {"local.app_arg", "0 two\\nlines \\\\ "},
        {"local.app_arg", "0 "},
        {"local.app_arg", "1 other"},
        {"local.task", "1 0 -1 " + std::to_string(some_fd()) + " " + std::to_string(some_fd())},
        {"local.task", "2 1 -1 " + std::to_string(some_fd()) + " " + std::to_string(some_fd())},
        {"local.task_env", "A=1\\n2"},
        {"local.fault", "drop-contact,host=1"},
        {"local.fault", "drop-contact,host=0"},
        {"local.fault", "link-drop,host=1,peer=0,messages=5"},
        {"local.fault", "link-drop,host=0,peer=1"},
        {"local.fault", "link-delay,host=0,peer=1,by=1s"},
    };
}

Result<LocalStart> parse(const Lines &lines) {
    StartDocument document;
    for (const auto &[key, value] : lines)
        assert_true(document.add(key, value).ok());
    return parse_local_start(document);
}

void test_a_right_document(void **) {
    auto start = parse(right_document());
    if (!start)
        print_error("%s\n", start.failure().text.c_str());
    assert_true(start.ok());
    assert_int_equal(start->step.self, 1);
    assert_int_equal(start->step.map.rank_count(), 3);
    assert_int_equal(start->tasks.size(), 2);
    assert_int_equal(start->tasks[0].argv.size(), 3);
    assert_string_equal(start->tasks[0].argv[1].c_str(), "two\nlines \\ ");
    assert_string_equal(start->tasks[0].argv[2].c_str(), "");
    assert_string_equal(start->tasks[1].argv[0].c_str(), "other");
    assert_string_equal(start->task_env[0].c_str(), "A=1\n2");
    assert_int_equal(start->faults.size(), 1);
    assert_int_equal(start->step.link_faults.size(), 2); // host 0 drops by itself, both delay
    assert_int_equal(start->step.link_faults[0].peer, 0);
    assert_true(start->step.link_faults[0].cut_after == 5);
    assert_int_equal(start->step.link_faults[1].peer, 0);
    assert_true(start->step.link_faults[1].delay.count() == 1000);
    assert_true(start->tasks[0].in && start->tasks[0].out);
    // No descriptor reaches a process it is not for.
    assert_int_equal(::fcntl(start->tasks[0].out.get(), F_GETFD), FD_CLOEXEC);
    assert_string_equal(identity_variables(start->step, 2)[2].c_str(), "PMIXHOST_LOCAL_RANK=1");
    assert_true(mpi_variables(*start).size() > 1);
}

void test_what_is_missing_is_named(void **) {
    for (const char *key : {"host", "local.nspace", "local.secret", "local.control_fd", "local.cwd", "local.host_name",
                            "local.ranks", "local.app_ranks", "local.app_arg", "local.task"}) {
        Lines lines = right_document();
        std::erase_if(lines, [&](const auto &line) { return line.first == key; });
        assert_false(parse(lines).ok());
    }
}

// Whoever started it may end it as soon as the channel is closed.
void test_the_channel_hears_what_is_wrong(void **) {
    int pair[2];
    assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    UniqueFd launcher(pair[0]);
    Lines lines = right_document();
    for (auto &[key, value] : lines) {
        if (key == "local.control_fd")
            value = std::to_string(pair[1]);
    }
    lines.emplace_back("local.fault", "link-drop,host=0");
    assert_false(parse(lines).ok());
    char heard[1000];
    ssize_t size = ::recv(launcher.get(), heard, sizeof heard, 0);
    assert_true(size > 0);
    ControlDecoder decoder;
    decoder.add({heard, static_cast<std::size_t>(size)});
    auto message = decoder.next();
    assert_true(message.ok() && *message);
    auto *failed = std::get_if<DaemonFailed>(&**message);
    assert_non_null(failed);
    assert_non_null(strstr(failed->text.c_str(), "fault 'link-drop,host=0'"));
    assert_int_equal(::recv(launcher.get(), heard, sizeof heard, 0), 0); // and it is closed
}

void test_what_is_wrong_is_refused(void **) {
    const std::pair<const char *, const char *> wrong[] = {
        {"host", "c"},
        {"local.nspace", ""},
        {"local.secret", "abc"},
        {"local.secret", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        {"local.control_fd", "-1"},
        {"local.control_fd", "0"},
        {"local.control_fd", "2"},
        {"local.control_fd", "99999"},
        {"local.control_fd", "3x"},
        {"local.cwd", "\\x"},
        {"local.host_name", "b"}, // twice
        {"local.ranks", "1"},     // rank 0 is nowhere
        {"local.ranks", "0,1"},   // rank 1 is there twice
        {"local.ranks", "0,,1"},
        {"local.ranks", "x"},
        {"local.ranks", "4294967295"},
        {"local.app_ranks", "1 0"}, // programs are counted from 0
        {"local.app_ranks", "x 0"},
        {"local.app_arg", "7 prog"},
        {"local.app_arg", "0 a\\"},
        {"local.app_arg", "prog"},
        {"local.task", ""},
        {"local.task", "0 0 -1 -1 -1"}, // another host's
        {"local.task", "1 9 -1 -1 -1"},
        {"local.task", "1 0 -1 -1"},
        {"local.task", "1 0 -1 -1 -1 -1"},
        {"local.task", "1 0 -1 -1 1"},
        {"local.task", "1 0 -2 -1 -1"},
        {"local.task_env", "NO_VALUE"},
        {"local.task_env", "A=\\t"},
        {"local.fault", "kill"},
    };
    for (const auto &[key, value] : wrong) {
        Lines lines = right_document();
        for (auto &line : lines) {
            if (line.first == key) {
                line.second = value;
                break;
            }
        }
        auto start = parse(lines);
        if (start)
            print_error("%s %s is taken\n", key, value);
        assert_false(start.ok());
        assert_false(start.failure().text.empty());
    }
}

void test_faults(void **) {
    auto kill = parse_fault("kill,host=2,after=200ms", 3);
    assert_true(kill.ok());
    assert_int_equal(kill->host, 2);
    assert_true(kill->after->count() == 200);
    auto contact = parse_fault("stop,host=0,at=contact", 3);
    assert_true(contact.ok() && !contact->after);
    assert_int_equal(parse_fault("drop-contact,host=1,count=3", 3)->count, 3);
    assert_true(parse_fault("delay-contact,host=1,by=2", 3)->by.count() == 2000);
    assert_int_equal(parse_fault("link-drop,host=1,peer=2", 3)->messages, 0);
    assert_int_equal(parse_fault("link-drop,host=1,peer=2,messages=7", 3)->messages, 7);
    assert_true(parse_fault("link-delay,host=1,peer=2,by=2", 3)->by.count() == 2000);
    for (const char *wrong : {"",
                              "kill",
                              "kill,host=1",
                              "kill,after=1s",
                              "kill,host=x,after=1s",
                              "kill,host=1,after=soon",
                              "kill,host=1,at=dawn",
                              "kill,host=1,by=1s",
                              "kill,host=1,after=1s,at=contact",
                              "delay-contact,host=1",
                              "drop-contact",
                              "drop-contact,host=1,count=-1",
                              "explode,host=1",
                              "kill,host=1,after=1s,bogus",
                              "kill,host=3,after=1s",
                              "link-drop,host=1",
                              "link-drop,peer=1",
                              "link-drop,host=1,peer=1",
                              "link-drop,host=1,peer=3",
                              "link-drop,host=1,peer=0,by=1s",
                              "link-delay,host=1,peer=0",
                              "link-delay,host=1,peer=0,messages=1",
                              "link-burn,host=1,peer=0",
                              "kill,host=1,peer=0"}) {
        auto fault = parse_fault(wrong, 3);
        assert_false(fault.ok());
        assert_true(fault.failure().text.find(wrong) != std::string::npos);
    }
}

void test_text_survives(void **) {
    for (const char *text : {"", "plain", "\n", "\\", "\\n", "a\nb\\c\\\\n\n", "\ttab"}) {
        std::string line = escape_line(text);
        assert_true(line.find('\n') == std::string::npos);
        auto back = unescape_line(line);
        assert_true(back.ok());
        assert_string_equal(back->c_str(), text);
    }
    assert_false(unescape_line("\\").ok());
    assert_false(unescape_line("a\\x").ok());
}

// The daemon watches its tasks too, and may leave before the loop has told their backend.
void test_an_end_that_was_not_seen_is_told(void **) {
    auto loop = EventLoop::create([](const std::string &what) { print_error("%s\n", what.c_str()); });
    assert_true(loop.ok());
    int status = -1, ends = 0;
    Tasks tasks(**loop, {[](Rank, pid_t) {},
                         [](Rank, int, std::string) {},
                         [&](Rank rank, int wait_status) {
                             assert_int_equal(rank, 7);
                             ++ends;
                             status = wait_status;
                         },
                         {}});
    TaskSpec task{7, {"/bin/sh", "-c", "exit 3"}, UniqueFd(some_fd()), UniqueFd(some_fd()), UniqueFd(some_fd())};
    assert_true(tasks.start(std::move(task), {"PATH=/bin"}, "/").ok());
    tasks.settle(); // runs, or has ended already
    siginfo_t info;
    if (!tasks.pids().empty())
        assert_int_equal(waitid(P_PID, static_cast<id_t>(tasks.pids().front()), &info, WEXITED | WNOWAIT), 0);
    tasks.settle();
    tasks.settle();
    assert_int_equal(ends, 1);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_true(tasks.pids().empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_right_document),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_the_channel_hears_what_is_wrong),
        cmocka_unit_test(test_what_is_wrong_is_refused),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_text_survives),
        cmocka_unit_test(test_an_end_that_was_not_seen_is_told),
    };
    return cmocka_run_group_tests_name("local_start", tests, nullptr, nullptr);
}
