// Stands in for pmixhostd where the shim is tested: answers the task door with what it finds itself
// to be. The second argument after "--start-fd N" says how:
//   serve   answers each task         refuse   answers with a refusal
//   exit    leaves a reason and goes  silent   takes no connection
//   cling   answers, stays when slurmstepd ends, and leaves a process of another session behind
#include "common/start/start_document.h"
#include "common/start/status_page.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;
using namespace pmixhost;

static std::string file(const char *path) {
    char buffer[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buffer, sizeof buffer);
    close(fd);
    std::string text(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

static std::string status_line(const std::string &name) {
    std::string text = file("/proc/self/status");
    std::size_t at = text.find(name + ":\t");
    at += name.size() + 2;
    return text.substr(at, text.find('\n', at) - at);
}

static std::string describe(const StartDocument &document, int argc, char **argv) {
    std::string out;
    auto say = [&out](const std::string &name, const std::string &value) { out += name + "=" + value + '\0'; };
    say("AT_UID", status_line("Uid"));
    say("AT_GID", status_line("Gid"));
    say("AT_GROUPS", status_line("Groups"));
    say("AT_BLOCKED", status_line("SigBlk"));
    say("AT_IGNORED", status_line("SigIgn"));
    say("AT_CAUGHT", status_line("SigCgt"));
    say("AT_CAPS", status_line("CapPrm"));
    say("AT_OOM", file("/proc/self/oom_score_adj"));
    say("AT_GROUP", getpgid(0) == getpid() ? "own" : "inherited");
    char cwd[4096];
    say("AT_CWD", getcwd(cwd, sizeof cwd) ? cwd : "?");
    std::string fds;
    DIR *list = opendir("/proc/self/fd");
    while (dirent *entry = readdir(list)) {
        if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(list))
            fds += std::string(entry->d_name) + ",";
    }
    closedir(list);
    say("AT_FDS", fds);
    std::string names;
    for (char **entry = environ; *entry; ++entry) {
        std::string_view text = *entry;
        names += std::string(text.substr(0, text.find('='))) + ",";
    }
    say("AT_ENV", names);
    std::string arguments;
    for (int i = 0; i < argc; ++i)
        arguments += std::string(argv[i]) + ",";
    say("AT_ARGS", arguments);
    std::string encoded = document.encode();
    std::replace(encoded.begin(), encoded.end(), '\n', '|');
    say("AT_DOCUMENT", encoded);
    return out;
}

static std::string u32(std::size_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    std::string mode = argv[3];
    auto document = StartDocument::read_from(std::atoi(argv[2]));
    if (!document)
        return 3;
    int door = static_cast<int>(*document->number("door_fd", 1 << 20));
    int lifeline = static_cast<int>(*document->number("slurm.lifeline_fd", 1 << 20));
    int page_fd = static_cast<int>(*document->number("status_fd", 1 << 20));
    if (mode == "exit") {
        auto *page =
            static_cast<StatusPage *>(mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0));
        page->fail("the stand-in\ndoes not like it here");
        return 1;
    }
    std::string body = describe(*document, argc, argv);
    if (mode == "cling") {
        if (fork() == 0) {
            setsid();
            for (;;)
                pause();
        }
        lifeline = -1;
    }
    for (;;) {
        pollfd polls[2] = {{lifeline, POLLIN, 0}, {door, POLLIN, 0}};
        poll(polls, mode == "silent" ? 1 : 2, 60'000);
        if (polls[0].revents || (mode == "silent" && !polls[0].revents))
            return 0;
        int task = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
        char request[8];
        if (task < 0 || recv(task, request, sizeof request, MSG_WAITALL) != sizeof request)
            return 4;
        std::string text = "RANK=" + std::to_string(static_cast<unsigned char>(request[7])) + '\0';
        text += body;
        std::string answer = std::string(request, 4);
        if (mode == "refuse")
            answer += u32(1) + u32(9) + "no\nchance";
        else
            answer += u32(0) + u32(text.size()) + text;
        [[maybe_unused]] ssize_t n = send(task, answer.data(), answer.size(), MSG_NOSIGNAL);
        close(task);
    }
}
