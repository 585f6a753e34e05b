// What the part of `pmixhost debug` on a host is made of: the way to the command, and a rank with its gdb.
#include "tools/debug/command_pipe.h"
#include "tools/debug/debugged_rank.h"
#include "tools/stacks/hold_notice.h"
#include "tools/stacks/this_host.h"

#include "common/base/fd_pair.h"
#include "common/rendezvous/debugger_door.h"

#include "test/unit/check.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pmixhost;

namespace {

using Kind = GdbEvent::Kind;

struct Ends {
    int in[2], out[2];
    Ends() {
        assert_int_equal(pipe(in), 0);
        assert_int_equal(pipe(out), 0);
        std::signal(SIGPIPE, SIG_IGN);
    }
    ~Ends() {
        close(in[0]), close(out[1]);
        close_command();
    }
    void close_command() {
        for (int *end : {&in[1], &out[0]}) {
            if (*end >= 0)
                close(std::exchange(*end, -1));
        }
    }
    void comes(const std::string &text) const {
        assert_int_equal(write(in[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
};

void messages_come_one_by_one_until_it_is_over(void **) {
    Ends ends;
    CommandPipe pipe(ends.in[0], ends.out[1]);
    std::string first = line_of(DebugCommand{7, std::nullopt, "bt", GdbLanguage::console});
    ends.comes(first.substr(0, 5));
    pipe.take();
    assert_false(pipe.next().has_value());
    ends.comes(first.substr(5) + "no message\n" + line_of(DebugAlive()) + line_of(DebugLeave()));
    pipe.take();
    auto message = pipe.next();
    assert_true(message && std::get<DebugCommand>(*message).text == "bt");
    message = pipe.next();
    assert_true(message && std::holds_alternative<DebugAlive>(*message));
    pipe.look_at_silence();
    assert_false(pipe.is_over());
    pipe.say("hello\n");
    char said[16];
    assert_int_equal(read(ends.out[0], said, sizeof said), 6);
    pipe.end(); // nothing is obeyed any more
    assert_true(pipe.is_over() && !pipe.next());
}

void the_end_of_the_input_is_the_end(void **) {
    Ends ends;
    CommandPipe pipe(ends.in[0], ends.out[1]);
    ends.comes(line_of(DebugAlive()));
    close(std::exchange(ends.in[1], -1));
    pipe.take();
    assert_true(!pipe.is_over() && pipe.next());
    pipe.take();
    assert_true(pipe.is_over());
}

// Where nobody reads, and where nobody is there.
void what_nobody_takes_is_not_waited_for(void **) {
    Ends ends;
    CommandPipe pipe(ends.in[0], ends.out[1]);
    std::string much(1u << 20, 'x');
    close(std::exchange(ends.in[1], -1)); // which is seen while it waits
    auto begin = StackClock::now();
    pipe.say(much);
    assert_true(pipe.is_over() && StackClock::now() - begin < std::chrono::seconds(20));
    Ends gone;
    CommandPipe other(gone.in[0], gone.out[1]);
    gone.close_command();
    other.say("hello\n");
    assert_true(other.is_over());
}

// A process that waits, and a program that stands in for the gdb that is to look at it.
struct Rank0 {
    static constexpr const char *gdb_words = R"(#!/bin/sh
while read -r line; do
    case $line in
    7-target-attach*)
        echo "=thread-group-started,id=\"i1\",pid=\"${line##* }\""
        echo '=thread-created,id="1",group-id="i1"'
        echo '7^done'
        echo '*stopped,frame={func="main"}'
        ;;
    *continue*) echo '7^running' && echo '*running,thread-id="all"' ;;
    *hits*) echo '*stopped,reason="breakpoint-hit",bkptno="1",frame={func="f"}' && echo '7^done' ;;
    *ends*) exit 0 ;;
    *) echo '7^done' ;;
    esac
done
)";
    char directory[32] = "/tmp/pmixhost-unit-XXXXXX";
    std::string file;
    pid_t pid = -1;
    std::optional<DebuggedRank> rank;
    std::vector<GdbEvent> told;

    Rank0() {
        assert_non_null(mkdtemp(directory));
        file = std::string(directory) + "/gdb";
        std::ofstream(file) << gdb_words;
        assert_int_equal(chmod(file.c_str(), 0700), 0);
        pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails drops nothing
            for (;;)
                pause();
        }
        assert_true(waits_until([this] { return state() == 'S'; }));
        auto gdb = GdbProcess::start(file);
        auto process = LookedAt::find({"job", 0, pid, ticks_now() + 1, true});
        assert_true(gdb.ok() && process.ok());
        rank.emplace(std::move(*gdb), std::move(*process));
        assert_true(tells(Kind::stopped));
    }
    ~Rank0() {
        rank.reset();
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        unlink(file.c_str());
        rmdir(directory);
    }
    char state() const {
        auto stat = read_process_stat(pid);
        return stat ? stat->state : '-';
    }
    static bool waits_until(const std::function<bool()> &so) {
        for (auto until = StackClock::now() + std::chrono::seconds(20); !so(); ::poll(nullptr, 0, 5)) {
            if (StackClock::now() >= until)
                return false;
        }
        return true;
    }
    // Until it has told this.
    bool tells(Kind kind) {
        return waits_until([this, kind] {
            if (rank->is_lost())
                return !told.empty() && told.back().kind == kind;
            if (rank->has_to_write())
                rank->write();
            pollfd wait{rank->output(), POLLIN, 0};
            if (::poll(&wait, 1, 0) > 0)
                rank->read([this](GdbEvent event) { told.push_back(std::move(event)); });
            return !told.empty() && told.back().kind == kind;
        });
    }
};

void a_stop_that_came_too_late_is_taken_back(void **) {
    Rank0 here;
    assert_int_equal(here.rank->pid(), here.pid);
    assert_true(here.told.front().id == GdbDialogue::attach_id && here.told.front().kind == Kind::done);
    here.rank->ask(5, "continue", GdbLanguage::console);
    assert_true(here.tells(Kind::runs));
    here.rank->want_stop();
    assert_true(Rank0::waits_until([&] { return here.state() == 'T'; }));
    here.rank->ask(6, "hits", GdbLanguage::console);
    assert_true(here.tells(Kind::done) && here.told[here.told.size() - 2].kind == Kind::stopped);
    assert_true(Rank0::waits_until([&] { return here.state() == 'S'; }));
    here.rank->ask(7, "ends", GdbLanguage::console);
    assert_true(here.tells(Kind::gone) && here.rank->is_lost());
}

void who_runs_is_stopped_and_let_go(void **) {
    Rank0 here;
    here.rank->ask(5, "continue", GdbLanguage::console);
    assert_true(here.tells(Kind::runs));
    here.rank->begin_end();
    assert_true(Rank0::waits_until([&] { return here.state() == 'T'; }));
    end_all({&here.rank->gdb()}, StackClock::now() + std::chrono::seconds(20));
    auto processes = here.rank->take_processes();
    here.rank.reset();
    assert_int_equal(processes.size(), 1);
    processes[0].put_right();
    assert_true(Rank0::waits_until([&] { return here.state() == 'S'; }));
}

// What the daemon of this host is told: each process once, and at last that all were let go.
void the_daemon_is_told_whom_debuggers_hold(void **) {
    char directory[] = "/tmp/pmixhost-unit-XXXXXX";
    assert_non_null(mkdtemp(directory));
    HoldNotice nobody_there;
    assert_false(nobody_there.open(std::string(directory) + "/rendezvous"));
    nobody_there.holds(getpid());
    nobody_there.over();
    auto address = debugger_door_address(directory);
    assert_true(address.ok());
    UniqueFd door(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    assert_int_equal(bind(door.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address), 0);
    assert_int_equal(listen(door.get(), 4), 0);
    UniqueFd heard;
    auto next = [&heard] {
        char word[longest_debugger_word];
        ssize_t got = recv(heard.get(), word, sizeof word, 0);
        return std::string(word, got > 0 ? static_cast<std::size_t>(got) : 0);
    };
    {
        HoldNotice notice;
        assert_true(notice.open(std::string(directory) + "/rendezvous"));
        heard.reset(accept(door.get(), nullptr, nullptr));
        notice.holds(getpid());
        notice.holds(getpid());
        notice.holds(getppid());
        notice.over();
        notice.holds(getpid()); // there is nobody any more
    }
    auto stat = read_process_stat(getpid());
    auto first = parse_hold_word(next()), second = parse_hold_word(next());
    assert_true(stat && first && first->pid == getpid() && first->began == stat->began);
    assert_true(second && second->pid == getppid());
    assert_string_equal(next().c_str(), "over");
    assert_string_equal(next().c_str(), "");
    {
        HoldNotice killed;
        killed.open(std::string(directory) + "/rendezvous");
        heard.reset(accept(door.get(), nullptr, nullptr));
        killed.holds(getpid());
    }
    assert_true(parse_hold_word(next()).ok());
    assert_string_equal(next().c_str(), ""); // it ends without a word
    std::filesystem::remove_all(directory);
}

// More words than a connection has room for, to a daemon that comes to read late: none is lost.
void a_daemon_that_is_busy_hears_all(void **) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    assert_true(ends.ok());
    std::size_t room = 0;
    for (const std::string word = hold_word({1 << 20, 1u << 30});
         send(ends->first.get(), word.data(), word.size(), MSG_DONTWAIT) > 0;)
        ++room;
    assert_true(room > 0 && room < 2000);
    std::vector<pid_t> processes;
    for (std::size_t i = 0; i < room + 20; ++i) {
        processes.push_back(fork());
        if (processes.back() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        assert_true(processes.back() > 0);
    }
    char directory[] = "/tmp/pmixhost-unit-XXXXXX";
    assert_non_null(mkdtemp(directory));
    auto address = debugger_door_address(directory);
    UniqueFd door(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    assert_int_equal(bind(door.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address), 0);
    assert_int_equal(listen(door.get(), 4), 0);
    HoldNotice notice;
    assert_true(notice.open(std::string(directory) + "/rendezvous"));
    UniqueFd heard(accept(door.get(), nullptr, nullptr));
    std::atomic<std::size_t> said = 0;
    std::vector<std::string> words;
    std::thread daemon([&] {
        while (said < room)
            std::this_thread::yield();
        char word[longest_debugger_word];
        for (ssize_t got = 0; (got = recv(heard.get(), word, sizeof word, 0)) > 0;)
            words.emplace_back(word, static_cast<std::size_t>(got));
    });
    for (pid_t process : processes) {
        notice.holds(process);
        ++said;
    }
    notice.over();
    daemon.join();
    for (pid_t process : processes) {
        kill(process, SIGKILL);
        waitpid(process, nullptr, 0);
    }
    std::filesystem::remove_all(directory);
    assert_int_equal(words.size(), processes.size() + 1);
    for (std::size_t i = 0; i < processes.size(); ++i) {
        auto word = parse_hold_word(words[i]);
        assert_true(word && word->pid == processes[i]);
    }
    assert_string_equal(words.back().c_str(), "over");
}

void this_host_has_its_name_with_a_domain_or_without(void **) {
    std::string own = name_of_this_host(), plain = own.substr(0, own.find('.'));
    assert_true(is_name_of_this_host(own) && is_name_of_this_host(plain) && is_name_of_this_host(plain + ".of.a.site"));
    assert_false(is_name_of_this_host(plain + "x") || is_name_of_this_host(""));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_one_by_one_until_it_is_over),
        cmocka_unit_test(the_end_of_the_input_is_the_end),
        cmocka_unit_test(what_nobody_takes_is_not_waited_for),
        cmocka_unit_test(a_stop_that_came_too_late_is_taken_back),
        cmocka_unit_test(who_runs_is_stopped_and_let_go),
        cmocka_unit_test(the_daemon_is_told_whom_debuggers_hold),
        cmocka_unit_test(a_daemon_that_is_busy_hears_all),
        cmocka_unit_test(this_host_has_its_name_with_a_domain_or_without),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
