// See role_process.h.
#include "server-glue/daemon/role_process.h"

#include "common/rendezvous/asked_run.h"
#include "common/rendezvous/desk_word.h"
#include "common/rendezvous/rendezvous_files.h"
#include "server-glue/daemon/launcher_server.h"
#include "server-glue/daemon/session_server.h"
#include "server-glue/desk/desk_server.h"
#include "server-glue/desk/gate_desk.h"
#include "server-glue/gate/desk_channel.h"
#include "server-glue/rm/backend_loader.h"
#include "server-glue/rm/invitation_stream.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// With the role's own secret, which is that of all who can ask it; else with that of the invitation, where these come
// over a channel that is private; else with munge.
CentralServer::Authenticators authenticators(EventLoop &loop, const StartDocument &document) {
    auto own = document.text("secret");
    bool is_private = document.has("invitations_fd");
    return [&loop, is_private, own = own ? *own : std::string()](const Bytes &invited) {
        const Bytes secret = !own.empty() ? own : is_private ? invited : Bytes();
        return secret.empty() ? make_munge_authenticator(loop, ::getuid()) : make_secret_authenticator(secret);
    };
}

Result<void> serve_session(EventLoop &loop, const StartDocument &document, const Settings &settings, Log &log) {
    std::unique_ptr<InvitationSource> source;
    SessionServer session(
        loop, log, settings, authenticators(loop, document), [&loop] { loop.stop(); },
        [&source](const std::set<Bytes> &known, std::function<void(CalledSteps)> done) {
            if (source)
                source->call_steps(known, std::move(done));
        });
    auto take = [&session](std::string message) { session.on_invitation(message); };
    if (document.has("invitations_fd")) {
        auto stream = InvitationStream::open(loop, log, document, take, [&loop] { loop.stop(); });
        if (!stream)
            return stream.failure();
        source = std::move(*stream);
    } else {
        auto module = load_backend(document);
        if (!module)
            return module.failure();
        if (!(*module)->session_invitations)
            return error(ErrorKind::unsupported, "the backend {} starts no session", (*module)->name);
        auto opened = (*module)->session_invitations({loop, log, document, settings}, take);
        if (!opened)
            return opened.failure();
        source = std::move(*opened);
    }
    auto ended = loop.on_signal(SIGTERM, [&loop] { loop.stop(); });
    auto interrupted = loop.on_signal(SIGINT, [&loop] { loop.stop(); });
    let_end_signals(SIG_UNBLOCK);
    auto served = loop.run();
    source.reset(); // it hands invitations to the session
    return served;
}

Result<std::shared_ptr<JobStarter>> make_starter(const StartDocument &document, const Settings &settings,
                                                 const std::string &allocation) {
    auto module = load_backend(document);
    if (!module)
        return module.failure();
    if (!(*module)->create_starter)
        return error(ErrorKind::unsupported, "the backend {} starts no jobs", (*module)->name);
    auto made = (*module)->create_starter(document, settings, allocation);
    if (!made)
        return made.failure();
    return std::shared_ptr<JobStarter>(std::move(*made));
}

Result<void> give_back(const StartDocument &document, const std::string &allocation) {
    auto module = load_backend(document);
    if (!module)
        return module.failure();
    if (!(*module)->give_back)
        return error(ErrorKind::unsupported, "the backend {} gives nothing back", (*module)->name);
    return (*module)->give_back(allocation);
}

Result<void> serve_launcher(EventLoop &loop, const StartDocument &document, const Settings &settings, Log &log) {
    LauncherServer launcher(
        loop, log, settings,
        {[document, settings](const std::string &allocation) { return make_starter(document, settings, allocation); },
         [document](const std::string &allocation) { return give_back(document, allocation); }},
        authenticators(loop, document), [&loop] { loop.stop(); });
    // Whoever started this process is its parent, and says by the end of the stream that its step is
    // over. Its own end is another matter.
    UniqueFd parent(static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0)));
    auto stream = InvitationStream::open(
        loop, log, document, [&launcher](std::string message) { launcher.on_invitation(message); },
        [&launcher] { launcher.on_step_over(); });
    if (!stream)
        return stream.failure();
    EventLoop::Handle parent_watch;
    if (parent)
        parent_watch = loop.watch(parent.get(), EventLoop::readable, [&](unsigned) {
            parent_watch.reset();
            launcher.end_children("who started the launcher has gone");
            launcher.on_step_over();
        });
    auto ended = loop.on_signal(SIGTERM, [&launcher] { launcher.end_children("SIGTERM"); });
    let_end_signals(SIG_UNBLOCK);
    return loop.run();
}

// Who reads them waits for nobody but who started this process.
void let_go_of_streams(Log &log) {
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        log.go_to(null);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; ++fd)
        ::dup2(null, fd);
    if (null > STDERR_FILENO)
        ::close(null);
}

// Tells whoever started it what common/rendezvous/desk_word.h has, over a socket whose other end is the desk's life.
Result<void> serve_desk(EventLoop &loop, const StartDocument &document, const Settings &settings, Log &log) {
    auto job = document.text("desk.job"), directory = document.text("desk.directory");
    auto fd = document.number("desk.fd", 1 << 20);
    auto listens = document.number("desk.listener_fd", 1 << 20);
    if (!job || !fd || (!directory && !listens))
        return !job ? job.failure() : !fd ? fd.failure() : directory.failure();
    UniqueFd listener(listens ? static_cast<int>(*listens) : -1);
    if (listener)
        fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
    UniqueFd starter(static_cast<int>(*fd));
    fcntl(starter.get(), F_SETFD, FD_CLOEXEC);
    std::optional<AskedBy> asked_by;
    if (auto text = document.text("desk.asked_by")) {
        auto parsed = parse_asked_by(*text);
        if (!parsed)
            return parsed.failure();
        asked_by = *parsed;
    }
    auto tell = [&starter](const std::string &line) {
        [[maybe_unused]] auto sent = ::send(starter.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    // Its file has no name that tools search for: it is the starter's alone.
    std::function<Result<void>(const std::string &)> tell_tools;
    if (directory)
        tell_tools = [&directory](const std::string &rendezvous) {
            return write_rendezvous_files(*directory, {desk_file}, rendezvous);
        };
    Result<void> result;
    auto module = backend_that_calls_steps();
    auto desk = !module ? Result<std::unique_ptr<DeskServer>>(module.failure())
                        : DeskServer::open({loop, log, settings, make_munge_authenticator(loop, ::getuid()), tell_tools,
                                            std::move(listener),
                                            [call = (*module)->call_step, settings, job = *job](
                                                const std::string &message) { return call(settings, job, message); },
                                            [&tell](const std::string &nspace) { tell(desk_serves(nspace)); },
                                            [&](Error why) {
                                                result = std::move(why);
                                                loop.stop();
                                            },
                                            std::nullopt, asked_by});
    if (!desk)
        result = desk.failure();
    EventLoop::Handle watch;
    if (desk)
        watch = loop.watch(starter.get(), EventLoop::readable, [&](unsigned) {
            watch.reset();
            let_go_of_streams(log);
            (*desk)->leave();
        });
    let_end_signals(SIG_UNBLOCK);
    if (auto ran = result ? loop.run() : Result<void>(); !ran)
        result = ran;
    // Also where the starter was killed.
    if (directory) {
        std::error_code ignored;
        std::filesystem::remove_all(*directory, ignored);
    }
    if (!result)
        tell(desk_failed(result.failure()));
    return {};
}

Result<void> serve_gate_desk(EventLoop &loop, const StartDocument &document, const Settings &settings, Log &log) {
    auto fd = document.number("gate.fd", 1 << 20);
    if (!fd)
        return fd.failure();
    UniqueFd channel(static_cast<int>(*fd));
    int number = channel.get();
    fcntl(number, F_SETFD, FD_CLOEXEC);
    auto module = backend_that_calls_steps();
    if (!module) {
        say(number, desk_failed(module.failure()));
        return module.failure();
    }
    auto desk = GateDesk::open({loop, log, settings, std::move(channel), **module, [&loop] { loop.stop(); }});
    if (!desk)
        return desk.failure();
    let_end_signals(SIG_UNBLOCK);
    return loop.run();
}

} // namespace

void let_end_signals(int how) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(how, &ends, nullptr);
}

int serve_role(const StartDocument &document, const Settings &settings, Log &log) {
    auto fail = [&log](const Error &why) {
        log.error("{}", why.text);
        return 1;
    };
    auto loop = EventLoop::create([&log](const std::string &what) {
        log.error("internal error, an event was not handled to its end: {}", what);
    });
    if (!loop)
        return fail(loop.failure());
    auto role = document.text("role");
    if (!role)
        return fail(role.failure());
    if (*role == name_of(CentralRole::launcher)) {
        auto served = serve_launcher(**loop, document, settings, log);
        return served ? 0 : fail(served.failure());
    }
    if (*role == "desk") {
        auto served = serve_desk(**loop, document, settings, log);
        return served ? 0 : fail(served.failure());
    }
    if (*role == "gate_desk") {
        auto served = serve_gate_desk(**loop, document, settings, log);
        return served ? 0 : fail(served.failure());
    }
    if (*role != name_of(CentralRole::session))
        return fail(error(ErrorKind::invalid, "there is no role '{}'", *role));
    auto served = serve_session(**loop, document, settings, log);
    if (served)
        return 0;
    // The other one that was started at the same time serves.
    if (served.failure().kind == ErrorKind::exists)
        return 0;
    return fail(served.failure());
}

} // namespace pmixhost
