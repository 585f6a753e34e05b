// From prefork to the tasks' environment, with a stand-in for pmixhostd and without Slurm. As root
// the daemon is another user's; otherwise the tester's own.
#include "common/start/step_secret.h"
#include "plugins/kit/door_client.h"
#include "plugins/kit/unread_streams.h"
#include "plugins/slurm/base/contacts_directory.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/shim/daemon_path.h"
#include "plugins/slurm/shim/hook_env.h"
#include "plugins/slurm/shim/task_hook.h"
#include "test/unit/slurm_fakes.h"

#include "plugins/kit/daemon_launch.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace pmixhost::kit;
using namespace std::chrono_literals;

// Replaces functions of libc for everything in this program, to count how often root looks at paths.
static std::atomic<int> looked_at_paths = 0;
extern "C" {
__attribute__((visibility("default"))) int lstat(const char *path, struct stat *status) noexcept {
    ++looked_at_paths;
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
__attribute__((visibility("default"))) int stat(const char *path, struct stat *status) noexcept {
    ++looked_at_paths;
    return fstatat(AT_FDCWD, path, status, 0);
}
}

static constexpr StepName the_step{12, 3, {}};

static User some_user() {
    if (geteuid() != 0)
        return *look_up_user(geteuid());
    return {60'999, 60'998, {60'998, 60'997}, "tester", "/nowhere"};
}

// Surroundings as in slurmstepd, with a stand-in that behaves as `mode` says.
static Surroundings around(const std::string &mode) {
    Surroundings s;
    s.host = "n1";
    s.step_name = [] { return Result<std::optional<StepName>>(the_step); };
    s.own_step = [](const StepName &, const std::string &) { return Result<OwnStep>(OwnStep{some_user().uid, 0, {}}); };
    s.user = [](uid_t) { return Result<User>(some_user()); };
    char directory[4096];
    assert_non_null(getcwd(directory, sizeof directory));
    s.daemon = std::string(directory) + "/test/unit/slurm_stand_in";
    s.daemon_args = {mode};
    s.slurm_conf_file = "/etc/slurm.conf";
    s.topology_file = "/var/spool/n1/pmixhost_topology";
    return s;
}

static void fill(FakeEnvironment &environment) {
    environment.add("PATH=/evil");
    environment.add("LD_PRELOAD=/evil.so");
    environment.add("PMIXHOST_STEP_1=ranks=0");
    environment.add("PMIXHOST_STEP_7=left behind");
    environment.add("PMIXHOST_STEP_0=2 pmixhost2 job=12 step=3 hosts=n1 ");
    environment.add("PMIXHOST_REPORT=99 00112233445566778899aabbccddeeff 127.0.0.1");
    environment.add("PMIXHOST_LOG_LEVEL=debug");
    environment.add("PMIXHOST_PSETS=a=0");
    environment.add("PMIXHOST_EVIL=a\nbackend local");
    environment.add("PMIXHOST_START_TIMEOUT=5s");
}

static bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

static void the_daemon_is_a_clean_process_of_the_user(void **) {
    // As in slurmstepd: blocked signals, a handler, descriptors, another directory.
    sigset_t blocked, before;
    sigemptyset(&blocked);
    for (int signal : {SIGTERM, SIGUSR1, SIGPIPE})
        sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    auto old = signal(SIGHUP, [](int) {});
    UniqueFd secret(open("/etc/passwd", O_RDONLY)); // not close-on-exec
    UniqueFd high(fcntl(secret.get(), F_DUPFD, 300));

    FakeEnvironment environment;
    fill(environment);
    Prepared prepared = prepare_step(around("serve"), environment.array);
    signal(SIGHUP, old);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    assert_string_equal(prepared.failure.c_str(), "");
    auto ready = prepare_task(prepared, 5, &environment.array);
    if (!ready)
        fail_msg("%s", ready.failure().text.c_str());

    User user = some_user();
    std::string uid = std::to_string(user.uid), gid = std::to_string(user.gid);
    assert_string_equal(environment.get("RANK").c_str(), "5");
    assert_string_equal(environment.get("AT_UID").c_str(), (uid + "\t" + uid + "\t" + uid + "\t" + uid).c_str());
    assert_string_equal(environment.get("AT_GID").c_str(), (gid + "\t" + gid + "\t" + gid + "\t" + gid).c_str());
    if (geteuid() == 0) {
        assert_string_equal(environment.get("AT_GROUPS").c_str(), "60997 60998 ");
        assert_string_equal(environment.get("AT_CAPS").c_str(), "0000000000000000");
    }
    assert_string_equal(environment.get("AT_BLOCKED").c_str(), "0000000000000000");
#ifndef PMIXHOST_SANITIZES_ADDRESSES // which catches some in the stand-in
    assert_string_equal(environment.get("AT_CAUGHT").c_str(), "0000000000000000");
#endif
    assert_string_equal(environment.get("AT_IGNORED").c_str(), "0000000000000000");
    assert_string_equal(environment.get("AT_OOM").c_str(), "0");
    assert_string_equal(environment.get("AT_GROUP").c_str(), "own");
    assert_string_equal(environment.get("AT_CWD").c_str(), "/");
    assert_string_equal(environment.get("AT_ENV").c_str(), "PATH,HOME,USER,LOGNAME,SLURM_CONF,");
    assert_true(has(environment.get("AT_ARGS"), "/slurm_stand_in,--start-fd,"));
    std::string document = environment.get("AT_DOCUMENT");
    for (const char *line :
         {"backend slurm|", "|host n1|", "|slurm.job_id 12|", "|slurm.step_id 3|", "|job 12|", "|step 3|",
          "|slurm.task_map pmixhost2 job=12 step=3 hosts=n1 ranks=0|", "|slurm.report 99 0011",
          "|slurm.topology /var/spool/n1/pmixhost_topology|", "|env PMIXHOST_LOG_LEVEL=debug|"})
        assert_true(has(document, line));
    assert_false(has(document, "EVIL"));
    assert_false(has(document, "backend local"));
    assert_false(has(document, "PMIXHOST_STEP"));
    // 0, 1, 2 and the four that the document names.
    std::string fds = environment.get("AT_FDS");
    assert_int_equal(std::count(fds.begin(), fds.end(), ','), 7);

    assert_string_equal(environment.get("PMIXHOST_STEP_0").c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_STEP_1").c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_REPORT").c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_PSETS").c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_LOG_LEVEL").c_str(), "debug");
    // No child is left behind that slurmstepd would take for a task.
    assert_int_equal(waitpid(-1, nullptr, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void the_daemon_ends_with_slurmstepd(void **) {
    FakeEnvironment environment;
    fill(environment);
    std::string door;
    {
        Prepared prepared = prepare_step(around("serve"), environment.array);
        assert_true(prepare_task(prepared, 0, &environment.array).ok());
        door = prepared.door;
    } // its end of the lifeline closes
    auto shut = [&door] { return !ask_at_door(door, some_user().uid, 0, 1s).ok(); };
    for (int i = 0; i < 500 && !shut(); ++i)
        usleep(10'000);
    assert_true(shut());
}

// What unread_streams() says in a process with these as its descriptors 1 and 2 (-1: closed).
static std::uint32_t unread_with(int out, int err) {
    pid_t child = fork();
    if (child == 0) {
        for (auto [mine, standard] : {std::pair(out, STDOUT_FILENO), {err, STDERR_FILENO}}) {
            if (mine < 0)
                close(standard);
            else
                dup2(mine, standard);
        }
        _exit(static_cast<int>(kit::unread_streams()));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return static_cast<std::uint32_t>(WEXITSTATUS(status));
}

static void what_the_rm_does_not_read_is_told(void **) {
    int pipe_ends[2], sockets[2];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    UniqueFd file(memfd_create("output", MFD_CLOEXEC)), nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    UniqueFd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    assert_true(file && nowhere && terminal);
    assert_int_equal(unread_with(pipe_ends[1], sockets[0]), 0);
    assert_int_equal(unread_with(file.get(), pipe_ends[1]), 2);
    assert_int_equal(unread_with(terminal.get(), nowhere.get()), 0);
    assert_int_equal(unread_with(terminal.get(), file.get()), 4);
    assert_int_equal(unread_with(file.get(), file.get()), 6);
    assert_int_equal(unread_with(-1, -1), 0);
    for (int fd : {pipe_ends[0], pipe_ends[1], sockets[0], sockets[1]})
        close(fd);
}

static void expect_failure(const Surroundings &s, const std::string &text) {
    FakeEnvironment environment;
    fill(environment);
    Prepared prepared = prepare_step(s, environment.array);
    auto ready = prepare_task(prepared, 0, &environment.array);
    assert_false(ready.ok());
    if (!has(ready.failure().text, text))
        fail_msg("'%s' is not '%s'", ready.failure().text.c_str(), text.c_str());
}

static void each_failure_has_its_line(void **) {
    Surroundings s = around("serve");
    s.daemon = "/nonexistent/pmixhostd";
    expect_failure(s, "n1: cannot execute /nonexistent/pmixhostd: No such file");
    s = around("serve");
    s.contain = [](pid_t) { return false; };
    expect_failure(s, "n1: pmixhostd could not be put into the step's container");
    s = around("serve");
    s.user = [](uid_t) { return Result<User>(error(ErrorKind::not_found, "user 7 is unknown")); };
    expect_failure(s, "n1: user 7 is unknown");
    s = around("serve");
    s.step_name = [] { return Result<std::optional<StepName>>(error(ErrorKind::invalid, "no title")); };
    expect_failure(s, "n1: no title");
    expect_failure(around("exit"), "the stand-in does not like it here");
    expect_failure(around("refuse"), "n1: no chance");
}

static void without_a_map_nothing_is_started(void **) {
    FakeEnvironment environment;
    Surroundings s = around("serve");
    bool process_made = false;
    s.contain = [&process_made](pid_t) { return process_made = true; };
    Prepared prepared = prepare_step(s, environment.array);
    assert_false(process_made);
    assert_true(prepared.wanted);
    assert_true(has(prepared.failure, "no task map"));
}

static void a_silent_daemon_costs_no_more_than_the_timeout(void **) {
    FakeEnvironment environment;
    fill(environment);
    slurm_env_array_overwrite(&environment.array, "PMIXHOST_START_TIMEOUT", "300ms");
    Prepared prepared = prepare_step(around("silent"), environment.array);
    auto begin = std::chrono::steady_clock::now();
    auto ready = prepare_task(prepared, 0, &environment.array);
    auto took = std::chrono::steady_clock::now() - begin;
    assert_false(ready.ok());
    assert_true(has(ready.failure().text, "in time"));
    assert_true(took >= 300ms && took < 5s);
}

static void other_steps_are_left_alone(void **) {
    FakeEnvironment environment;
    fill(environment);
    Surroundings s = around("serve");
    s.step_name = [] { return Result<std::optional<StepName>>(std::optional<StepName>()); };
    assert_false(prepare_step(s, environment.array).wanted);
}

// Another user's process at an abstract name that has become free.
static void an_impostor_at_the_door_is_found_out(void **) {
    if (geteuid() != 0)
        skip();
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t impostor = fork();
    if (impostor == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        bool ok = setuid(60'996) == 0 && bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(sa_family_t)) == 0 &&
                  listen(fd, 5) == 0;
        socklen_t length = sizeof address;
        getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length);
        ssize_t n = write(ready[1], address.sun_path, length - offsetof(sockaddr_un, sun_path));
        pause();
        _exit(ok && n > 0 ? 0 : 1);
    }
    char name[108];
    ssize_t length = read(ready[0], name, sizeof name);
    assert_true(length > 1);
    auto answer = ask_at_door(std::string(name, static_cast<std::size_t>(length)), 60'999, 0, 5s);
    kill(impostor, SIGKILL);
    waitpid(impostor, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
    assert_false(answer.ok());
    assert_true(answer.failure().kind == ErrorKind::denied);
}

static void titles_name_the_step(void **) {
    auto step = parse_step_title("slurmstepd: [12.3]      ");
    assert_true(step.ok() && *step == the_step);
    step = parse_step_title(std::string_view("slurmstepd: [12.3]\0\0", 20));
    assert_true(step.ok() && *step == the_step);
    step = parse_step_title("slurmstepd: [4294967295.0+17]");
    assert_true(step.ok() && step->has_value());
    assert_true(**step == (StepName{4294967295u, 0, 17}));
    assert_string_equal(to_text(**step).c_str(), "4294967295.0+17");
    step = parse_step_title("slurmstepd: [7.1 stepmgr]");
    assert_true(step.ok() && **step == (StepName{7, 1, {}}));
    for (const char *title : {"slurmstepd: [12.batch]", "slurmstepd: [12.extern]", "slurmstepd: [12.interactive]",
                              "slurmstepd: [12.batch+1]"}) {
        step = parse_step_title(title);
        assert_true(step.ok() && !step->has_value());
    }
    for (const char *title : {"", "slurmstepd", "slurmstepd: [", "slurmstepd: [12.3", "slurmstepd: []",
                              "slurmstepd: [12]", "slurmstepd: [x.1]", "slurmstepd: [1.x]", "slurmstepd: [1.2+]",
                              "slurmstepd: [1.2x]", "slurmstepd: [99999999999.1]", "srun: [1.2]"})
        assert_false(parse_step_title(title).ok());
}

class NoSealer : public Sealer {
  public:
    Result<std::string> seal(std::string_view) override { return error(ErrorKind::unreachable, "no munge"); }
    Result<Opened> open(const std::string &) override { return error(ErrorKind::unreachable, "no munge"); }
};

static void the_user_gets_one_line_per_host(void **) {
    NoSealer sealer;
    int line[2];
    assert_int_equal(pipe(line), 0);
    int killed = 0, not_read = 0;
    StepKiller killer{sealer,
                      [&](const std::vector<std::uint32_t> &jobs, std::uint32_t step) {
                          assert_true(jobs == std::vector<std::uint32_t>{the_step.job_id} && step == the_step.step_id);
                          ++killed;
                          ioctl(line[0], FIONREAD, &not_read);
                      },
                      line[1]};
    // Reads when the other end waits for it.
    char text[200];
    ssize_t length = 0;
    std::thread reader([&] {
        auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (fcntl(line[0], F_GETPIPE_SZ) != getpagesize() && std::chrono::steady_clock::now() < until)
            std::this_thread::yield();
        length = read(line[0], text, sizeof text);
    });
    FakeEnvironment environment;
    fill(environment);
    Prepared prepared;
    prepared.step = the_step;
    for (bool first : {true, false, false})
        end_step_from_task(prepared, first, "n1: broken\nline", environment.array, killer);
    close(line[1]);
    reader.join();
    assert_int_equal(not_read, 0);
    assert_string_equal(std::string(text, static_cast<std::size_t>(length)).c_str(), "pmixhost: n1: broken line\n");
    assert_int_equal(read(line[0], text, sizeof text), 0);
    close(line[0]);
    assert_int_equal(killed, 1);
}

// Any task of a host may be the one that fails, and each of a host that is broken does: the first one tells.
static void the_first_task_that_fails_ends_the_step(void **) {
    FakeEnvironment environment;
    fill(environment);
    Prepared prepared = prepare_step(around("serve"), environment.array);
    assert_non_null(prepared.page);
    NoSealer sealer;
    int killed = 0;
    UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    StepKiller killer{sealer, [&](const auto &, std::uint32_t) { ++killed; }, nowhere.get()};
    for (bool first_on_host : {false, true, false})
        end_step_from_task(prepared, first_on_host, "n1: broken", environment.array, killer);
    assert_int_equal(killed, 1);
    assert_true(clean_up(prepared));
}

static void all_components_of_a_het_step_are_ended(void **) {
    FakeEnvironment environment;
    environment.add("PMIXHOST_STEP_0=1 pmixhost2 version=9 wire=0 job=11 step=7 jobs=11,12,13 ranks=0");
    NoSealer sealer;
    std::vector<std::uint32_t> ended;
    UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    StepKiller killer{sealer,
                      [&](const auto &jobs, std::uint32_t step) {
                          ended = jobs;
                          assert_int_equal(step, 7);
                      },
                      nowhere.get()};
    Prepared prepared;
    prepared.step = {12, 7, 1};
    end_step_from_task(prepared, true, "n1: broken", environment.array, killer);
    assert_true((ended == std::vector<std::uint32_t>{11, 13, 12}));
}

// The daemon is told of the program by pmixhost-task, or by the hook where a container's runtime would close the way.
static void a_spawned_task_keeps_its_connection_but_for_containers(void **) {
    for (bool in_container : {false, true}) {
        FakeEnvironment environment;
        fill(environment);
        environment.add("PMIXHOST_PARENT=slurm.12.0 4");
        if (in_container)
            environment.add("PMIXHOST_TASK_CONTAINER=1");
        Prepared prepared = prepare_step(around("serve"), environment.array);
        assert_true(prepare_task(prepared, 0, &environment.array).ok());
        assert_string_equal(environment.get("PMIXHOST_TASK_CONTAINER").c_str(), "(none)");
        if (in_container)
            assert_string_equal(environment.get("PMIXHOST_TASK_FD").c_str(), "(none)");
        else
            close(std::stoi(environment.get("PMIXHOST_TASK_FD")));
        assert_true(clean_up(prepared));
    }
}

static void a_debugger_that_waits_for_the_launch_is_told_of(void **) {
    const std::pair<std::string, std::string> told[] = {
        {"0", "all"}, {"1", ""}, {"1", "bad"}, {"1", "all"}, {"1", "some"}};
    for (const auto &[word, ends] : told) {
        FakeEnvironment environment;
        fill(environment);
        environment.add("PMIXHOST_TELLS_LAUNCH=" + word);
        environment.add("PMIXHOST_TELLS_ENDS=" + ends);
        Prepared prepared = prepare_step(around("serve"), environment.array);
        assert_true(prepare_task(prepared, 0, &environment.array).ok());
        const std::string document = environment.get("AT_DOCUMENT");
        assert_true(has(document, "|slurm.tells_launch 1|") == (word == "1"));
        const bool tells = word == "1" && (ends == "all" || ends == "bad");
        assert_true(has(document, "|slurm.tells_ends ") == tells);
        assert_true(!tells || has(document, "|slurm.tells_ends " + ends + "|"));
        for (const char *own : {"PMIXHOST_TELLS_LAUNCH", "PMIXHOST_TELLS_ENDS"})
            assert_string_equal(environment.get(own).c_str(), "(none)");
        assert_true(clean_up(prepared));
    }
}

// srun's user has kept his variables from the tasks (--export=NONE), and these from the step's hosts with them.
static void what_the_user_set_for_srun_holds_for_its_step(void **) {
    FakeEnvironment environment;
    fill(environment);
    for (const char *entry :
         {"PMIXHOST_OF_SRUN_DEBUG_STOP=exec=0;init", "PMIXHOST_OF_SRUN_IO_CAPTURE=on",
          "PMIXHOST_OF_SRUN_LOG_LEVEL=error", "PMIXHOST_OF_SRUN_REPORT=1 x y", "PMIXHOST_OF_SRUN_OF_SRUN_A=b",
          "PMIXHOST_OF_SRUN_STEP_0=1 x", "PMIXHOST_OF_SRUN_NOTHING", "PMIXHOST_OF_SRUN_EVIL=a\nbackend local"})
        environment.add(entry);
    Prepared prepared = prepare_step(around("serve"), environment.array);
    assert_true(prepare_task(prepared, 0, &environment.array).ok());
    std::string document = environment.get("AT_DOCUMENT");
    assert_true(has(document, "|env PMIXHOST_DEBUG_STOP=exec=0;init|"));
    assert_true(has(document, "|env PMIXHOST_IO_CAPTURE=on|"));
    // What the step has itself goes before it.
    assert_true(has(document, "|env PMIXHOST_LOG_LEVEL=debug|"));
    for (const char *none : {"LOG_LEVEL=error", "1 x", "OF_SRUN", "NOTHING", "EVIL", "backend local"})
        assert_false(has(document, none));
    for (const char *none : {"PMIXHOST_OF_SRUN_IO_CAPTURE", "PMIXHOST_IO_CAPTURE", "PMIXHOST_OF_SRUN_DEBUG_STOP",
                             "PMIXHOST_DEBUG_STOP", "PMIXHOST_OF_SRUN_LOG_LEVEL"})
        assert_string_equal(environment.get(none).c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_LOG_LEVEL").c_str(), "debug");
    assert_true(clean_up(prepared));
}

// Before anything else of the step runs with that environment.
static void the_secret_is_in_the_start_document_alone(void **) {
    std::string secret = new_step_secret();
    FakeEnvironment environment;
    fill(environment);
    environment.add("PMIXHOST_SECRETS=mine");
    environment.add("PMIXHOST_SECRET=" + secret);
    Prepared prepared = prepare_step(around("serve"), environment.array);
    assert_string_equal(prepared.failure.c_str(), "");
    assert_string_equal(environment.get("PMIXHOST_SECRET").c_str(), "(none)");
    assert_string_equal(environment.get("PMIXHOST_SECRETS").c_str(), "mine");
    assert_string_equal(prepared.secret.c_str(), secret.c_str());
    assert_true(prepare_task(prepared, 0, &environment.array).ok());
    std::string document = environment.get("AT_DOCUMENT");
    assert_true(has(document, "|slurm.secret " + secret + "|"));
    assert_int_equal(document.find(secret), document.rfind(secret));
    assert_false(has(environment.get("AT_ARGS") + environment.get("AT_ENV"), secret));
    assert_true(clean_up(prepared));

    FakeEnvironment none;
    fill(none);
    none.add("PMIXHOST_SECRET="); // srun has munge, and says so
    Prepared with_munge = prepare_step(around("serve"), none.array);
    assert_string_equal(none.get("PMIXHOST_SECRET").c_str(), "(none)");
    assert_true(prepare_task(with_munge, 0, &none.array).ok());
    assert_false(has(none.get("AT_DOCUMENT"), "slurm.secret"));
    assert_true(clean_up(with_munge));
}

static void srun_chooses_a_secret_where_it_has_no_munge(void **) {
    NoSealer none;
    SecretSealer works("secret");
    assert_string_equal(secret_for_step(works, "").c_str(), "");
    assert_true(is_step_secret(secret_for_step(none, "")));
    assert_true(secret_for_step(none, "") != secret_for_step(none, ""));
    std::string family = new_step_secret(); // wherever the parent was started
    assert_string_equal(secret_for_step(works, family).c_str(), family.c_str());
    assert_string_equal(secret_for_step(none, family).c_str(), family.c_str());
}

static void hostile_environments_are_bounded(void **) {
    FakeEnvironment environment;
    for (const char *entry : {"PMIXHOST_STEP_", "PMIXHOST_STEP_=", "PMIXHOST_STEP_x=1", "PMIXHOST_STEP_-1=1",
                              "PMIXHOST_STEP_99999999999999999999=1", "PMIXHOST_STEP_4000000000=1", "PMIXHOST_", "=",
                              "", "PMIXHOST_STEP_0"})
        environment.add(entry);
    assert_false(collect_task_map(environment.array).ok());
    environment.add("PMIXHOST_STEP_1=b");
    assert_false(collect_task_map(environment.array).ok()); // piece 0 is missing
    slurm_unsetenvp(environment.array, "PMIXHOST_STEP_");
    for (const char *first : {"a", "2", "2 ", "0 a", "3 a", "-1 a", "99999999999999999999 a", " a"}) {
        slurm_env_array_overwrite(&environment.array, "PMIXHOST_STEP_0", first);
        assert_int_equal(collect_task_map(environment.array).ok(), 0);
    }
    slurm_env_array_overwrite(&environment.array, "PMIXHOST_STEP_0", "2 a");
    auto map = collect_task_map(environment.array);
    assert_true(map.ok());
    assert_string_equal(map->c_str(), "ab");
    FakeEnvironment large;
    for (std::size_t i = 0; i < max_environment_pieces; ++i)
        large.add(task_map_variable(i) + (i ? "=" : "=41 ") + std::string(1 << 20, 'x'));
    assert_false(collect_task_map(large.array).ok());
    for (int i = 0; i < 1000; ++i)
        environment.add((i % 2 ? "PMIXHOST_V" : "PMIXHOST_OF_SRUN_V") + std::to_string(i) + "=" +
                        std::string(1000, 'x'));
    assert_true(user_variables(environment.array).size() < 100);
    assert_false(collect_task_map(nullptr).ok());
}

static void only_root_says_where_the_daemon_is(void **) {
    char directory[] = "/tmp/pmixhost-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    std::string path = std::string(directory) + "/pmixhostd.path";
    const std::string built_in = daemon_path(directory).path;
    {
        UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        assert_int_equal(write(fd.get(), "/build/pmixhostd\n--a\nb c\n", 25), 25);
    }
    DaemonPath found = daemon_path(directory);
    if (geteuid() == 0) {
        assert_string_equal(found.path.c_str(), "/build/pmixhostd");
        assert_int_equal(found.arguments.size(), 2);
        assert_string_equal(found.arguments[1].c_str(), "b c");
        chmod(path.c_str(), 0664);
        assert_string_equal(daemon_path(directory).path.c_str(), built_in.c_str());
        chmod(path.c_str(), 0644);
        assert_int_equal(chown(path.c_str(), 60'999, 0), 0);
    }
    assert_string_equal(daemon_path(directory).path.c_str(), built_in.c_str());
    unlink(path.c_str());
    rmdir(directory);
}

static void a_directory_that_was_left_behind_is_removed(void **) {
    User user = some_user();
    char base[] = "/tmp/pmixhost-test-XXXXXX";
    assert_non_null(mkdtemp(base));
    assert_int_equal(chmod(base, 01777), 0);
    std::string path = std::string(base) + "/pmixhost-" + std::to_string(user.uid) + ".x";
    assert_int_equal(mkdir(path.c_str(), 0700), 0);
    assert_int_equal(chown(path.c_str(), user.uid, user.gid), 0);
    StatusPage page{};
    page.note_directory(path);
    Prepared prepared;
    prepared.uid = user.uid;
    prepared.user = user;
    prepared.page = &page;
    looked_at_paths = 0;
    clean_up(prepared);
    assert_int_equal(looked_at_paths, 0); // that is the user's part
    for (int i = 0; i < 500 && access(path.c_str(), F_OK) == 0; ++i)
        usleep(10'000);
    assert_int_equal(rmdir(base), 0);
}

// Else its directory would be removed by two at once, and a process started for nothing.
static void one_that_leaves_by_itself_removes_its_directory(void **) {
    void *memory = mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    auto *page = static_cast<StatusPage *>(memory);
    User user = some_user();
    char base[] = "/tmp/pmixhost-test-XXXXXX";
    assert_non_null(mkdtemp(base));
    std::string path = std::string(base) + "/pmixhost-" + std::to_string(user.uid) + ".x";
    assert_int_equal(mkdir(path.c_str(), 0700), 0);
    page->note_directory(path);
    int line[2];
    assert_int_equal(pipe2(line, O_CLOEXEC), 0);
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0) {
        close(line[1]);
        char end;
        (void)!read(line[0], &end, 1);
        usleep(100'000); // what it has to do
        page->note_directory({});
        _exit(0);
    }
    close(line[0]);
    Prepared prepared;
    prepared.uid = user.uid;
    prepared.user = user;
    prepared.page = page;
    prepared.lifeline.reset(line[1]);
    prepared.daemon.reset(static_cast<int>(syscall(SYS_pidfd_open, daemon, 0)));
    assert_true(clean_up(prepared));
    assert_int_equal(waitpid(daemon, nullptr, WNOHANG), daemon);
    assert_int_equal(rmdir(path.c_str()), 0); // nobody else has begun to
    assert_int_equal(rmdir(base), 0);
    munmap(memory, StatusPage::size);
}

static void slurmstepd_says_where_the_job_is(void **) {
    const char *mounts = "24 1 0:20 / / rw - ext4 /dev/vda rw\n"
                         "31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
                         "32 30 0:28 / /sys/fs/cgroup/freezer rw shared:9 - cgroup cgroup rw,freezer\n"
                         "33 30 0:29 /in /cg\\0402 rw - cgroup2 none rw\n"
                         "34 30 0:29 /in /cg2 rw - cgroup2 none rw\n";
    const std::string step = "0::/in/slurmstepd.scope/job_12/step_3/slurm\n";
    assert_string_equal(job_cgroup("5:cpu:/\n4:freezer:/slurm/uid_7/job_12\n0::/\n", mounts).c_str(),
                        "/sys/fs/cgroup/freezer/slurm/uid_7/job_12");
    assert_string_equal(job_cgroup(step, mounts).c_str(), "/cg2/slurmstepd.scope/job_12");
    // A hybrid has both, and version 1 is in use.
    assert_string_equal(job_cgroup(step + "4:freezer:/job_12\n", mounts).c_str(), "/sys/fs/cgroup/freezer/job_12");
    for (const char *none :
         {"", "\n", "x", "4:freezer", "4:freezer:", "4:freezer:/", "4:freezer:/slurm/uid_7/job_12/step_3",
          "4:cpu:/job_12", "4:freezer:/job_", "4:freezer:/job_1x", "4:unfreezer:/job_1", "0::/in/job_12/step_3/user",
          "0::/in/job_12/step_3", "0::/in/job_12/slurm", "0::/elsewhere/job_12/step_3/slurm", "0::/slurm",
          "1::/in/job_12/step_3/slurm"})
        assert_string_equal(job_cgroup(none, mounts).c_str(), "");
    assert_string_equal(job_cgroup(step, "").c_str(), "");
    assert_string_equal(job_cgroup(step, "1 2 - cgroup2\n - cgroup2 a b\n").c_str(), "");
}

// A job's directory in a hierarchy of this machine; none where there is no such hierarchy or no right to.
struct JobCgroup {
    explicit JobCgroup(const std::string &hierarchy)
        : above(fmt::format("/sys/fs/cgroup/{}/pmixhost-test-{}", hierarchy, getpid())), path(above + "/job_12") {
        there = mkdir(above.c_str(), 0755) == 0 && mkdir(path.c_str(), 0755) == 0 &&
                access((path + "/cgroup.procs").c_str(), W_OK) == 0;
    }
    ~JobCgroup() {
        rmdir(path.c_str());
        rmdir(above.c_str());
    }
    std::string above, path;
    bool there = false;
};

static int exists(const std::string &path) {
    return access(path.c_str(), F_OK) == 0;
}

static void the_daemon_has_a_cgroup_of_its_own(void **) {
    bool any = false;
    for (const char *hierarchy : {"freezer", "unified", "."}) {
        JobCgroup job(hierarchy);
        if (!job.there)
            continue;
        any = true;
        const std::string own = job.path + "/pmixhost_3";
        for (bool clings : {false, true}) {
            FakeEnvironment environment;
            fill(environment);
            Surroundings s = around(clings ? "cling" : "serve");
            s.job_cgroup = job.path;
            bool contained = false;
            s.contain = [&contained](pid_t) { return contained = true; };
            Prepared prepared = prepare_step(s, environment.array);
            assert_true(prepare_task(prepared, 0, &environment.array).ok());
            assert_false(contained);
            assert_true(exists(own));
            char left[64];
            snprintf(left, sizeof left, "/tmp/pmixhost-%u.cXXXXXX", static_cast<unsigned>(prepared.uid));
            assert_non_null(mkdtemp(left));
            assert_int_equal(chown(left, prepared.uid, prepared.user->gid), 0);
            if (clings)
                prepared.page->note_directory(left);
            auto begin = std::chrono::steady_clock::now();
            // One that ends when slurmstepd does is waited for, any other killed with all that it has left.
            assert_true(clean_up(prepared, clings ? 100ms : 30'000ms));
            assert_true(std::chrono::steady_clock::now() - begin < 20s);
            assert_false(exists(own));
            assert_int_equal(exists(left), !clings);
            rmdir(left);
        }
    }
    if (!any)
        skip();
}

static void without_a_cgroup_the_daemon_is_in_the_steps_container(void **) {
    for (const char *job : {"", "/nonexistent/job_12", "/proc/self"}) {
        FakeEnvironment environment;
        fill(environment);
        Surroundings s = around("serve");
        s.job_cgroup = job;
        bool contained = false;
        s.contain = [&contained](pid_t) { return contained = true; };
        Prepared prepared = prepare_step(s, environment.array);
        assert_true(prepare_task(prepared, 0, &environment.array).ok());
        assert_true(contained);
        assert_true(clean_up(prepared));
    }
}

// Where it cannot be removed, for a file server is dead, say, nothing of ours stays.
static void what_cleans_up_does_not_live_for_ever(void **) {
    int told[2];
    assert_int_equal(pipe(told), 0);
    DaemonLaunch launch;
    launch.user = some_user();
    launch.path = "/bin/sleep";
    launch.arguments = {"300"};
    launch.descriptors = {told[1]};
    launch.lifetime = 1;
    auto begin = std::chrono::steady_clock::now();
    auto started = launch_daemon(launch);
    assert_true(started.ok());
    close(told[1]);
    pollfd end{told[0], POLLIN, 0}; // ends with the process
    assert_int_equal(poll(&end, 1, 60'000), 1);
    assert_true(std::chrono::steady_clock::now() - begin < 60s);
    close(told[0]);
}

static int handlers_run = 0;
static void note_handler() {
    ++handlers_run;
}
// Those of libraries in slurmstepd may wait for a lock that one of its threads holds.
static void no_handler_of_pthread_atfork_runs(void **) {
    assert_int_equal(pthread_atfork(note_handler, note_handler, note_handler), 0);
    DaemonLaunch launch;
    launch.user = some_user();
    launch.path = "/bin/true";
    assert_true(launch_daemon(launch).ok());
    assert_int_equal(handlers_run, 0);
}

// Becoming the user must not wait for threads that are only in the parent.
static void a_process_with_busy_threads_can_start_it(void **) {
    std::atomic<bool> over = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&over] {
            while (!over) // takes and gives back what libc keeps of threads
                std::thread([] {}).join();
        });
    for (int i = 0; i < 20; ++i) {
        int told[2];
        assert_int_equal(pipe(told), 0);
        DaemonLaunch launch;
        launch.user = some_user();
        launch.path = "/bin/true";
        launch.descriptors = {told[1]};
        assert_true(launch_daemon(launch).ok());
        close(told[1]);
        pollfd end{told[0], POLLIN, 0};
        assert_int_equal(poll(&end, 1, 60'000), 1);
        close(told[0]);
    }
    over = true;
    for (auto &thread : threads)
        thread.join();
}

static void timeouts_are_read_as_those_of_the_configuration_are(void **) {
    const std::pair<const char *, std::chrono::milliseconds> cases[] = {
        {"500ms", 500ms},
        {"3s", 3s},
        {"2min", 120s},
        {"1h", 3600s},
        {"7", 7s},
        {"", 30s},
        {"x", 30s},
        {"2m", 30s},
        {"0", 100ms},
        {"4294967295min", 3600s},
        {"99999999999", 30s},
    };
    for (auto [text, limit] : cases) {
        FakeEnvironment environment;
        environment.add(std::string("PMIXHOST_START_TIMEOUT=") + text);
        assert_true(door_timeout(environment.array) == limit);
        environment.add("PMIXHOST_OF_SRUN_START_TIMEOUT=9s");
        assert_true(door_timeout(environment.array) == limit);
    }
    FakeEnvironment of_srun;
    of_srun.add("PMIXHOST_OF_SRUN_START_TIMEOUT=9s");
    assert_true(door_timeout(of_srun.array) == 9s);
}

// Root's directory for everybody; what somebody else put there is not taken.
static void the_contacts_directory_is_ours_or_refused(void **) {
    char base[] = "/tmp/pmixhost-contacts-XXXXXX";
    assert_non_null(mkdtemp(base));
    std::string path = std::string(base) + "/contacts";
    for (int again = 0; again < 2; ++again) {
        assert_true(make_contacts_directory(path).ok());
        struct stat status {};
        assert_int_equal(stat(path.c_str(), &status), 0);
        assert_int_equal(status.st_mode, S_IFDIR | 01777);
    }
    assert_int_equal(chmod(path.c_str(), 0777), 0);
    assert_false(make_contacts_directory(path).ok());
    assert_int_equal(rmdir(path.c_str()), 0);
    assert_int_equal(symlink("/tmp", path.c_str()), 0);
    assert_false(make_contacts_directory(path).ok());
    assert_int_equal(unlink(path.c_str()), 0);
    assert_int_equal(rmdir(base), 0); // nothing else is in it
    assert_false(make_contacts_directory(path).ok());
}

int main() {
#ifdef PMIXHOST_SANITIZES_THREADS
    // The daemon's process is made with fork and system calls alone, which the thread sanitizer's own
    // thread and descriptors do not survive; there is one thread in it.
    puts("1..0 # SKIP the thread sanitizer cannot follow a bare fork");
    return 0;
#endif
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_is_a_clean_process_of_the_user),
        cmocka_unit_test(what_the_rm_does_not_read_is_told),
        cmocka_unit_test(the_daemon_ends_with_slurmstepd),
        cmocka_unit_test(each_failure_has_its_line),
        cmocka_unit_test(without_a_map_nothing_is_started),
        cmocka_unit_test(a_silent_daemon_costs_no_more_than_the_timeout),
        cmocka_unit_test(other_steps_are_left_alone),
        cmocka_unit_test(an_impostor_at_the_door_is_found_out),
        cmocka_unit_test(titles_name_the_step),
        cmocka_unit_test(the_user_gets_one_line_per_host),
        cmocka_unit_test(the_first_task_that_fails_ends_the_step),
        cmocka_unit_test(all_components_of_a_het_step_are_ended),
        cmocka_unit_test(hostile_environments_are_bounded),
        cmocka_unit_test(a_spawned_task_keeps_its_connection_but_for_containers),
        cmocka_unit_test(a_debugger_that_waits_for_the_launch_is_told_of),
        cmocka_unit_test(what_the_user_set_for_srun_holds_for_its_step),
        cmocka_unit_test(the_secret_is_in_the_start_document_alone),
        cmocka_unit_test(srun_chooses_a_secret_where_it_has_no_munge),
        cmocka_unit_test(only_root_says_where_the_daemon_is),
        cmocka_unit_test(a_directory_that_was_left_behind_is_removed),
        cmocka_unit_test(one_that_leaves_by_itself_removes_its_directory),
        cmocka_unit_test(slurmstepd_says_where_the_job_is),
        cmocka_unit_test(the_daemon_has_a_cgroup_of_its_own),
        cmocka_unit_test(without_a_cgroup_the_daemon_is_in_the_steps_container),
        cmocka_unit_test(what_cleans_up_does_not_live_for_ever),
        cmocka_unit_test(no_handler_of_pthread_atfork_runs),
        cmocka_unit_test(a_process_with_busy_threads_can_start_it),
        cmocka_unit_test(the_contacts_directory_is_ours_or_refused),
        cmocka_unit_test(timeouts_are_read_as_those_of_the_configuration_are),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
