// See contact_socket.h.
#include "plugins/slurm/backend/contact_socket.h"

#include "common/base/no_room.h"
#include "common/base/random_bytes.h"
#include "common/transport/secret_box.h"
#include "plugins/kit/starter_frame.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace pmixhost::slurm {

namespace {

using namespace std::chrono_literals;

constexpr int backlog = 512;
constexpr std::size_t max_visitors = 64;
constexpr auto visit_limit = 5s;
constexpr std::size_t header_size = 8;
// So many names are looked at when a daemon begins, since whoever listens at one is woken by it: with all of them many
// small steps of one host would wake each other the more, the more there are.
constexpr std::size_t swept_at_once = 4;
constexpr std::string_view unfinished = "new.";

sockaddr_un address_of(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    return address;
}

constexpr int directory_attempts = 16;

// BASE may be writable for everybody, so what is there already is looked at closely.
Result<UniqueFd> own_directory(const std::string &path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return system_error(path, errno);
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && errno == ENOENT)
        return system_error(path, ENOENT);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return error(ErrorKind::denied,
                     "{} is not a directory of this user with mode 0700; somebody made it before "
                     "us: remove it",
                     path);
    return fd;
}

// Whoever has the lock has it for as long as a few system calls take, unless it was stopped in the middle of
// them: the caller decides what to do when it is not had after a moment.
bool lock(int directory) {
    for (int attempt = 0; ::flock(directory, LOCK_EX | LOCK_NB) != 0; ++attempt) {
        if (attempt == 100)
            return false;
        ::poll(nullptr, 0, 1);
    }
    return true;
}

bool somebody_listens(const std::string &path) { // false where there is nothing
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address = address_of(path);
    return !fd || ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 ||
           (errno != ECONNREFUSED && errno != ENOENT);
}

// A name that is finished belongs to a socket that listens, unless its daemon was killed. Some are looked at, which
// chance chooses, so that each has its turn in the end; one that is not finished has nobody who would be woken.
void sweep(const std::string &directory, int directory_fd) {
    DIR *list = opendir(directory.c_str());
    if (!list)
        return;
    std::vector<std::string> chosen;
    const std::string seed = random_bytes(sizeof(std::uint32_t));
    std::minstd_rand chance(kit::get_u32(seed));
    std::size_t seen = 0;
    while (dirent *entry = readdir(list)) {
        std::string_view name = entry->d_name;
        struct stat status {};
        if (name.front() == '.' || (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN))
            continue;
        if (name.starts_with(unfinished)) {
            if (fstatat(directory_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode) &&
                status.st_mtime + 60 < time(nullptr))
                unlinkat(directory_fd, entry->d_name, 0);
            continue;
        }
        // Each of those that were seen is among the chosen with the same chance.
        if (std::size_t place = std::uniform_int_distribution<std::size_t>(0, seen++)(chance);
            chosen.size() < swept_at_once)
            chosen.emplace_back(name);
        else if (place < swept_at_once)
            chosen[place] = name;
    }
    closedir(list);
    for (const auto &name : chosen) {
        struct stat status {};
        if (fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode) &&
            !somebody_listens(directory + "/" + name))
            unlinkat(directory_fd, name.c_str(), 0);
    }
}

} // namespace

// A listening socket at `path`, which is DIRECTORY/NAME. not_found: the directory went meanwhile.
Result<ContactSocket::Socket> ContactSocket::listen_in(const std::string &directory, const std::string &name,
                                                       const std::string &path, Sharing sharing) {
    auto directory_fd = own_directory(directory);
    if (!directory_fd)
        return directory_fd.failure();
    // It ends with the descriptor. A daemon that shall be there in any case does without.
    if (!lock(directory_fd->get()) && sharing == Sharing::first_only)
        return error(ErrorKind::timeout, "{} is locked by another process", directory);
    sweep(directory, directory_fd->get());
    if (sharing == Sharing::first_only && somebody_listens(path))
        return error(ErrorKind::exists, "{} is taken", path);

    // Under a name of its own until it listens: a name that is there must not refuse.
    std::string first = directory + "/" + std::string(unfinished) + name;
    if (first.size() >= sizeof(sockaddr_un::sun_path))
        return error(ErrorKind::limit, "{} is too long for a socket's name", first);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return system_error("socket", errno);
    ::unlink(first.c_str());
    sockaddr_un address = address_of(first);
    struct stat status {};
    if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
        ::lstat(first.c_str(), &status) != 0 || ::listen(fd.get(), backlog) != 0 ||
        ::rename(first.c_str(), path.c_str()) != 0) {
        int code = errno;
        ::unlink(first.c_str());
        return system_error(path, code);
    }
    return Socket{std::move(fd), status.st_dev, status.st_ino};
}

std::string contact_directory(const std::string &base, uid_t uid) {
    return fmt::format("{}/.pmixhost-{}", base, uid);
}

std::string family_of(std::string_view secret) {
    return secret.empty() ? std::string() : public_name_of(secret);
}

static Result<std::string> path_in_directory(const std::string &base, uid_t uid, const std::string &name,
                                             const std::string &family) {
    std::string path = fmt::format("{}/{}{}{}", contact_directory(base, uid), name, family.empty() ? "" : ".", family);
    if (path.size() >= sizeof(sockaddr_un::sun_path) - 8)
        return error(ErrorKind::limit,
                     "{} is too long for a socket's name; set a shorter directory.base in "
                     "pmixhost.conf",
                     path);
    return path;
}

Result<std::string> contact_path(const std::string &base, uid_t uid, std::uint32_t job, std::uint32_t step,
                                 std::uint32_t host, const std::string &family) {
    return path_in_directory(base, uid, fmt::format("{}.{}.{}", job, step, host), family);
}

Result<std::string> session_path(const std::string &base, uid_t uid, std::uint32_t job, const std::string &family) {
    return path_in_directory(base, uid, fmt::format("{}.session", job), family);
}

struct ContactSocket::Visitor {
    UniqueFd fd;
    pid_t pid = 0;
    std::string bytes;
    EventLoop::Handle watch, timer;
};

ContactSocket::ContactSocket(EventLoop &loop, Log &log, std::string path, Socket socket,
                             std::function<void(std::string)> on_message)
    : loop_(loop), log_(log), path_(std::move(path)), socket_(std::move(socket)), on_message_(std::move(on_message)) {
    watch();
}

void ContactSocket::watch() {
    watch_ = loop_.watch(socket_.fd.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

// Takes the name back, unless another daemon has taken it over.
ContactSocket::~ContactSocket() {
    std::string directory = path_.substr(0, path_.rfind('/'));
    UniqueFd held(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    [[maybe_unused]] bool locked = held && lock(held.get()); // without it all but surely right
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == socket_.device && status.st_ino == socket_.inode)
        ::unlink(path_.c_str());
    // The last one of this user on this host takes the directory along; it is not empty otherwise.
    ::rmdir(directory.c_str());
}

Result<std::unique_ptr<ContactSocket>> ContactSocket::open(EventLoop &loop, Log &log, const std::string &path,
                                                           std::function<void(std::string message)> on_message,
                                                           Sharing sharing) {
    std::size_t slash = path.rfind('/');
    std::string directory = path.substr(0, slash), name = path.substr(slash + 1);
    // The daemon of a step that ends may remove the directory just now: then make it once more.
    Result<Socket> socket = error(ErrorKind::system, "{}: it goes away again and again", directory);
    for (int attempt = 0; attempt < directory_attempts; ++attempt) {
        socket = listen_in(directory, name, path, sharing);
        if (socket || socket.failure().kind != ErrorKind::not_found)
            break;
    }
    if (!socket)
        return socket.failure();
    return std::unique_ptr<ContactSocket>(
        new ContactSocket(loop, log, path, std::move(*socket), std::move(on_message)));
}

void ContactSocket::accept() {
    UniqueFd fd(::accept4(socket_.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && is_no_room(errno)) // look again later, rather than be woken for ever
        watch_ = loop_.after(100ms, [this] { watch(); });
    if (!fd)
        return;
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        (peer.uid != 0 && peer.uid != geteuid())) {
        if (auto missed = refused_.admit(loop_.now()))
            log_.warning("{} was closed to process {} of uid {}{}", path_, peer.pid, peer.uid, not_logged(*missed));
        return;
    }
    if (visitors_.size() == max_visitors)
        visitors_.pop_front();
    auto visitor = std::make_unique<Visitor>();
    Visitor *v = visitor.get();
    v->fd = std::move(fd);
    v->pid = peer.pid;
    v->timer = loop_.after(visit_limit, [this, v] { drop(v); });
    v->watch = loop_.watch(v->fd.get(), EventLoop::readable, [this, v](unsigned) {
        char buffer[header_size + max_contact];
        ssize_t n = ::recv(v->fd.get(), buffer, sizeof buffer - v->bytes.size(), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            return drop(v);
        v->bytes.append(buffer, static_cast<std::size_t>(n));
        if (v->bytes.size() < header_size)
            return;
        uid_t sender = kit::get_u32(v->bytes);
        std::size_t size = kit::get_u32(std::string_view(v->bytes).substr(4));
        if ((sender != 0 && sender != geteuid()) || size > max_contact) {
            if (auto missed = garbled_.admit(loop_.now()))
                log_.warning("a contact message of {} bytes from uid {}, brought by process {}, was dropped{}", size,
                             sender, v->pid, not_logged(*missed));
            return drop(v);
        }
        if (v->bytes.size() < header_size + size)
            return;
        std::string message = v->bytes.substr(header_size, size);
        drop(v);
        on_message_(std::move(message));
    });
    visitors_.push_back(std::move(visitor));
}

// The visitor's own callback may be running: its handles end last.
void ContactSocket::drop(Visitor *visitor) {
    auto at =
        std::find_if(visitors_.begin(), visitors_.end(), [visitor](const auto &one) { return one.get() == visitor; });
    if (at == visitors_.end())
        return;
    std::shared_ptr<Visitor> last(std::move(*at));
    visitors_.erase(at);
    last->watch.reset();
    last->timer.reset();
    loop_.post([last] {});
}

} // namespace pmixhost::slurm
