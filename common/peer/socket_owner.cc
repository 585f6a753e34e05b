// See socket_owner.h.
#include "common/peer/socket_owner.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// The longest answer is a header and one record, with attributes that were not asked for left out.
constexpr std::size_t answer_size = 1024;
// A table of a very busy host: a connection beyond these lines is not found, and so refused.
constexpr int max_table_lines = 1 << 20;
// Bounds of a search for a holder, which so costs some milliseconds at most.
constexpr int max_processes = 2048, max_descriptors = 8192;

Error no_such_connection() {
    return error(ErrorKind::not_found, "the kernel knows no established connection of this host from there");
}

bool take_address(const sockaddr_storage &address, std::uint32_t words[4], std::uint16_t &port) {
    if (address.ss_family == AF_INET) {
        const auto &four = reinterpret_cast<const sockaddr_in &>(address);
        words[0] = four.sin_addr.s_addr;
        port = ntohs(four.sin_port);
        return true;
    }
    if (address.ss_family == AF_INET6) {
        const auto &six = reinterpret_cast<const sockaddr_in6 &>(address);
        std::memcpy(words, &six.sin6_addr, 16);
        port = ntohs(six.sin6_port);
        return true;
    }
    return false;
}

// Seen from the peer: its own address is the local one.
Result<TcpEnds> peers_view(int connection) {
    sockaddr_storage own{}, peer{};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (getsockname(connection, reinterpret_cast<sockaddr *>(&own), &own_size) != 0 ||
        getpeername(connection, reinterpret_cast<sockaddr *>(&peer), &peer_size) != 0)
        return no_such_connection(); // it has been reset
    TcpEnds ends;
    ends.ipv6 = own.ss_family == AF_INET6;
    if (!take_address(peer, ends.local, ends.local_port) || !take_address(own, ends.remote, ends.remote_port))
        return error(ErrorKind::invalid, "this is no TCP connection");
    return ends;
}

struct DiagRequest {
    nlmsghdr header;
    inet_diag_req_v2 body;
};

DiagRequest request_for(const TcpEnds &ends) {
    DiagRequest request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.body.sdiag_family = ends.ipv6 ? AF_INET6 : AF_INET;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = 1u << TCP_ESTABLISHED;
    request.body.id.idiag_sport = htons(ends.local_port);
    request.body.id.idiag_dport = htons(ends.remote_port);
    std::memcpy(request.body.id.idiag_src, ends.local, sizeof ends.local);
    std::memcpy(request.body.id.idiag_dst, ends.remote, sizeof ends.remote);
    request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return request;
}

// The kernel answers within the call that asks. `state`: what its socket's must be.
Result<SocketOwner> ask_kernel(int diag, const TcpEnds &ends, int state) {
    DiagRequest request = request_for(ends);
    // Throws away what an earlier question may have left, which would be taken for this one's answer.
    alignas(nlmsghdr) char answer[answer_size];
    while (recv(diag, answer, sizeof answer, MSG_DONTWAIT) > 0) {
    }
    if (send(diag, &request, sizeof request, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof request))
        return system_error("sock_diag", errno);
    ssize_t size = recv(diag, answer, sizeof answer, MSG_DONTWAIT);
    if (size < static_cast<ssize_t>(sizeof(nlmsghdr)))
        return system_error("sock_diag", size < 0 ? errno : EPROTO);
    const auto *header = reinterpret_cast<const nlmsghdr *>(answer);
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg))))
        return no_such_connection();
    inet_diag_msg found;
    std::memcpy(&found, NLMSG_DATA(header), sizeof found);
    const std::size_t address = ends.ipv6 ? 16 : 4;
    if (found.idiag_state != state || found.id.idiag_sport != request.body.id.idiag_sport ||
        found.id.idiag_dport != request.body.id.idiag_dport ||
        std::memcmp(found.id.idiag_src, ends.local, address) != 0 ||
        std::memcmp(found.id.idiag_dst, ends.remote, address) != 0)
        return no_such_connection();
    return SocketOwner{found.idiag_uid, found.idiag_inode};
}

// Does the kernel answer at all? It does not tell "there is no such service" from "there is no such
// connection", so it is asked for a socket that is there: one that listens on loopback.
bool kernel_answers(int diag) {
    UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof loopback;
    if (!probe || bind(probe.get(), reinterpret_cast<sockaddr *>(&loopback), size) != 0 ||
        ::listen(probe.get(), 1) != 0 || getsockname(probe.get(), reinterpret_cast<sockaddr *>(&loopback), &size) != 0)
        return false;
    TcpEnds ends;
    ends.local[0] = loopback.sin_addr.s_addr;
    ends.local_port = ntohs(loopback.sin_port);
    auto found = ask_kernel(diag, ends, TCP_LISTEN);
    return found && found->uid == geteuid();
}

using File = std::unique_ptr<FILE, int (*)(FILE *)>;
File open_table(bool ipv6) {
    return File(fopen(ipv6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp", "re"), fclose);
}

Result<SocketOwner> look_in_table(const TcpEnds &ends) {
    File table = open_table(ends.ipv6);
    if (!table)
        return system_error("/proc/self/net/tcp", errno);
    char line[512];
    for (int i = 0; i < max_table_lines && fgets(line, sizeof line, table.get()); ++i) {
        SocketOwner owner;
        if (owner_in_table_line(line, ends, owner))
            return owner;
    }
    return no_such_connection();
}

std::string_view next_word(std::string_view &text) {
    std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos)
        return text = {};
    std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

template <typename Number> bool read_number(std::string_view word, int base, Number &out) {
    auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), out, base);
    return code == std::errc() && end == word.data() + word.size() && !word.empty();
}

// ADDRESS:PORT in hexadecimal; the address as words of this machine's byte order.
bool is_address(std::string_view word, const TcpEnds &ends, const std::uint32_t words[4], std::uint16_t port) {
    const std::size_t count = ends.ipv6 ? 4 : 1;
    if (word.size() != count * 8 + 5 || word[count * 8] != ':')
        return false;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t value = 0;
        if (!read_number(word.substr(i * 8, 8), 16, value) || value != words[i])
            return false;
    }
    std::uint16_t number = 0;
    return read_number(word.substr(count * 8 + 1), 16, number) && number == port;
}

} // namespace

bool owner_in_table_line(std::string_view line, const TcpEnds &ends, SocketOwner &owner) {
    next_word(line); // the line's number
    if (!is_address(next_word(line), ends, ends.local, ends.local_port) ||
        !is_address(next_word(line), ends, ends.remote, ends.remote_port))
        return false;
    unsigned state = 0;
    if (!read_number(next_word(line), 16, state) || state != TCP_ESTABLISHED)
        return false;
    for (int skipped = 0; skipped < 3; ++skipped) // queues, timer, retransmissions
        next_word(line);
    SocketOwner found;
    if (!read_number(next_word(line), 10, found.uid))
        return false;
    next_word(line); // timeout
    if (!read_number(next_word(line), 10, found.inode) || found.inode == 0)
        return false; // nobody holds it any more
    owner = found;
    return true;
}

std::optional<pid_t> holder_of(const SocketOwner &socket) {
    const std::string wanted = fmt::format("socket:[{}]", socket.inode);
    using Directory = std::unique_ptr<DIR, int (*)(DIR *)>;
    Directory processes(opendir("/proc"), closedir);
    int seen = 0, looked_at = 0;
    while (dirent *process = processes && seen < max_processes ? readdir(processes.get()) : nullptr) {
        pid_t pid = 0;
        if (!read_number(process->d_name, 10, pid))
            continue;
        ++seen;
        Directory descriptors(opendir(fmt::format("/proc/{}/fd", pid).c_str()), closedir);
        while (dirent *entry = descriptors && looked_at < max_descriptors ? readdir(descriptors.get()) : nullptr) {
            ++looked_at;
            char target[64];
            ssize_t size = readlinkat(dirfd(descriptors.get()), entry->d_name, target, sizeof target);
            if (size > 0 && std::string_view(target, static_cast<std::size_t>(size)) == wanted)
                return pid;
        }
    }
    return std::nullopt;
}

Result<SocketOwners> SocketOwners::open() {
    SocketOwners owners;
    UniqueFd diag(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
    if (diag && kernel_answers(diag.get())) {
        owners.diag_ = std::move(diag);
        return owners;
    }
    if (!open_table(false))
        return error(ErrorKind::system, "the kernel does not say whose a TCP connection is: it offers neither "
                                        "NETLINK_SOCK_DIAG (modules inet_diag and tcp_diag) nor /proc/self/net/tcp");
    return owners;
}

Result<SocketOwner> SocketOwners::peer_of(int connection) {
    auto ends = peers_view(connection);
    if (!ends)
        return ends.failure();
    return diag_ ? ask_kernel(diag_.get(), *ends, TCP_ESTABLISHED) : look_in_table(*ends);
}

} // namespace pmixhost
