// Who owns the other end of a TCP connection, by the kernel's word.
#include "common/peer/socket_owner.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

// A connection over loopback: the client's end, and the end that the listener has accepted.
struct Connection {
    UniqueFd listener, client, accepted;

    explicit Connection(int family) {
        listener.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_storage address{};
        socklen_t size;
        if (family == AF_INET6) {
            auto &six = reinterpret_cast<sockaddr_in6 &>(address);
            six.sin6_family = AF_INET6;
            six.sin6_addr = in6addr_loopback;
            size = sizeof six;
        } else {
            auto &four = reinterpret_cast<sockaddr_in &>(address);
            four.sin_family = AF_INET;
            four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            size = sizeof four;
        }
        if (::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), size) != 0)
            return; // no IPv6 here
        assert_int_equal(::listen(listener.get(), 4), 0);
        getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &size);
        client.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (geteuid() == 0) // a socket belongs to whom fchown gave it, as to whom made it
            assert_int_equal(fchown(client.get(), 12345, 12345), 0);
        assert_int_equal(::connect(client.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
        accepted.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        assert_true(static_cast<bool>(accepted));
    }
};
uid_t expected() {
    return geteuid() == 0 ? 12345 : geteuid();
}

void the_maker_of_the_peers_socket_is_found(void **) {
    auto owners = SocketOwners::open();
    assert_true(owners.ok());
    for (int family : {AF_INET, AF_INET6}) {
        Connection connection(family);
        if (!connection.accepted)
            continue;
        for (int again = 0; again < 3; ++again) {
            auto owner = owners->peer_of(connection.accepted.get());
            assert_true(owner.ok());
            assert_int_equal(owner->uid, expected());
            assert_true(owner->inode != 0);
            auto holder = holder_of(*owner);
            assert_true(holder && *holder == getpid());
        }
    }
}

void a_peer_that_has_closed_has_no_owner(void **) {
    auto owners = SocketOwners::open();
    Connection connection(AF_INET);
    connection.client.reset();
    auto owner = owners->peer_of(connection.accepted.get());
    assert_false(owner.ok());
    assert_int_equal(owner.failure().kind, ErrorKind::not_found);
    assert_false(holder_of({geteuid(), 0}).has_value());
}

// Listens at the port that a peer has just left, as another process may by then; empty when somebody else on this
// machine was faster.
UniqueFd listener_in_its_place(Connection &connection) {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    getsockname(connection.client.get(), reinterpret_cast<sockaddr *>(&own), &size);
    linger at_once{1, 0};
    setsockopt(connection.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    connection.client.reset();
    UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(stranger.get(), reinterpret_cast<sockaddr *>(&own), sizeof own) != 0) {
        assert_int_equal(errno, EADDRINUSE);
        return {};
    }
    assert_int_equal(::listen(stranger.get(), 4), 0);
    return stranger;
}

void a_listening_socket_of_the_same_port_is_not_taken_for_the_peer(void **) {
    auto owners = SocketOwners::open();
    for (int tries = 0; tries < 20; ++tries) {
        Connection connection(AF_INET);
        UniqueFd stranger = listener_in_its_place(connection);
        if (stranger) {
            assert_false(owners->peer_of(connection.accepted.get()).ok());
            return;
        }
    }
    fail_msg("the port of a peer that has gone is never free");
}

void what_is_no_connection_is_refused(void **) {
    auto owners = SocketOwners::open();
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    UniqueFd one(pair[0]), other(pair[1]);
    assert_false(owners->peer_of(one.get()).ok());
}

constexpr const char *line =
    "   4: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 60001        0 123456 1 0000";

TcpEnds ends() {
    TcpEnds out;
    out.local[0] = out.remote[0] = 0x0100007f;
    out.local_port = 0x9c40;
    out.remote_port = 0x1f90;
    return out;
}

void a_line_of_the_kernels_table_is_read(void **) {
    SocketOwner owner;
    assert_true(owner_in_table_line(line, ends(), owner));
    assert_int_equal(owner.uid, 60001);
    assert_int_equal(owner.inode, 123456);
}

void other_lines_are_not(void **) {
    SocketOwner owner;
    auto with = [&](std::size_t at, std::string_view text) {
        std::string changed(line);
        changed.replace(at, text.size(), text);
        return owner_in_table_line(changed, ends(), owner);
    };
    std::string_view text(line);
    assert_false(with(text.find("9C40"), "9C41"));
    assert_false(with(text.find("1F90"), "1F91"));
    assert_false(with(text.find("0100007F"), "0200007F"));
    assert_false(with(text.find(" 01 "), " 0A "));     // listens
    assert_false(with(text.find(" 01 "), " 06 "));     // has ended
    assert_false(with(text.find("123456"), "0     ")); // belongs to nobody
    for (std::size_t cut = 0; cut < text.find("123456"); ++cut)
        assert_false(owner_in_table_line(text.substr(0, cut), ends(), owner));
    TcpEnds six = ends();
    six.ipv6 = true;
    assert_false(owner_in_table_line(line, six, owner));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_maker_of_the_peers_socket_is_found),
        cmocka_unit_test(a_peer_that_has_closed_has_no_owner),
        cmocka_unit_test(a_listening_socket_of_the_same_port_is_not_taken_for_the_peer),
        cmocka_unit_test(what_is_no_connection_is_refused),
        cmocka_unit_test(a_line_of_the_kernels_table_is_read),
        cmocka_unit_test(other_lines_are_not),
    };
    return cmocka_run_group_tests_name("socket_owner", tests, nullptr, nullptr);
}
