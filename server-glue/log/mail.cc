// See mail.h.
#include "server-glue/log/mail.h"

#include "common/base/poll_time.h"
#include "common/base/unique_fd.h"
#include "common/process/posix_spawn.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

bool is_control(char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}

// The daemon ignores SIGCHLD, so that the kernel keeps no exit status for it: a shell tells it. Nothing of
// the message is in the shell's words.
constexpr const char *shell = "/bin/sh";
constexpr const char *script = "program=$1; shift; \"$program\" -i -- \"$@\" 3>&-; echo $? >&3";
constexpr int told_at = 3;

// Starts the program in a process group of its own.
Result<pid_t> start(const std::string &program, const Mail &mail, int input, int told) {
    SpawnFiles files;
    posix_spawn_file_actions_adddup2(&files.actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files.actions, told, told_at);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, told_at + 1);
    SpawnAttributes how(POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&how.attributes, 0);
    std::vector<std::string> words = {shell, "-c", script, shell, program};
    words.insert(words.end(), mail.recipients.begin(), mail.recipients.end());
    std::vector<char *> arguments;
    for (auto &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (int code = posix_spawn(&pid, shell, &files.actions, &how.attributes, arguments.data(), environ))
        return error(ErrorKind::system, "{}: {}", shell, std::strerror(code));
    return pid;
}

// Writes all of it, unless the reader is gone or the time is up.
void give(int fd, std::string_view text, TimePoint until) {
    while (!text.empty()) {
        pollfd room{fd, POLLOUT, 0};
        if (::poll(&room, 1, poll_time(until)) != 1)
            return;
        ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return;
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
}

} // namespace

bool is_header_text(const std::string &text) {
    return text.size() <= Mail::max_header && std::none_of(text.begin(), text.end(), is_control);
}

Result<std::vector<std::string>> mail_addresses(const std::string &list) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= list.size();) {
        std::size_t end = std::min(list.find(',', at), list.size());
        std::string one = list.substr(at, end - at);
        one.erase(0, std::min(one.find_first_not_of(' '), one.size()));
        one.erase(one.find_last_not_of(' ') + 1);
        at = end + 1;
        if (one.empty() || one.front() == '-' || !is_header_text(one) || one.find(' ') != one.npos)
            return error(ErrorKind::invalid, "this is no list of addresses: \"{}\"", one);
        out.push_back(std::move(one));
        if (out.size() > Mail::max_recipients)
            return error(ErrorKind::limit, "more than {} addresses", Mail::max_recipients);
    }
    return out;
}

std::string mail_message(const Mail &mail) {
    std::string out;
    if (!mail.sender.empty())
        out += fmt::format("From: {}\n", mail.sender);
    out += fmt::format("To: {}\n", fmt::join(mail.recipients, ", "));
    if (!mail.subject.empty())
        out += fmt::format("Subject: {}\n", mail.subject);
    return out + "\n" + mail.text + (mail.text.ends_with('\n') ? "" : "\n");
}

Result<void> send_mail(const std::string &program, const Mail &mail, Duration patience) {
    TimePoint until = Clock::now() + patience;
    int letter[2], told[2];
    if (::pipe2(letter, O_CLOEXEC) != 0)
        return error(ErrorKind::system, "pipe: {}", std::strerror(errno));
    UniqueFd input(letter[0]), output(letter[1]);
    if (::pipe2(told, O_CLOEXEC) != 0)
        return error(ErrorKind::system, "pipe: {}", std::strerror(errno));
    UniqueFd exit_code(told[0]), teller(told[1]);
    ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
    auto pid = start(program, mail, input.get(), teller.get());
    if (!pid)
        return pid.failure();
    input.reset();
    teller.reset();
    give(output.get(), mail_message(mail), until);
    output.reset();
    pollfd end{exit_code.get(), POLLIN, 0};
    bool in_time = ::poll(&end, 1, poll_time(until)) == 1;
    if (!in_time)
        ::kill(-*pid, SIGKILL);
    char code[16] = "";
    ssize_t size = in_time ? ::read(exit_code.get(), code, sizeof code - 1) : 0;
    while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) { // or the kernel has reaped it
    }
    if (!in_time)
        return error(ErrorKind::timeout, "{} took too long", program);
    std::string_view said(code, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (said != "0\n")
        return error(ErrorKind::system, "{} failed, with the exit code {}", program, said.substr(0, said.find('\n')));
    return {};
}

} // namespace pmixhost
