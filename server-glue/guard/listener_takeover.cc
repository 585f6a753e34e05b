// See listener_takeover.h.
#include "server-glue/guard/listener_takeover.h"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// listen() has no argument that could lead to an object of ours.
thread_local ListenerTakeover *taking = nullptr;

// What goes through the socket pair.
struct Handover {
    std::uint64_t magic;
    int fd;
};
constexpr std::uint64_t handover_magic = 0x706d69786866640aULL;

// This is not the function of that name, which would come back here.
int listen_for_real(int fd) {
    return static_cast<int>(syscall(SYS_listen, fd, SOMAXCONN));
}

int socket_option(int fd, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// libpmix takes the first address of the first loopback interface that is up.
bool loopback_is_ipv4(int socket, in_addr &address) {
    ifreq asked{};
    std::memcpy(asked.ifr_name, "lo", sizeof "lo");
    if (ioctl(socket, SIOCGIFFLAGS, &asked) != 0 || !(asked.ifr_flags & IFF_UP) ||
        ioctl(socket, SIOCGIFADDR, &asked) != 0 || asked.ifr_addr.sa_family != AF_INET)
        return false;
    address = reinterpret_cast<const sockaddr_in &>(asked.ifr_addr).sin_addr;
    return true;
}

} // namespace

Result<std::unique_ptr<ListenerTakeover>> ListenerTakeover::create_listening() {
    auto takeover = create();
    if (!takeover)
        return takeover;
    UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    if (!listener || !loopback_is_ipv4(listener.get(), here.sin_addr) ||
        ::bind(listener.get(), reinterpret_cast<const sockaddr *>(&here), sizeof here) != 0 ||
        listen_for_real(listener.get()) != 0)
        return error(ErrorKind::unsupported, "the loopback interface has no IPv4 address to listen at");
    (*takeover)->listener_ = std::move(listener);
    (*takeover)->early_ = true;
    return takeover;
}

std::string ListenerTakeover::address() const {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[INET6_ADDRSTRLEN] = "";
    if (getsockname(listener_.get(), reinterpret_cast<sockaddr *>(&own), &size) != 0)
        return {};
    bool four = own.ss_family == AF_INET;
    const auto &in4 = reinterpret_cast<const sockaddr_in &>(own);
    const auto &in6 = reinterpret_cast<const sockaddr_in6 &>(own);
    const void *address = four ? static_cast<const void *>(&in4.sin_addr) : &in6.sin6_addr;
    if (!inet_ntop(own.ss_family, address, text, sizeof text))
        return {};
    return fmt::format("{}://{}:{}", four ? "tcp4" : "tcp6", text, ntohs(four ? in4.sin_port : in6.sin6_port));
}

Result<std::unique_ptr<ListenerTakeover>> ListenerTakeover::create() {
    int ends[2];
    // Whole messages or nothing.
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return system_error("socketpair", errno);
    std::unique_ptr<ListenerTakeover> takeover(new ListenerTakeover);
    takeover->own_end_.reset(ends[0]);
    takeover->librarys_end_.reset(ends[1]);
    return takeover;
}

ListenerTakeover::Scope::Scope(ListenerTakeover &takeover) {
    taking = &takeover;
}
ListenerTakeover::Scope::~Scope() {
    taking = nullptr;
}

bool ListenerTakeover::wants_bind(int fd) {
    return taking && taking->early_ && taking->bound_ < 0 && socket_option(fd, SO_DOMAIN) == AF_INET &&
           socket_option(fd, SO_TYPE) == SOCK_STREAM;
}

int ListenerTakeover::take_bind(int fd) {
    if (dup3(taking->listener_.get(), fd, O_CLOEXEC) < 0)
        return -1;
    taking->bound_ = fd;
    return 0;
}

bool ListenerTakeover::wants(int fd) {
    if (!taking || taking->stands_in())
        return false;
    if (taking->early_)
        return fd == taking->bound_;
    int family = socket_option(fd, SO_DOMAIN);
    return family == AF_INET || family == AF_INET6;
}

int ListenerTakeover::take(int fd) {
    ListenerTakeover &self = *taking;
    UniqueFd real;
    if (!self.early_) {
        real.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
        // The longest queue that the kernel allows: what is in it has yet to be judged.
        if (!real || listen_for_real(real.get()) != 0 || fcntl(real.get(), F_SETFL, O_NONBLOCK) != 0)
            return -1;
    }
    if (dup3(self.librarys_end_.get(), fd, O_CLOEXEC) < 0)
        return -1;
    self.librarys_end_.reset();
    if (!self.early_)
        self.listener_ = std::move(real);
    return 0;
}

int ListenerTakeover::accept(int fd) {
    Handover handover{};
    ssize_t size = -1;
    if (socket_option(fd, SO_DOMAIN) == AF_UNIX && socket_option(fd, SO_TYPE) == SOCK_SEQPACKET)
        size = recv(fd, &handover, sizeof handover, MSG_DONTWAIT);
    else
        errno = EINVAL;
    if (size < 0)
        return -1;
    if (size != sizeof handover || handover.magic != handover_magic) {
        errno = size == 0 ? EAGAIN : EINVAL; // our end is closed: the daemon ends
        return -1;
    }
    return handover.fd;
}

Result<void> ListenerTakeover::hand_over(UniqueFd connection) {
    Handover handover{handover_magic, connection.get()};
    if (send(own_end_.get(), &handover, sizeof handover, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return error(ErrorKind::limit, "libpmix does not take the connections that it is given");
    connection.release();
    return {};
}

bool ListenerTakeover::all_taken() const {
    int unread = 0;
    return ioctl(own_end_.get(), SIOCOUTQ, &unread) != 0 || unread == 0;
}

} // namespace pmixhost
