// pmixhost-evidence: writes down where a pmixhostd stands. Started by the supervisor of one that hangs,
// or by a pmixhostd itself (evidence.h); by hand, on one that looks ill:
//
//   pmixhost-evidence pid=PID           to standard output; nothing is ended
//   pmixhost-evidence pid=PID directory=D [directory=D ...] [host=H] [step=S] [found=TEXT] [finder=TEXT]
//                     [heartbeat=N]     to a file in the first directory that takes it; standard output
//                                       then has lines "file PATH", "log TEXT" and, at the end, "done"
//
// A program of its own because it reads what may block for ever, and so must be one that can be killed;
// and because its library for backtraces is no business of the daemon's.
#include "server-glue/evidence/evidence_file.h"
#include "server-glue/evidence/evidence_report.h"

#include <charconv>
#include <csignal>
#include <unistd.h>

namespace pmixhost {
namespace {

// This is longer than the starter waits, and is there only so that nothing is left should the starter be killed.
constexpr unsigned max_seconds = 30;

void say(std::string_view text) {
    [[maybe_unused]] ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
}

template <typename Number> bool number_of(std::string_view text, Number &number) {
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc() && end == text.data() + text.size();
}

bool take(std::string_view argument, Suspect &suspect, std::vector<std::string> &directories) {
    auto equals = argument.find('=');
    if (equals == argument.npos)
        return false;
    auto key = argument.substr(0, equals), value = argument.substr(equals + 1);
    std::uint32_t beats = 0;
    if (key == "pid")
        return number_of(value, suspect.pid) && suspect.pid > 0;
    if (key == "heartbeat" && number_of(value, beats))
        suspect.heartbeat = beats;
    else if (key == "directory")
        directories.emplace_back(value);
    else if (key == "host")
        suspect.host = value;
    else if (key == "step")
        suspect.step = value;
    else if (key == "found")
        suspect.found = value;
    else if (key == "finder")
        suspect.finder = value;
    else
        return false;
    return true;
}

int run(int argc, char **argv) {
    Suspect suspect;
    std::vector<std::string> directories;
    for (int i = 1; i < argc; ++i) {
        if (!take(argv[i], suspect, directories))
            suspect.pid = 0, argc = i;
    }
    if (suspect.pid <= 0) {
        fmt::print(stderr, "usage: pmixhost-evidence pid=PID\n");
        return 2;
    }
    // SIGCHLD must be as backtrace.h wants it, and whoever started us may have had all signals blocked or ignored.
    ::signal(SIGCHLD, SIG_DFL);
    ::signal(SIGALRM, SIG_DFL);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
    ::alarm(max_seconds);
    if (directories.empty()) {
        if (suspect.found.empty())
            suspect.found = "somebody asked";
        report(suspect, {say, [](const std::string &) {}});
        return 0;
    }
    auto file = EvidenceFile::create(directories, suspect.host, suspect.step, suspect.pid);
    if (file)
        say(fmt::format("file {}\n", file->path()));
    else
        say(fmt::format("log no file can be made: {}\n", file.failure().text));
    report(suspect, {[&file](std::string_view text) {
                         if (file)
                             file->write(text);
                     },
                     [](const std::string &text) { say(fmt::format("log {}\n", text)); }});
    if (file)
        file->remove_older();
    say("done\n");
    return 0;
}

} // namespace
} // namespace pmixhost

int main(int argc, char **argv) {
    try {
        return pmixhost::run(argc, argv);
    } catch (const std::exception &e) {
        fmt::print(stderr, "pmixhost-evidence: {}\n", e.what());
        return 1;
    }
}
