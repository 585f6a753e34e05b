// pmixhostd: the PMIx server of one step on one host, started by the RM's plugin or by
// `pmixhost run`, as the user. Not meant to be started by hand.
//
//   pmixhostd --start-fd N    serve; N: the start document (contrib/doc/start-document.md)
//   pmixhostd --session BACKEND [KEY=VALUE ...]
//                             the session of an allocation; the keys of its start document
//   pmixhostd --owner JOB     internal, for the command line: the number of the job's user
//   pmixhostd --desk JOB DIRECTORY FD
//                             internal, for the command line: see desk_server.h and serve_desk()
//   pmixhostd --gate-desk FD  internal, for the gate: see gate_desk.h
//   pmixhostd --lobby FD BACKEND DIRECTORY
//                             internal, for desks of the gate: see desk_lobbies.h
//   pmixhostd --proxy-client      internal, see proxy_client.h
//   pmixhostd --backends      the backends that are installed, for `pmixhost version`
//   pmixhostd --library FILE  can libpmix be started late (decisions/late-library.md), for `pmixhost doctor`
//   pmixhostd --steps         the caller's running steps, a line each, for `pmixhost ps --all-hosts`
//   pmixhostd --version
#include "common/config/config.h"
#include "common/text/printable.h"
#include "config.h"
#include "server-glue/daemon/role_documents.h"
#include "server-glue/daemon/role_process.h"
#include "server-glue/daemon/step_server.h"
#include "server-glue/daemon/supervisor.h"
#include "server-glue/guard/descriptor_range.h"
#include "server-glue/library/expected_environment.h"
#include "server-glue/library/library_start.h"
#include "server-glue/library/unmended_faults.h"
#include "server-glue/rm/backend_loader.h"
#include "server-glue/rm/user_notes.h"
#include "server-glue/tasks/proxy_client.h"
#include "server-glue/tasks/remedies.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {
namespace {

// What both processes need, read once.
struct Begin {
    StartDocument document;
    Settings settings;
    std::vector<std::string> notes;
    bool log_is_users = false; // the job's user has said where it is to be
    UniqueFd door;
    StatusPage *page = nullptr;
    EvidencePlace evidence; // should something in it hang
};

Result<int> descriptor(const StartDocument &document, std::string_view key) {
    auto number = document.number(key, 1 << 20);
    if (!number)
        return number.failure();
    int fd = static_cast<int>(*number);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return system_error(fmt::format("start document: {} {}", key, fd), errno);
    return fd;
}

StatusPage *map_page(const StartDocument &document) {
    auto fd = descriptor(document, "status_fd");
    if (!fd)
        return nullptr;
    UniqueFd owner(*fd);
    void *memory = mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED, owner.get(), 0);
    return memory == MAP_FAILED ? nullptr : static_cast<StatusPage *>(memory);
}

Result<StartDocument> read_document(int start_fd) {
    UniqueFd owner(start_fd);
    return StartDocument::read_from(start_fd);
}

Result<Begin> begin(Result<StartDocument> document) {
    if (!document)
        return document.failure();
    Begin b;
    b.document = std::move(*document);
    b.page = map_page(b.document);
    if (b.document.has("door_fd")) {
        auto fd = descriptor(b.document, "door_fd");
        if (!fd)
            return fd.failure();
        b.door.reset(*fd);
    }
    auto path = b.document.text("config");
    auto environment = b.document.all("env");
    auto loaded = load_config(path ? *path : std::string(), environment);
    if (!loaded) {
        if (b.page)
            b.page->fail(loaded.failure().text);
        return loaded.failure();
    }
    b.settings = std::move(loaded->settings);
    b.notes = std::move(loaded->notes);
    b.log_is_users = std::any_of(loaded->origins.begin(), loaded->origins.end(), [](const Origin &origin) {
        return origin.key == "log.file" && origin.source == Origin::Source::environment;
    });
    return b;
}

// %j job, %s step, %n host, %u user, as far as the start document tells.
std::string log_path(const Settings &settings, const StartDocument &document) {
    std::string path;
    const std::string &pattern = settings.log_file;
    auto text = [&](std::string_view key) {
        auto value = document.text(key);
        std::string name = value ? *value : "x";
        std::replace(name.begin(), name.end(), '/', '_'); // a part of a name
        return name;
    };
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            path += pattern[i];
            continue;
        }
        switch (pattern[++i]) {
        case 'j':
            path += text("job");
            break;
        case 's':
            path += text("step");
            break;
        case 'n':
            path += text("host");
            break;
        case 'u':
            path += std::to_string(::getuid());
            break;
        default:
            path += pattern[i];
        }
    }
    return path;
}

// "12.0"; empty under an RM that has no such numbers.
std::string step_name(const StartDocument &document) {
    auto job = document.text("job"), step = document.text("step");
    return job && step ? *job + "." + *step : std::string();
}

// Shows the supervisor that the event loop goes round.
class Heart {
  public:
    Heart(EventLoop &loop, StatusPage *page, std::chrono::milliseconds hang_timeout)
        : loop_(loop), page_(page), interval_(hang_timeout / beats_in_hang_timeout) {
        if (page_ && hang_timeout.count() > 0)
            beat();
    }

  private:
    void beat() {
        page_->heartbeat.fetch_add(1, std::memory_order_relaxed);
        timer_ = loop_.after(interval_, [this] { beat(); });
    }
    EventLoop &loop_;
    StatusPage *page_;
    Duration interval_;
    EventLoop::Handle timer_;
};

// Where there is none, standard error is the log. A file of somebody else's (but root's) is not written to: who knows
// the name can have put one there before, where all may. Opened non-blocking, because it may be a FIFO that nobody
// reads.
UniqueFd open_log(Begin &started) {
    UniqueFd file;
    if (started.settings.log_file.empty())
        return file;
    std::string path = log_path(started.settings, started.document);
    constexpr int how = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    file.reset(::open(path.c_str(), how, 0600));
    std::string why = file ? "it is somebody else's" : std::strerror(errno);
    struct stat status {};
    bool is_anothers = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_uid != ::geteuid() && status.st_uid != 0;
    if (is_anothers)
        file.reset();
    if (!file && (started.log_is_users || is_anothers))
        started.notes.push_back(fmt::format("there is no log: cannot open {}: {}", printable(path), why));
    return file;
}

// What a user has set in vain: the log is seldom read. Once for a job, and not again for what it spawns, which has the
// same environment.
void tell_user(const std::vector<std::string> &notes, RmBackend &backend) {
    const StepInfo &step = backend.step();
    auto *user = backend.user_notes();
    if (!user || step.is_lobby || step.self != 0 || step.parent)
        return;
    for (const auto &note : notes)
        user->tell_user({note}, [](Result<void>) {});
}

int serve(Begin b, Log &log, TaskTable *table) {
    set_remedies_of_daemon(b.settings);
    DescriptorRange::of_process().prepare();
    auto refuse = [&](const Error &why) {
        log.error("{}", why.text);
        if (b.page)
            b.page->fail(why.text);
        return 1;
    };
    auto loop = EventLoop::create([&log](const std::string &what) {
        log.error("internal error, an event was not handled to its end: {}", what);
    });
    if (!loop)
        return refuse(loop.failure());
    bool is_lobby = b.document.has("lobby.fd");
    auto backend = is_lobby ? create_lobby({**loop, log, b.document, b.settings})
                            : create_backend({**loop, log, b.document, b.settings});
    if (!backend)
        return refuse(backend.failure());
    const StepInfo &step = (*backend)->step();
    set_library_environment(b.settings, std::max(step.map.rank_count(), step.universe_size)); // no other thread yet
    auto directory = b.document.text("directory");

    // A task that finds the door shut reads the page at once, so the reason must be there before.
    UniqueFd door_shuts_last(b.door ? ::fcntl(b.door.get(), F_DUPFD_CLOEXEC, 0) : -1);
    int exit_code = 0;
    auto server = StepServer::create({**loop, log, b.settings, **backend, b.page, table, std::move(b.door),
                                      b.document.has("live_on"), b.document.has("ends_on_bad_exit"),
                                      directory ? *directory : std::string(), std::move(b.evidence)},
                                     [&](Result<void> result) {
                                         if (!result) {
                                             log.error("{}", result.failure().text);
                                             exit_code = 1;
                                         }
                                         (*loop)->stop();
                                     });
    if (!server)
        return refuse(server.failure());
    tell_user(b.notes, **backend);
    door_shuts_last.reset();
    // The supervisor is our parent; without it nobody would notice our own end.
    UniqueFd supervisor;
    EventLoop::Handle watch;
    if (table) {
        supervisor.reset(static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0)));
        if (supervisor)
            watch = (*loop)->watch(supervisor.get(), EventLoop::readable, [&](unsigned) {
                watch.reset();
                (*server)->on_supervisor_gone();
            });
    }
    Heart heart(**loop, table ? b.page : nullptr, b.settings.daemon_hang_timeout);
    if (auto ran = (*loop)->run(); !ran) {
        // The supervisor ends the step with this line.
        log.error("{}", ran.failure().text);
        if (b.page)
            b.page->fail(ran.failure().text);
        exit_code = 1;
    }
    if (exit_code == 0 && table)
        table->normal_exit.store(1, std::memory_order_release);
    if (b.page)
        b.page->leaving.store(1, std::memory_order_release); // the heart stands still
    (*server)->leave();
    log.flush();
    // The process does not end through destructors: libpmix' threads may be calling up this very moment, requests
    // that were posted and not handled would be answered to a library that has ended, and nothing is left that the
    // kernel does not clean up.
    _exit(exit_code);
}

int run(Result<StartDocument> document) {
    // What the RM signals, it signals for the tasks; the daemon serves them to their end.
    for (int signal : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP})
        ::signal(signal, SIG_IGN);
    // But a role ends by these, also when they come before it is ready for them.
    let_end_signals(SIG_BLOCK);
    // A socket, a pidfd and a door visit for each task, a connection for many hosts.
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    auto started = begin(std::move(document));
    if (!started) {
        fmt::print(stderr, "pmixhostd: {}\n", started.failure().text);
        return 1;
    }
    std::string host = started->document.text("host").ok() ? *started->document.text("host") : "?";
    auto level = parse_log_level(started->settings.log_level);
    UniqueFd log_file = open_log(*started);
    Log log(log_file ? log_file.get() : 2, level ? *level : LogLevel::warning,
            fmt::format("pmixhostd[{} {}]", host, ::getpid()));
    if (log_file)
        log.note_file();
    // Once this process does not fork itself any more.
    auto begin_log = [&](LogLevel of_notes) {
        log.do_not_wait();
        for (const auto &note : started->notes) {
            if (log.enabled(of_notes))
                log.write(of_notes, note);
        }
    };

    if (started->document.has("role")) {
        begin_log(LogLevel::info); // the step's daemons tell the user of them
        int code = serve_role(started->document, started->settings, log);
        log.flush();
        _exit(code); // a thread may still be in the RM's library, which must not be unloaded under it
    }
    let_end_signals(SIG_UNBLOCK);
    started->evidence = evidence_place(started->settings, log_path(started->settings, started->document), host,
                                       step_name(started->document));
    if (!started->door) {
        begin_log(LogLevel::warning);
        return serve(std::move(*started), log, nullptr); // whoever starts the tasks watches this one
    }

    TaskTable *table = TaskTable::create();
    if (!table)
        return 1;
    // Both have the module of their own build: the supervisor asks it when the server has died, and pmixhost may have
    // been upgraded by then. What is wrong with it the server says.
    (void)load_backend(started->document);
    pid_t server = fork(); // there is one thread
    if (server < 0) {
        if (started->page)
            started->page->fail("pmixhostd cannot fork: process limit reached?");
        return 1;
    }
    if (server == 0) {
        ::signal(SIGCHLD, SIG_IGN); // proxy clients need no reaping
        let_parent_trace();         // should we hang
        begin_log(LogLevel::warning);
        return serve(std::move(*started), log, table);
    }
    started->door.reset();
    log.do_not_wait();
    return supervise(server, started->document, started->settings, started->page, *table, started->evidence, log);
}

[[noreturn]] void show_own_steps() {
    auto module = backend_that_calls_steps();
    auto steps = !module ? Result<std::vector<std::string>>(module.failure())
                 : (*module)->own_steps
                     ? (*module)->own_steps()
                     : error(ErrorKind::unsupported, "the backend {} does not tell which jobs run", (*module)->name);
    for (const auto &step : steps ? *steps : std::vector<std::string>())
        fmt::print("{}\n", step);
    if (!steps)
        fmt::print(stderr, "{}\n", steps.failure().text);
    std::fflush(stdout);
    _exit(steps ? 0 : 1); // the RM's library may have threads
}

[[noreturn]] void show_owner(const std::string &job) {
    auto module = backend_that_calls_steps();
    auto owner = !module ? Result<uid_t>(module.failure())
                 : (*module)->owner_of
                     ? (*module)->owner_of(job)
                     : error(ErrorKind::unsupported, "the backend {} does not tell whose jobs are", (*module)->name);
    if (owner)
        fmt::print("{}\n", *owner);
    else
        fmt::print(stderr, "{}\n", owner.failure().text);
    std::fflush(stdout);
    _exit(owner ? 0 : 1); // the RM's library may have threads
}

// "late", or why libpmix cannot be started late here, with this configuration's remedies; then a line for each fault of
// it that is not mended here.
void show_library_start(const std::string &config_file) {
    set_remedies_of_daemon(check_config(config_file, config_environment(environ)).loaded.settings);
    auto known = ExpectedEnvironment::create(seen_environment(), own_library_settings(), {});
    fmt::print("{}\n", known ? std::string("late") : known.failure().text);
    for (const auto &fault : unmended_faults(LibraryHeaders::here()))
        fmt::print("{}\n", fault);
}

} // namespace
} // namespace pmixhost

int main(int argc, char **argv) {
    using namespace pmixhost;
    try {
        if (argc == 2 && std::strcmp(argv[1], "--proxy-client") == 0)
            return proxy_client_main();
        if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
            fmt::print("pmixhostd {}\n", PACKAGE_VERSION);
            return 0;
        }
        if (argc == 2 && std::strcmp(argv[1], "--backends") == 0) {
            fmt::print("{}", describe_backends());
            return 0;
        }
        if (argc == 3 && std::strcmp(argv[1], "--library") == 0) {
            show_library_start(argv[2]);
            return 0;
        }
        if (argc == 2 && std::strcmp(argv[1], "--steps") == 0)
            show_own_steps();
        if (argc == 3 && std::strcmp(argv[1], "--owner") == 0)
            show_owner(argv[2]);
        if (argc >= 3 && std::strcmp(argv[1], "--session") == 0)
            return run(session_document(argc, argv));
        if (argc == 5 && std::strcmp(argv[1], "--desk") == 0)
            return run(desk_document(argv));
        if (argc == 5 && std::strcmp(argv[1], "--lobby") == 0) {
            ::signal(SIGCHLD, SIG_IGN); // the launcher and the session's srun need no reaping
            return run(lobby_document(argv));
        }
        if (argc == 3 && std::strcmp(argv[1], "--gate-desk") == 0) {
            // It is counted with the gate's processes: from now on its user does not trace it.
            ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
            return run(gate_desk_document(argv));
        }
        int fd = -1;
        if (argc == 3 && std::strcmp(argv[1], "--start-fd") == 0) {
            const char *end = argv[2] + std::strlen(argv[2]);
            auto [stop, code] = std::from_chars(argv[2], end, fd);
            if (code == std::errc() && stop == end && fd >= 0)
                return run(read_document(fd));
        }
        fmt::print(stderr, "pmixhostd is started by the resource manager (srun --mpi=pmixhost) or by\n"
                           "`pmixhost run`; see "
                           "pmixhost(1)\n");
        return 2;
    } catch (const std::exception &e) {
        fmt::print(stderr, "pmixhostd: {}\n", e.what());
        return 1;
    }
}
