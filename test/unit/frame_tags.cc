// Daemons whose connections go through somebody who can do with frames whatever he likes: what he
// changes, adds, repeats, reorders or leaves out ends the connection, and nothing of it is delivered.
#include "common/transport/frame_tag.h"
#include "common/transport/mesh.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t note = 99; // a type that only this test knows
constexpr std::size_t head_size = wire::frame_header_size + FrameTags::size;

// What becomes of frame `number` (0: Hello or Welcome) that `from` sends to `to`.
using Tamper = std::function<std::vector<Bytes>(HostIndex from, HostIndex to, std::size_t number, Bytes frame)>;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// The attacker, on the wire before one listener.
class Attacker {
  public:
    Attacker(EventLoop &loop, HostIndex listener, HostIndex dialer, std::uint16_t port, bool tags, Tamper &tamper)
        : loop_(loop), listener_(listener), dialer_(dialer), port_(port), tags_(tags), tamper_(tamper) {
        auto opened = Listener::open(loop, {}, [this](UniqueFd fd, const PeerAddress &) { accepted(std::move(fd)); });
        assert_true(opened.ok());
        ear_ = std::move(*opened);
    }
    std::uint16_t port() const { return ear_->port(); }

  private:
    struct Way {
        int in = -1, out = -1;
        HostIndex from = 0, to = 0;
        Bytes came, goes;
        std::size_t frames = 0;
        EventLoop::Handle reads, writes;
    };
    struct Connection {
        UniqueFd dialer, listener;
        Way up, down;
    };

    void accepted(UniqueFd fd) {
        auto c = std::make_unique<Connection>();
        c->dialer = std::move(fd);
        c->listener = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto address = loopback(port_);
        assert_int_equal(::connect(c->listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        c->up.in = c->down.out = c->dialer.get();
        c->up.out = c->down.in = c->listener.get();
        c->up.from = c->down.to = dialer_;
        c->up.to = c->down.from = listener_;
        listen_to(*c, c->up);
        listen_to(*c, c->down);
        connections_.push_back(std::move(c));
    }
    void listen_to(Connection &c, Way &way) {
        way.reads = loop_.watch(way.in, EventLoop::readable, [this, &c, &way](unsigned) {
            char bytes[65536];
            ssize_t n = ::recv(way.in, bytes, sizeof bytes, MSG_DONTWAIT);
            if (n < 0 && errno == EAGAIN)
                return;
            if (n <= 0) { // who closes is seen to close by the other
                c.up.reads.reset();
                c.down.reads.reset();
                ::shutdown(way.out, SHUT_RDWR);
                return;
            }
            way.came.append(bytes, static_cast<std::size_t>(n));
            take_frames(way);
            send_on(way);
        });
    }
    void take_frames(Way &way) {
        for (;;) {
            bool tagged = tags_ && way.frames > 0;
            std::size_t head = tagged ? head_size : wire::frame_header_size;
            if (way.came.size() < head)
                return;
            auto header = wire::decode_header(way.came.data(), wire::frame_limit);
            if (!header) { // one side has tags and the other not: as it is
                way.goes += std::exchange(way.came, {});
                return;
            }
            std::size_t whole = head + header->length + (tagged && header->length > 0 ? FrameTags::size : 0);
            if (way.came.size() < whole)
                return;
            for (const auto &frame : tamper_(way.from, way.to, way.frames++, way.came.substr(0, whole)))
                way.goes += frame;
            way.came.erase(0, whole);
        }
    }
    void send_on(Way &way) {
        while (!way.goes.empty()) {
            ssize_t n = ::send(way.out, way.goes.data(), way.goes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN) {
                way.writes = loop_.watch(way.out, EventLoop::writable, [this, &way](unsigned) { send_on(way); });
                return;
            }
            if (n <= 0)
                break;
            way.goes.erase(0, static_cast<std::size_t>(n));
        }
        way.writes.reset();
    }

    EventLoop &loop_;
    HostIndex listener_, dialer_;
    std::uint16_t port_;
    bool tags_;
    Tamper &tamper_;
    std::unique_ptr<Listener> ear_;
    std::vector<std::unique_ptr<Connection>> connections_;
};

struct Node {
    std::unique_ptr<Mesh> mesh;
    std::vector<Bytes> received;
    std::vector<std::pair<Mesh::Gone, Error>> gone;
};

// Host 0 listens, the others dial it.
// Protects nothing, so that what is tested is the tags.
class BareAuthenticator final : public Authenticator {
  public:
    void prove(Bytes statement, Done done) override { done(std::move(statement)); }
    void verify(Bytes proof, Done done) override { done(std::move(proof)); }
};

struct World {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "test"};
    std::vector<std::unique_ptr<Settings>> settings;
    Tamper tamper = [](HostIndex, HostIndex, std::size_t, Bytes frame) { return std::vector{std::move(frame)}; };
    std::vector<std::unique_ptr<Attacker>> attackers;
    std::vector<std::unique_ptr<Node>> nodes;

    explicit World(const std::vector<std::string> &tags = {"on", "on"}) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        log.set_level(static_cast<LogLevel>(-1)); // it is to complain
        bool any = std::find(tags.begin(), tags.end(), "on") != tags.end();
        auto size = static_cast<HostIndex>(tags.size());
        for (HostIndex h = 0; h < size; ++h) {
            auto &own = *settings.emplace_back(std::make_unique<Settings>());
            own.transport_interfaces = {"lo"};
            own.transport_frame_tags = tags[h];
            Node *node = nodes.emplace_back(std::make_unique<Node>()).get();
            auto mesh = Mesh::create(
                *loop, log, own, "step", h, size, std::make_unique<BareAuthenticator>(),
                {[node](HostIndex, std::uint8_t type, Bytes payload) {
                     assert_int_equal(type, note);
                     node->received.push_back(std::move(payload));
                 },
                 [node](HostIndex, Mesh::Gone how, const Error &why) { node->gone.emplace_back(how, why); },
                 [this, any](HostIndex to, Bytes message, TimePoint, std::function<void(Result<void>)> done) {
                     auto contact = Contact::decode(message);
                     assert_true(contact.ok());
                     attackers.push_back(
                         std::make_unique<Attacker>(*loop, contact->host, to, contact->port, any, tamper));
                     contact->port = attackers.back()->port();
                     contact->addresses = {"127.0.0.1"};
                     loop->post([this, to, message = wire::encode(*contact), done] {
                         nodes[to]->mesh->on_contact(message);
                         done({});
                     });
                 }});
            assert_true(mesh.ok());
            node->mesh = std::move(*mesh);
        }
    }
    Mesh &operator[](HostIndex h) { return *nodes[h]->mesh; }
    void run_until(const std::function<bool()> &done) { pmixhost::run_until(*loop, done, 60s); }
    void connect(HostIndex to = 1) {
        (*this)[0].invite(to);
        run_until([&] { return (*this)[0].connected(to) && (*this)[to].connected(0); });
    }
};

// Host 0 sends notes to host 1; which ones host 1 got before it lost host 0 for a wrong tag.
std::vector<Bytes> notes_until_lost(World &world, Tamper tamper) {
    world.tamper = std::move(tamper);
    world.connect();
    for (const char *text :
         {"the first of the notes", "the second of the notes", "the third of the notes", "the fourth of the notes"})
        world[0].send(1, note, share(text));
    world.run_until([&] { return !world.nodes[1]->gone.empty(); });
    auto [how, why] = world.nodes[1]->gone.front();
    assert_true(how == Mesh::Gone::lost);
    assert_true(why.kind == ErrorKind::denied);
    assert_true(why.text.find("does not have its tag") != std::string::npos);
    assert_true(why.text.find("transport.frame_tags") != std::string::npos);
    // The connection is closed: the other side hears of it.
    world.run_until([&] { return !world.nodes[0]->gone.empty(); });
    return world.nodes[1]->received;
}

// Only frame `number` from host 0 to host 1.
Tamper only(std::size_t number, std::function<std::vector<Bytes>(Bytes frame)> attack) {
    return [number, attack](HostIndex from, HostIndex to, std::size_t n, Bytes frame) {
        if (from == 0 && to == 1 && n == number)
            return attack(std::move(frame));
        return std::vector{std::move(frame)};
    };
}

const std::vector<Bytes> just_the_first = {"the first of the notes"};

void a_flipped_bit_is_seen_wherever_it_is(void **) {
    // Header, its tag, message, its tag.
    std::size_t size = head_size + Bytes("the second of the notes").size() + FrameTags::size;
    for (std::size_t at = 0; at < size; ++at) {
        World world;
        auto received = notes_until_lost(world, only(2, [at, size](Bytes frame) {
                                             assert_int_equal(frame.size(), size);
                                             frame[at] = static_cast<char>(frame[at] ^ (1 << at % 8));
                                             return std::vector{frame};
                                         }));
        assert_true(received == just_the_first);
    }
}

void a_changed_length_is_seen_before_more_is_waited_for(void **) {
    World world;
    auto received = notes_until_lost(world, only(2, [](Bytes frame) {
                                         frame[4] = 0x40; // 1 GiB to come
                                         return std::vector{frame};
                                     }));
    assert_true(received == just_the_first);
}

void a_frame_left_out_is_seen(void **) {
    World world;
    auto received = notes_until_lost(world, only(2, [](Bytes) { return std::vector<Bytes>{}; }));
    assert_true(received == just_the_first);
}

void a_repeated_frame_is_seen(void **) {
    World world;
    auto received = notes_until_lost(world, only(1, [](Bytes frame) { return std::vector{frame, frame}; }));
    assert_true(received == just_the_first);
}

void frames_in_another_order_are_seen(void **) {
    World world;
    Bytes late;
    auto received = notes_until_lost(world, [&](HostIndex from, HostIndex, std::size_t n, Bytes frame) {
        if (from == 0 && n == 2) {
            late = frame;
            return std::vector<Bytes>{};
        }
        return from == 0 && n == 3 ? std::vector{frame, late} : std::vector{frame};
    });
    assert_true(received == just_the_first);
}

void an_added_frame_is_seen(void **) {
    World world;
    auto header = wire::encode_header({.type = note, .length = 5});
    auto received = notes_until_lost(world, only(2, [&](Bytes frame) {
                                         return std::vector{Bytes(header.data(), header.size()) + "added", frame};
                                     }));
    assert_true(received == just_the_first);
}

// A header with its tag is worth nothing before another message.
void a_message_of_another_frame_is_seen(void **) {
    World world;
    Bytes tail;
    auto received = notes_until_lost(world, [&](HostIndex from, HostIndex, std::size_t n, Bytes frame) {
        if (from == 0 && n == 1)
            tail = frame.substr(head_size);
        if (from == 0 && n == 2) {
            auto header = frame.substr(0, head_size);
            return std::vector{header + tail.substr(0, frame.size() - head_size)};
        }
        return std::vector{frame};
    });
    assert_true(received == just_the_first);
}

void a_frame_of_the_other_direction_is_seen(void **) {
    World world;
    Bytes back;
    Tamper tamper = [&](HostIndex from, HostIndex, std::size_t n, Bytes frame) {
        if (from == 1 && n == 2)
            back = frame;
        return std::vector{from == 0 && n == 2 ? back : frame};
    };
    world.tamper = tamper;
    world.connect();
    for (int i = 0; i < 3; ++i) // as many and as long as those that will come
        world[1].send(0, note, share("the second of the notes"));
    world.run_until([&] { return world.nodes[0]->received.size() == 3; });
    assert_true(notes_until_lost(world, tamper) == just_the_first);
}

void a_frame_of_another_connection_is_seen(void **) {
    World world({"on", "on", "on"});
    Bytes other;
    Tamper tamper = [&](HostIndex from, HostIndex to, std::size_t n, Bytes frame) {
        if (from == 0 && to == 2 && n == 2)
            other = frame;
        return std::vector{from == 0 && to == 1 && n == 2 ? other : frame};
    };
    world.tamper = tamper;
    world.connect(2);
    for (int i = 0; i < 3; ++i)
        world[0].send(2, note, share("the second of the notes"));
    world.run_until([&] { return world.nodes[2]->received.size() == 3; });
    assert_true(notes_until_lost(world, tamper) == just_the_first);
    assert_true(world[0].connected(2)); // that one is as it was
}

void a_connection_that_is_played_again_is_seen(void **) {
    // All that host 0 sent to host 1 in one world, after the handshake of another.
    std::vector<Bytes> recorded;
    {
        World world;
        world.tamper = [&](HostIndex from, HostIndex, std::size_t, Bytes frame) {
            if (from == 0)
                recorded.push_back(frame);
            return std::vector{frame};
        };
        world.connect();
        world[0].send(1, note, share("the first of the notes"));
        world.run_until([&] { return !world.nodes[1]->received.empty(); });
    }
    World world;
    auto received = notes_until_lost(world, only(1, [&](Bytes) { return std::vector{recorded[1]}; }));
    assert_true(received.empty());
}

// It would make a loss of what is cut off look like an orderly end.
void a_farewell_cannot_be_forged(void **) {
    World world;
    auto farewell = wire::encode(wire::Farewell{});
    auto header =
        wire::encode_header({.type = wire::Farewell::type, .length = static_cast<std::uint32_t>(farewell.size())});
    auto received = notes_until_lost(
        world,
        only(2, [&](Bytes) { return std::vector{Bytes(header.data(), header.size()) + farewell + Bytes(64, '\0')}; }));
    assert_true(received == just_the_first);
}

// Neither does one that came excuse what comes after it.
void after_a_farewell_tags_are_looked_at_too(void **) {
    World world;
    world.tamper = only(2, [](Bytes frame) {
        frame.back() = static_cast<char>(frame.back() ^ 1);
        return std::vector{frame};
    });
    world.connect();
    world[0].farewell();
    world[0].send(1, note, share("last words"));
    world.run_until([&] { return !world.nodes[1]->gone.empty(); });
    assert_true(world.nodes[1]->gone.front().first == Mesh::Gone::lost);
    assert_true(world.nodes[1]->received.empty());
}

// The authenticator of this test protects nothing: even so, each side keeps to what it wants itself.
void nobody_on_the_wire_switches_tags_off(void **) {
    for (const auto &hosts : {std::vector<std::string>{"on", "off"}, {"off", "on"}, {"on", "on"}}) {
        World world(hosts);
        world.tamper = [](HostIndex, HostIndex, std::size_t n, Bytes frame) {
            if (n > 0)
                return std::vector{frame};
            frame.back() = 0; // wants_tags is the last field of the last field
            return std::vector{frame};
        };
        world.connect();
        // One side has tags and the other not, or they have other keys: no note gets through.
        for (int i = 0; i < 4; ++i) {
            world[0].send(1, note, share("a note that must not arrive"));
            world[1].send(0, note, share("a note that must not arrive"));
        }
        world.run_until([&] { return !world.nodes[0]->gone.empty() || !world.nodes[1]->gone.empty(); });
        for (HostIndex h : {0u, 1u}) {
            if (hosts[h] == "on")
                assert_true(world.nodes[h]->received.empty());
        }
    }
}

Bytes pattern(std::size_t size, std::size_t seed) {
    Bytes bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>((i * 2654435761u + seed) >> 13);
    return bytes;
}

// Whatever each side wants: what is sent arrives, and has tags if one of them wants them.
void messages_of_all_sizes_pass(void **) {
    const std::vector<std::size_t> sizes = {0, 1, 15, 16, 17, 0, 4096, 16u << 20, 3, 65536, (1u << 20) + 7, 0};
    std::vector<SharedBytes> messages;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        messages.push_back(share(pattern(sizes[i], i)));
    for (const auto &hosts : {std::vector<std::string>{"on", "on"}, {"on", "off"}, {"off", "on"}, {"off", "off"}}) {
        bool tagged = hosts[0] == "on" || hosts[1] == "on";
        World world(hosts);
        std::vector<std::size_t> on_the_wire;
        world.tamper = [&](HostIndex from, HostIndex, std::size_t n, Bytes frame) {
            if (from == 0 && n > 0)
                on_the_wire.push_back(frame.size());
            return std::vector{std::move(frame)};
        };
        for (const auto &message : messages) { // the first ones before there is a connection
            world[0].send(1, note, message);
            world[1].send(0, note, message);
        }
        world.run_until([&] {
            return world.nodes[0]->received.size() == sizes.size() && world.nodes[1]->received.size() == sizes.size();
        });
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            for (const auto &node : world.nodes)
                assert_true(node->received[i] == *messages[i]);
            std::size_t extra = !tagged ? 0 : sizes[i] == 0 ? FrameTags::size : 2 * FrameTags::size;
            assert_int_equal(on_the_wire[i], wire::frame_header_size + sizes[i] + extra);
        }
        assert_int_equal(world[0].unsent_bytes(), 0);
        assert_int_equal(world[1].unsent_bytes(), 0);
        world[1].farewell();
        world.nodes[1]->mesh.reset();
        world.run_until([&] { return !world.nodes[0]->gone.empty(); });
        assert_true(world.nodes[0]->gone.front().first == Mesh::Gone::left);
    }
}

// What tags are for.
void without_tags_a_changed_message_is_delivered(void **) {
    World world({"off", "off"});
    world.tamper = only(1, [](Bytes frame) {
        frame.back() = '!';
        return std::vector{frame};
    });
    world.connect();
    world[0].send(1, note, share("a note."));
    world.run_until([&] { return !world.nodes[1]->received.empty(); });
    assert_true(world.nodes[1]->received.front() == "a note!");
}

Bytes hex(const FrameTags::Tag &tag) {
    Bytes text;
    for (unsigned char byte : tag)
        text += fmt::format("{:02x}", byte);
    return text;
}

// The expected values were made with another implementation:
//   openssl mac -cipher AES-256-GCM -macopt hexkey:0001...1f -macopt hexiv:NONCE -in FILE GMAC
void tags_are_those_of_the_standard(void **) {
    FrameKey key;
    for (std::size_t i = 0; i < key.size(); ++i)
        key[i] = static_cast<unsigned char>(i);
    FrameTags whole(key), pieces(key);
    assert_true(hex(whole.of_header("PX\x02\x63....")) == "29a2bf1d136d60f1ccec9489b4277b8b");
    whole.add("the first of the notes");
    assert_true(hex(whole.of_payload()) == "352cd69b79800d716e505354d90e7c26");
    assert_true(hex(whole.of_header("PX\x02\x63....")) == "ef81319bd1e5aa6062fb0d2df6f3afdc");
    // Of any pieces.
    Bytes text = pattern(1000, 7);
    whole.add(text);
    auto expected = whole.of_payload();
    pieces.of_header("");
    pieces.of_header("");
    for (std::size_t at = 0, n = 0; at < text.size(); at += n++)
        pieces.add(std::string_view(text).substr(at, n));
    assert_true(pieces.of_payload() == expected);
    assert_true(FrameTags::same(expected, expected.data()));
}

void keys_depend_on_all_of_both_introductions(void **) {
    auto keys = frame_keys("hello", "welcome");
    assert_true(keys.from_dialer != keys.from_listener);
    for (auto other : {frame_keys("hellp", "welcome"), frame_keys("hello", "welcomf"), frame_keys("hellow", "elcome"),
                       frame_keys("welcome", "hello")}) {
        assert_true(other.from_dialer != keys.from_dialer && other.from_listener != keys.from_listener);
        assert_true(other.from_dialer != keys.from_listener && other.from_listener != keys.from_dialer);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_is_seen_wherever_it_is),
        cmocka_unit_test(a_changed_length_is_seen_before_more_is_waited_for),
        cmocka_unit_test(a_frame_left_out_is_seen),
        cmocka_unit_test(a_repeated_frame_is_seen),
        cmocka_unit_test(frames_in_another_order_are_seen),
        cmocka_unit_test(an_added_frame_is_seen),
        cmocka_unit_test(a_message_of_another_frame_is_seen),
        cmocka_unit_test(a_frame_of_the_other_direction_is_seen),
        cmocka_unit_test(a_frame_of_another_connection_is_seen),
        cmocka_unit_test(a_connection_that_is_played_again_is_seen),
        cmocka_unit_test(a_farewell_cannot_be_forged),
        cmocka_unit_test(after_a_farewell_tags_are_looked_at_too),
        cmocka_unit_test(nobody_on_the_wire_switches_tags_off),
        cmocka_unit_test(messages_of_all_sizes_pass),
        cmocka_unit_test(without_tags_a_changed_message_is_delivered),
        cmocka_unit_test(tags_are_those_of_the_standard),
        cmocka_unit_test(keys_depend_on_all_of_both_introductions),
    };
    return cmocka_run_group_tests_name("frame tags", tests, nullptr, nullptr);
}
