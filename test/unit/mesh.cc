// The mesh over real sockets on the loopback interface: order, early messages, large messages,
// farewell and loss, and what a stranger gets.
#include "common/transport/mesh.h"

#include "common/transport/offered_addresses.h"
#include "common/wire/wire_version.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t note = 99; // a type that only this test knows

struct Node {
    std::unique_ptr<Mesh> mesh;
    Bytes contact;            // the last contact message for it
    bool ended = false;       // nobody takes them any more
    bool unreachable = false; // nor can anybody be asked
    std::vector<std::pair<HostIndex, Bytes>> received;
    std::vector<std::pair<HostIndex, Mesh::Gone>> gone;
    std::string why; // the last one is
};

struct World {
    std::unique_ptr<EventLoop> loop;
    Log log;
    Settings settings;
    std::vector<std::unique_ptr<Node>> nodes;

    using Authenticators = std::function<std::unique_ptr<Authenticator>(HostIndex)>;
    explicit World(HostIndex size, std::vector<Bytes> secrets = {}, Authenticators authenticator = nullptr,
                   int log_fd = 2)
        : log(log_fd, LogLevel::error, "test") {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        settings.transport_interfaces = {"lo"};
        settings.transport_connect_timeout = 1500ms;
        settings.transport_frame_tags = "off"; // frames are made by hand here; with tags: frame_tags.cc
        for (HostIndex h = 0; h < size; ++h) {
            nodes.push_back(std::make_unique<Node>());
            Node *node = nodes.back().get();
            auto mesh = Mesh::create(
                *loop, log, settings, "step", h, size,
                authenticator ? authenticator(h)
                              : make_secret_authenticator(secrets.empty() ? Bytes("secret") : secrets[h]),
                {[node](HostIndex from, std::uint8_t type, Bytes payload) {
                     assert_int_equal(type, note);
                     node->received.emplace_back(from, std::move(payload));
                 },
                 [node](HostIndex host, Mesh::Gone how, const Error &why) {
                     node->gone.emplace_back(host, how);
                     node->why = why.text;
                 },
                 [this](HostIndex to, Bytes message, TimePoint, std::function<void(Result<void>)> done) {
                     loop->post([this, to, message, done] {
                         if (nodes[to]->unreachable)
                             return done(error(ErrorKind::unreachable, "no way"));
                         nodes[to]->contact = message;
                         if (nodes[to]->mesh)
                             nodes[to]->mesh->on_contact(message);
                         done(nodes[to]->ended ? Result<void>(error(ErrorKind::not_found, "nobody")) : Result<void>());
                     });
                 }});
            assert_true(mesh.ok());
            node->mesh = std::move(*mesh);
        }
    }
    Mesh &operator[](HostIndex h) { return *nodes[h]->mesh; }
    void run_until(const std::function<bool()> &done) { pmixhost::run_until(*loop, done); }
};

void messages_arrive_in_order(void **) {
    World world(3);
    for (int i = 0; i < 100; ++i) // the first ones long before there is a connection
        assert_true(world[1].send(0, note, share(std::to_string(i))));
    world.run_until([&] { return world.nodes[0]->received.size() == 100; });
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(world.nodes[0]->received[i].first, 1);
        assert_true(world.nodes[0]->received[i].second == std::to_string(i));
    }
    assert_true(world[0].connected(1) && !world[0].connected(2));
    world[0].send(1, note, share("back"));
    world.run_until([&] { return world.nodes[1]->received.size() == 1; });
}

void both_may_dial_at_once(void **) {
    World world(2);
    for (int i = 0; i < 20; ++i) {
        world[0].send(1, note, share("a" + std::to_string(i)));
        world[1].send(0, note, share("b" + std::to_string(i)));
    }
    world.run_until([&] { return world.nodes[0]->received.size() == 20 && world.nodes[1]->received.size() == 20; });
    for (int i = 0; i < 20; ++i)
        assert_true(world.nodes[1]->received[i].second == "a" + std::to_string(i));
}

void large_messages_pass_whole(void **) {
    World world(2);
    Bytes large(48u << 20, 'x');
    large[12345678] = 'y';
    world[0].send(1, note, share(large));
    world[0].send(1, note, share("after"));
    world.run_until([&] { return world.nodes[1]->received.size() == 2; });
    assert_true(world.nodes[1]->received[0].second == large);
    assert_true(world.nodes[1]->received[1].second == "after");
}

void leaving_is_told_from_loss(void **) {
    World world(3);
    world[0].send(1, note, share("x"));
    world[0].send(2, note, share("x"));
    world.run_until([&] {
        return world[1].connected(0) && world[2].connected(0) && world[0].connected(1) && world[0].connected(2);
    });
    world[1].farewell();
    world.nodes[1]->mesh.reset();
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
    world.nodes[2]->mesh.reset();
    world.run_until([&] { return world.nodes[0]->gone.size() == 2; });
    assert_int_equal(world.nodes[0]->gone[1].first, 2);
    assert_true(world.nodes[0]->gone[1].second == Mesh::Gone::lost);
    assert_false(world[0].send(2, note, share("x")));
}

// The session of another allocation has the same place in the mesh.
void who_is_left_hears_so_and_another_one_takes_its_place(void **) {
    World world(2);
    world[0].send(1, note, share("x"));
    world.run_until([&] { return world[1].connected(0) && world[0].connected(1); });
    const Bytes old = world.nodes[1]->contact;
    world[0].leave(1);
    assert_false(world[0].connected(1) || world[0].gone(1));
    world.run_until([&] { return world.nodes[1]->gone.size() == 1; });
    assert_true(world.nodes[1]->gone[0].second == Mesh::Gone::left);
    // It was called before, and comes late.
    world[1].forget(0);
    world[1].on_contact(old);
    assert_int_equal(world[1].dialing(), 1);
    world.run_until([&] { return world[1].dialing() == 0; });
    assert_false(world[0].connected(1) || world[1].connected(0));
    world[1].on_contact(old); // nor does it hold up the next one
    assert_int_equal(world[1].dialing(), 1);
    world[0].send(1, note, share("y"));
    world.run_until([&] { return world.nodes[1]->received.size() == 2; });
    assert_true(world.nodes[1]->received[1].second == "y");
    assert_true(world.nodes[0]->gone.empty());
    world[0].leave(0); // nobody
}

// Somebody calls a daemon that is about to leave: the connection is made, and ends in order.
void who_is_called_while_it_leaves_says_farewell(void **) {
    World world(2);
    world[1].farewell();
    world[0].invite(1);
    world.run_until([&] { return world[1].dialing() == 1; });
    assert_true(world[0].connecting(1));
    assert_false(world[0].connecting(0));
    world.run_until([&] { return world[1].dialing() == 0 && world[1].unsent_bytes() == 0; });
    world.nodes[1]->mesh.reset();
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
    assert_false(world[0].connecting(1));
}

// A contact message that a daemon had taken and did not read before it ended.
void who_takes_a_message_and_ends_has_left(void **) {
    World world(2);
    world.nodes[1]->mesh.reset();
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[1]->contact.empty(); });
    assert_true(world.nodes[0]->gone.empty());
    world.nodes[1]->ended = true;
    world.run_until([&] { return !world.nodes[0]->gone.empty(); });
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
}

void the_rm_knows_who_has_left(void **) {
    World world(3);
    world[0].send(1, note, share("x"));
    world.run_until([&] { return world[0].connected(1); });
    world[0].left(1); // there is a connection: nobody knows better
    assert_true(world.nodes[0]->gone.empty());
    world[0].left(2);
    assert_int_equal(world.nodes[0]->gone.size(), 1);
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
    assert_false(world[0].was_connected(2));
    assert_false(world[0].send(2, note, share("x")));
}

void another_secret_is_refused(void **) {
    World world(2, {"secret", "other"});
    world.log.set_level(static_cast<LogLevel>(-1)); // it is to complain
    world[0].send(1, note, share("x"));
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(world.nodes[1]->received.empty());
    assert_false(world[1].connected(0));
    assert_false(world[1].hindered_on_the_way(0));
}

void an_unreachable_host_is_lost_in_time(void **) {
    World world(2);
    world.nodes[1]->mesh.reset();
    auto begin = Clock::now();
    world[0].send(1, note, share("x"));
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(Clock::now() - begin < 5s);
}

// Before anything is sent to it, it may take as long as it likes.
void who_is_invited_early_may_come_late(void **) {
    World world(2);
    auto late = std::move(world.nodes[1]->mesh);
    world[0].invite_early(1);
    auto sends_at = Clock::now() + 2 * world.settings.transport_connect_timeout;
    world.run_until([&] { return Clock::now() > sends_at || !world.nodes[0]->gone.empty(); });
    assert_true(world.nodes[0]->gone.empty());
    world.nodes[1]->mesh = std::move(late);
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[1]->received.empty() || !world.nodes[0]->gone.empty(); });
    assert_true(world.nodes[0]->gone.empty());
}

// Nor is it lost when the RM says that it cannot be reached, and is invited anew by what is sent.
void an_early_invitation_may_fail(void **) {
    World world(2);
    world.nodes[1]->unreachable = true;
    world[0].invite_early(1);
    world[0].send(1, note, share("x")); // before the RM has said so
    bool asked = false;
    world.loop->post([&] {
        world.nodes[1]->unreachable = false;
        asked = true;
    });
    world.run_until([&] { return asked && (!world.nodes[1]->received.empty() || !world.nodes[0]->gone.empty()); });
    assert_true(world.nodes[0]->gone.empty());
}

// And what is sent while it is awaited has its own time.
void what_is_sent_behind_an_early_invitation_has_the_whole_time(void **) {
    World world(2);
    world.nodes[1]->mesh.reset();
    const auto timeout = world.settings.transport_connect_timeout;
    auto begin = Clock::now();
    world[0].invite_early(1);
    world.run_until([&] { return Clock::now() - begin > timeout / 2; });
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[0]->gone.empty(); });
    assert_true(Clock::now() - begin >= timeout + timeout / 2);
}

// Of host 1, where nobody listens.
Bytes vain_contact() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length), 0);
    assert_int_equal(::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length), 0);
    Contact contact;
    contact.host = 1;
    contact.port = ntohs(address.sin_port);
    contact.cookie = Bytes(16, 'c');
    contact.addresses = {"127.0.0.1"};
    return wire::encode(contact);
}

void what_hindered_it_is_told(void **) {
    World world(2);
    world.nodes[1]->mesh.reset();
    world[0].on_contact(vain_contact());
    world[0].send(1, note, share("x"));
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_non_null(std::strstr(world.nodes[0]->why.c_str(), "Connection refused"));
    assert_true(world[0].hindered_on_the_way(1));
}

void the_rm_knows_better_than_a_vain_try(void **) {
    World world(2);
    world[0].on_contact(vain_contact());
    assert_int_equal(world[0].dialing(), 1);
    assert_int_equal(world[0].introduced(), 0);
    world[0].left(1);
    assert_int_equal(world.nodes[0]->gone.size(), 1);
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
}

// So nobody who leaves waits for it.
void a_dial_that_reaches_nobody_is_not_under_way(void **) {
    World world(2);
    world[0].on_contact(vain_contact());
    assert_int_equal(world[0].dials_under_way(), 1);
    world.run_until([&] { return world[0].dials_under_way() == 0; });
    assert_int_equal(world[0].dialing(), 1); // it is tried again
    world[0].on_contact(vain_contact());     // with the same cookie
    assert_int_equal(world[0].dials_under_way(), 0);
    world[0].forget(1);
    world[1].invite(0);
    world.run_until([&] { return world[0].connected(1); });
    assert_int_equal(world[0].dials_under_way(), 0);
}

UniqueFd stranger(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    return fd;
}

void send_frame(int fd, std::uint8_t type, const Bytes &payload) {
    auto header = wire::encode_header({.type = type, .length = static_cast<std::uint32_t>(payload.size())});
    Bytes frame = Bytes(header.data(), header.size()) + payload;
    assert_int_equal(::send(fd, frame.data(), frame.size(), 0), frame.size());
}

Bytes proof_of(const wire::Introduction &intro, const Bytes &secret = "secret") {
    Bytes proof;
    make_secret_authenticator(secret)->prove(wire::encode(intro), [&](Result<Bytes> made) { proof = *made; });
    return proof;
}

// What host 1 says to host 0, whose contact message it has.
wire::Introduction introduction_by_hand(World &world) {
    auto contact = Contact::decode(world.nodes[1]->contact);
    assert_true(contact.ok());
    wire::Introduction intro;
    intro.step_key = "step";
    intro.dialer = 1;
    intro.listener = 0;
    intro.listener_cookie = contact->cookie;
    intro.dialer_nonce = Bytes(16, 'n');
    intro.secret = Bytes(32, 's');
    return intro;
}

// A connection to host 0 in the name of host 1, open on both sides.
UniqueFd link_by_hand(World &world) {
    auto intro = introduction_by_hand(world);
    UniqueFd fd = stranger(world[0].port());
    send_frame(fd.get(), wire::Hello::type, wire::encode(wire::Hello{wire::wire_version(), proof_of(intro)}));
    char welcome;
    world.run_until([&] { return ::recv(fd.get(), &welcome, 1, MSG_DONTWAIT | MSG_PEEK) == 1; });
    return fd;
}

// Closes it with nothing unread, so that what was sent before arrives.
void close_cleanly(UniqueFd &fd) {
    char bytes[1024];
    while (::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    fd.reset();
}

// A daemon that is stopped with its job: its kernel answers, and has no room.
void who_is_there_and_reads_nothing_is_not_lost(void **) {
    World world(2);
    world.settings.transport_dead_after = 300ms;
    world.nodes[1]->mesh.reset();
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[1]->contact.empty(); });
    UniqueFd fd = link_by_hand(world);
    world[0].send(1, note, share(Bytes(64u << 20, 'x')));
    world.run_until([until = Clock::now() + 2s] { return Clock::now() >= until; });
    assert_true(world.nodes[0]->gone.empty());
    assert_true(world[0].queued_bytes() > 0);
    world.run_until([&] {
        std::vector<char> bytes(1 << 20);
        return ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) < 0 && world[0].unsent_bytes() == 0;
    });
}

// Two connections with one host, as when both sides dial at once.
std::pair<UniqueFd, UniqueFd> two_links(World &world) {
    world.nodes[1]->mesh.reset();
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[1]->contact.empty(); });
    UniqueFd first = link_by_hand(world);
    UniqueFd second = link_by_hand(world);
    send_frame(second.get(), note, "second");
    world.run_until([&] { return world.nodes[0]->received.size() == 1; });
    return {std::move(first), std::move(second)};
}

void a_host_is_lost_with_the_first_link(void **) {
    World world(2);
    auto links = two_links(world);
    UniqueFd &first = links.first, &second = links.second;
    second.reset(); // whatever was on its way over it is lost
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::lost);
    assert_false(world[0].connected(1));
    assert_false(world[0].send(1, note, share("x")));
    char bytes[1024]; // and the other side hears of it too
    world.run_until([&] { return ::recv(first.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 0; });
    assert_int_equal(world.nodes[0]->gone.size(), 1);
}

void a_host_has_left_with_the_last_link(void **) {
    World world(2);
    auto links = two_links(world);
    UniqueFd &first = links.first, &second = links.second;
    send_frame(second.get(), wire::Farewell::type, wire::encode(wire::Farewell{}));
    close_cleanly(second);
    send_frame(first.get(), note, "last words");
    world.run_until([&] { return world.nodes[0]->received.size() == 2; });
    assert_true(world.nodes[0]->gone.empty());
    close_cleanly(first);
    world.run_until([&] { return world.nodes[0]->gone.size() == 1; });
    assert_true(world.nodes[0]->gone[0].second == Mesh::Gone::left);
}

bool closed_without_a_byte(int fd) {
    char byte;
    ssize_t n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
    assert_true(n <= 0);
    return n == 0 || errno == ECONNRESET;
}

void a_stranger_gets_nothing(void **) {
    World world(2);
    world.log.set_level(static_cast<LogLevel>(-1));
    UniqueFd garbage = stranger(world[0].port());
    assert_int_equal(::send(garbage.get(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
    world.run_until([&] { return closed_without_a_byte(garbage.get()); });

    // A well-formed Hello with a proof of nothing.
    UniqueFd forger = stranger(world[0].port());
    auto hello = wire::encode(wire::Hello{wire::wire_version(), "no proof"});
    auto header = wire::encode_header({.type = wire::Hello::type, .length = static_cast<std::uint32_t>(hello.size())});
    (void)!::send(forger.get(), header.data(), header.size(), 0);
    (void)!::send(forger.get(), hello.data(), hello.size(), 0);
    world.run_until([&] { return closed_without_a_byte(forger.get()); });

    // Another pmixhost, which may mean something else by the same bytes.
    UniqueFd other = stranger(world[0].port());
    send_frame(other.get(), wire::Hello::type, wire::encode(wire::Hello{wire::wire_version() + 1, "no proof"}));
    world.run_until([&] { return closed_without_a_byte(other.get()); });

    // A frame that claims to be huge.
    UniqueFd huge = stranger(world[0].port());
    header = wire::encode_header({.type = wire::Hello::type, .length = 1u << 30});
    (void)!::send(huge.get(), header.data(), header.size(), 0);
    world.run_until([&] { return closed_without_a_byte(huge.get()); });

    // A proof that is valid, but for another attempt: the cookie is wrong.
    UniqueFd replay = stranger(world[0].port());
    wire::Introduction intro;
    intro.step_key = "step";
    intro.dialer = 1;
    intro.listener = 0;
    intro.listener_cookie = Bytes(16, 'c');
    intro.secret = Bytes(32, 's');
    hello = wire::encode(wire::Hello{wire::wire_version(), proof_of(intro)});
    header = wire::encode_header({.type = wire::Hello::type, .length = static_cast<std::uint32_t>(hello.size())});
    (void)!::send(replay.get(), header.data(), header.size(), 0);
    (void)!::send(replay.get(), hello.data(), hello.size(), 0);
    world.run_until([&] { return closed_without_a_byte(replay.get()); });
}

// Who was on the wire has seen a whole Hello; it opens no second connection, by whose end the host would be lost.
void a_proof_opens_one_connection(void **) {
    World world(2);
    world.log.set_level(static_cast<LogLevel>(-1)); // it is to complain
    world.nodes[1]->mesh.reset();
    world[0].send(1, note, share("x"));
    world.run_until([&] { return !world.nodes[1]->contact.empty(); });
    auto hello = wire::encode(wire::Hello{wire::wire_version(), proof_of(introduction_by_hand(world))});
    UniqueFd first = stranger(world[0].port());
    send_frame(first.get(), wire::Hello::type, hello);
    world.run_until([&] { return world[0].connected(1); });
    UniqueFd again = stranger(world[0].port());
    send_frame(again.get(), wire::Hello::type, hello);
    world.run_until([&] { return closed_without_a_byte(again.get()); });
    again.reset();
    assert_true(world[0].connected(1) && world.nodes[0]->gone.empty());
}

// A dialer's own proof, as the answer to it.
void a_proof_that_comes_back_is_none(void **) {
    World world(2);
    world.log.set_level(static_cast<LogLevel>(-1));
    world.settings.transport_connect_timeout = 1500ms;
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    assert_int_equal(::listen(listener.get(), 1), 0);
    getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
    Contact contact;
    contact.host = 0;
    contact.port = ntohs(address.sin_port);
    contact.cookie = Bytes(16, 'c');
    contact.addresses = {"127.0.0.1"};
    world[1].on_contact(wire::encode(contact));
    UniqueFd dialed;
    world.run_until([&] {
        dialed.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        return bool(dialed);
    });
    Bytes came;
    world.run_until([&] {
        char bytes[4096];
        ssize_t n = ::recv(dialed.get(), bytes, sizeof bytes, 0);
        came.append(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
        return came.size() > wire::frame_header_size;
    });
    auto hello = wire::decode<wire::Hello>(came.substr(wire::frame_header_size));
    assert_true(hello.ok());
    assert_true(hello->proof.find("step") == Bytes::npos); // nor is it to be read
    send_frame(dialed.get(), wire::Welcome::type, wire::encode(wire::Welcome{hello->proof}));
    world.run_until([&] { return closed_without_a_byte(dialed.get()); });
    assert_false(world[1].connected(0));
}

void a_crowd_of_strangers_keeps_nobody_out(void **) {
    World world(2);
    std::vector<UniqueFd> crowd;
    for (int i = 0; i < 200; ++i)
        crowd.push_back(stranger(world[0].port()));
    world[0].send(1, note, share("x")); // host 1 dials host 0
    world.run_until([&] { return world.nodes[1]->received.size() == 1; });
}

// Takes its time to prove anything, as munge does, and as long as that lasts strangers come.
class Flooded final : public Authenticator {
  public:
    Flooded(std::function<EventLoop &()> loop, std::function<void()> flood)
        : loop_(std::move(loop)), flood_(std::move(flood)), real_(make_secret_authenticator("secret")) {}
    void prove(Bytes statement, Done done) override {
        flood_();
        slow_.push_back(loop_().after(100ms, [this, statement, done] { real_->prove(statement, done); }));
    }
    void verify(Bytes proof, Done done) override {
        flood_();
        slow_.push_back(loop_().after(100ms, [this, proof, done] { real_->verify(proof, done); }));
    }

  private:
    std::function<EventLoop &()> loop_;
    std::function<void()> flood_;
    std::unique_ptr<Authenticator> real_;
    std::vector<EventLoop::Handle> slow_;
};

// All from one address, and more than the listener holds.
void a_flood_during_the_handshake_keeps_nobody_out(void **) {
    std::vector<UniqueFd> crowd;
    World *raw = nullptr;
    World world(2, {}, [&](HostIndex) {
        return std::make_unique<Flooded>([&]() -> EventLoop & { return *raw->loop; },
                                         [&] {
                                             for (int i = 0; i < 300; ++i)
                                                 crowd.push_back(stranger((*raw)[0].port()));
                                         });
    });
    raw = &world;
    world[0].send(1, note, share("x")); // host 1 dials host 0
    world.run_until([&] { return world.nodes[1]->received.size() == 1; });
    assert_true(crowd.size() >= 900);
}

// munge does not come to an end with what it is asked.
class Busy final : public Authenticator {
  public:
    explicit Busy(int &asked) : asked_(&asked) {}
    void prove(Bytes, Done) override {}
    void verify(Bytes, Done) override { ++*asked_; }

  private:
    int *asked_;
};

// Who leaves munge something to do and goes makes no room for the next one.
void who_goes_is_counted_until_munge_has_looked(void **) {
    int asked = 0;
    World world(2, {}, [&](HostIndex) { return std::make_unique<Busy>(asked); });
    auto hello = wire::encode(wire::Hello{wire::wire_version(), "no proof"});
    for (int i = 0; i < 256; ++i) {
        send_frame(stranger(world[0].port()).get(), wire::Hello::type, hello);
        world.run_until([&] { return asked == i + 1; });
    }
    UniqueFd last = stranger(world[0].port());
    send_frame(last.get(), wire::Hello::type, hello);
    world.run_until([&] { return closed_without_a_byte(last.get()); });
    assert_int_equal(asked, 256);
}

void strangers_fill_no_log(void **) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    UniqueFd log_read(ends[0]), log_write(ends[1]);
    World world(2, {}, nullptr, log_write.get());
    world.log.set_level(LogLevel::warning);
    for (int i = 0; i < 50; ++i) {
        UniqueFd forger = stranger(world[0].port());
        send_frame(forger.get(), wire::Hello::type, wire::encode(wire::Hello{wire::wire_version(), "no proof"}));
        world.run_until([&] { return closed_without_a_byte(forger.get()); });
    }
    std::string lines(1 << 16, '\0');
    ssize_t n = ::read(log_read.get(), lines.data(), lines.size());
    assert_true(n > 0);
    lines.resize(static_cast<std::size_t>(n));
    assert_int_equal(std::count(lines.begin(), lines.end(), '\n'), 5);
    assert_non_null(std::strstr(lines.c_str(), "a connection from 127.0.0.1 port "));
}

// What CentralServer bounds.
void connections_that_are_being_made_are_counted(void **) {
    World w(3);
    w[0].invite(2);
    w[1].invite(2);
    w.run_until([&] { return w[2].dialing() == 2; });
    w.run_until([&] { return w[2].connected(0) && w[2].connected(1); });
    assert_int_equal(w[2].dialing(), 0);
    assert_int_equal(w[0].dialing(), 0);
}

void each_family_of_addresses_is_offered(void **) {
    const std::vector<std::string> many(20, "192.0.2.1"), two{"2001:db8::1", "2001:db8::2"};
    auto offered = offered_addresses(many, two, 16);
    assert_int_equal(offered.size(), 16);
    assert_string_equal(offered.front().c_str(), "192.0.2.1");
    assert_string_equal(offered.back().c_str(), "2001:db8::2");
    assert_int_equal(offered_addresses({"192.0.2.1"}, std::vector<std::string>(20, "2001:db8::1"), 16).size(), 16);
    assert_int_equal(offered_addresses(many, {}, 16).size(), 16);
    assert_int_equal(offered_addresses({}, {}, 16).size(), 0);
}

} // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    const CMUnitTest tests[] = {
        cmocka_unit_test(connections_that_are_being_made_are_counted),
        cmocka_unit_test(each_family_of_addresses_is_offered),
        cmocka_unit_test(messages_arrive_in_order),
        cmocka_unit_test(both_may_dial_at_once),
        cmocka_unit_test(large_messages_pass_whole),
        cmocka_unit_test(leaving_is_told_from_loss),
        cmocka_unit_test(who_is_left_hears_so_and_another_one_takes_its_place),
        cmocka_unit_test(who_is_called_while_it_leaves_says_farewell),
        cmocka_unit_test(who_takes_a_message_and_ends_has_left),
        cmocka_unit_test(the_rm_knows_who_has_left),
        cmocka_unit_test(a_host_is_lost_with_the_first_link),
        cmocka_unit_test(a_host_has_left_with_the_last_link),
        cmocka_unit_test(another_secret_is_refused),
        cmocka_unit_test(an_unreachable_host_is_lost_in_time),
        cmocka_unit_test(a_stranger_gets_nothing),
        cmocka_unit_test(a_proof_opens_one_connection),
        cmocka_unit_test(a_proof_that_comes_back_is_none),
        cmocka_unit_test(a_crowd_of_strangers_keeps_nobody_out),
        cmocka_unit_test(a_flood_during_the_handshake_keeps_nobody_out),
        cmocka_unit_test(who_goes_is_counted_until_munge_has_looked),
        cmocka_unit_test(strangers_fill_no_log),
        cmocka_unit_test(who_is_invited_early_may_come_late),
        cmocka_unit_test(an_early_invitation_may_fail),
        cmocka_unit_test(what_is_sent_behind_an_early_invitation_has_the_whole_time),
        cmocka_unit_test(what_hindered_it_is_told),
        cmocka_unit_test(the_rm_knows_better_than_a_vain_try),
        cmocka_unit_test(a_dial_that_reaches_nobody_is_not_under_way),
        cmocka_unit_test(who_is_there_and_reads_nothing_is_not_lost),
    };
    return cmocka_run_group_tests_name("mesh", tests, nullptr, nullptr);
}
