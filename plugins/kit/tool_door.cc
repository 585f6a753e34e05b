// See tool_door.h.
#include "plugins/kit/tool_door.h"

#include "common/rendezvous/desk_word.h"
#include "common/rendezvous/rendezvous_files.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

constexpr int most_swept = 256;
constexpr int waiting_tools = 64;

// Files in one directory of ours, which has no others.
void remove_flat(const std::string &path) {
    if (DIR *list = opendir(path.c_str())) {
        while (dirent *entry = readdir(list))
            ::unlinkat(dirfd(list), entry->d_name, 0);
        closedir(list);
    }
    ::rmdir(path.c_str());
}

// Of starters that have ended without having removed theirs.
void sweep(const std::string &path) {
    DIR *list = opendir(path.c_str());
    if (!list)
        return;
    for (int i = 0; i < most_swept; ++i) {
        dirent *entry = readdir(list);
        if (!entry)
            break;
        std::string_view name = entry->d_name;
        pid_t pid = 0;
        auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (code == std::errc() && end == name.data() + name.size() && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH)
            remove_flat(path + "/" + entry->d_name);
    }
    closedir(list);
}

// BASE may be writable for everybody, so what is there already is looked at closely. Nothing: another process of this
// user has just taken away what it shared with this one.
Result<std::optional<std::string>> try_own_directory(const std::string &base) {
    std::string all = fmt::format("{}/pmixhost-starters-{}", base, ::geteuid());
    struct stat status {};
    if (::mkdir(all.c_str(), 0700) != 0 && errno != EEXIST)
        return system_error(all, errno);
    if (::lstat(all.c_str(), &status) != 0 && errno == ENOENT)
        return std::optional<std::string>();
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
        return error(ErrorKind::denied, "{} is not a directory of this user with mode 0700", all);
    sweep(all);
    std::string own = fmt::format("{}/{}", all, ::getpid());
    remove_flat(own); // of another process of this number
    if (::mkdir(own.c_str(), 0700) == 0)
        return std::optional(own);
    return errno == ENOENT ? Result<std::optional<std::string>>(std::nullopt) : system_error(own, errno);
}

Result<std::string> own_directory(const std::string &base) {
    constexpr int most_tries = 16;
    for (int tries = 0; tries < most_tries; ++tries) {
        auto own = try_own_directory(base);
        if (!own)
            return own.failure();
        if (*own)
            return **own;
    }
    return error(ErrorKind::system, "{}: other processes of this user take away its directory all the while", base);
}

} // namespace

Result<ToolDoor> ToolDoor::open(const ToolOffer &offer, bool own_name_only, StartDesk start_desk) {
    ToolDoor door;
    door.start_desk_ = std::move(start_desk);
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    if (!listener || ::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), waiting_tools) != 0 ||
        ::getsockname(listener.get(), generic, &length) != 0)
        return system_error("a socket for tools", errno);
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    RendezvousServer server{
        offer.server_nspace, offer.server_rank, fmt::format("tcp4://127.0.0.1:{}", ntohs(address.sin_port)),
        offer.version,       ::getpid(),        ::geteuid(),
        ::getegid(),         std::time(nullptr)};
    door.listener_ = std::move(listener);
    door.text_ = rendezvous_text(server);
    if (offer.base.empty())
        return door;
    auto directory = own_directory(offer.base);
    if (!directory)
        return directory.failure();
    door.directory_ = std::move(*directory);
    auto names = rendezvous_names(host, server, offer.job_nspace);
    if (own_name_only) {
        std::string end = fmt::format(".tool.{}", server.pid);
        std::erase_if(names, [&](const std::string &name) { return !name.ends_with(end); });
    }
    if (auto written = write_rendezvous_files(door.directory_, names, door.text_); !written)
        return written.failure();
    return door;
}

Result<void> ToolDoor::tell(const std::string &file) {
    auto written = LauncherFile::write(file, text_);
    if (!written)
        return written.failure();
    file_ = std::move(*written);
    return {};
}

Result<void> ToolDoor::on_readable() {
    if (!desk_.channel) {
        auto started = start_desk_(listener_.get());
        if (!started) {
            close();
            return started.failure();
        }
        desk_ = std::move(*started);
        return {};
    }
    char bytes[4096];
    ssize_t there = ::recv(desk_.channel.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (there < 0 && (errno == EAGAIN || errno == EINTR))
        return {};
    std::string_view said(bytes, there > 0 ? static_cast<std::size_t>(there) : 0);
    auto serving = parse_desk_word(said);
    if (there > 0 && serving) {
        serves_ = true;
        return {};
    }
    end_desk(); // it has said its last
    close();
    // The end of the job is no news to its user.
    if (said.empty() || (serves_ && serving.failure().kind == ErrorKind::unreachable))
        return {};
    return error(serving.failure().kind, "a tool of this host was not let in: {}", serving.failure().text);
}

void ToolDoor::end_desk() {
    if (pid_t pid = std::exchange(desk_.pid, -1); pid > 0) {
        ::kill(pid, SIGKILL); // it has nothing to put in order
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

// The desk ends when its channel does. That it serves may not have been heard yet.
void ToolDoor::close() {
    char bytes[4096];
    ssize_t there = desk_.channel ? ::recv(desk_.channel.get(), bytes, sizeof bytes, MSG_DONTWAIT) : 0;
    if (there > 0 && parse_desk_word({bytes, static_cast<std::size_t>(there)}))
        serves_ = true;
    if (!serves_)
        end_desk();
    file_.remove();
    listener_.reset();
    desk_.channel.reset();
    if (std::string directory = std::exchange(directory_, {}); !directory.empty()) {
        remove_flat(directory);
        ::rmdir(directory.substr(0, directory.rfind('/')).c_str()); // the last one of this user
    }
}

} // namespace pmixhost::kit
