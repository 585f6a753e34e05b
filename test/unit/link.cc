// One connection with frames: they come whole however they are cut, a length that is only said takes no memory, what
// comes is not copied again and again, and the loop wakes when the last of what was sent has gone.
#include "common/transport/link.h"

#include "common/base/fd_pair.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <random>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test/unit/check.h"
#include "test/unit/counted_memory.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t note = 99; // a type that only this test knows

FrameKey key_of(unsigned char byte) {
    FrameKey key;
    key.fill(byte);
    return key;
}

// A link, whose other end writes bytes by hand.
struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    UniqueFd far;
    std::unique_ptr<Link> link;
    std::vector<Bytes> came;
    std::string closed; // why

    explicit World(bool tags) {
        auto ends = make_socket_pair(SOCK_STREAM, SOCK_NONBLOCK);
        assert_true(ends.ok());
        far = std::move(ends->second);
        link = std::make_unique<Link>(*loop, std::move(ends->first), 20s,
                                      Link::Callbacks{[this](std::uint8_t type, Bytes payload) {
                                                          assert_int_equal(type, note);
                                                          came.push_back(std::move(payload));
                                                      },
                                                      [this](Error why) { closed = why.text; }});
        link->set_limit(wire::frame_limit);
        if (tags)
            link->set_keys(key_of('n'), key_of('f'));
    }
    // Writes all of it, in pieces whose sizes `size` gives, as far as the link reads.
    void write(const Bytes &bytes, const std::function<std::size_t()> &size) {
        std::size_t done = 0;
        run_until(*loop, [&] {
            while (done < bytes.size()) {
                ssize_t n = ::send(far.get(), bytes.data() + done, std::min(size(), bytes.size() - done), MSG_NOSIGNAL);
                if (n < 0)
                    return false;
                done += static_cast<std::size_t>(n);
            }
            return true;
        });
    }
};

// A frame as it is on the wire; with its tags, where there are some.
Bytes frame(const Bytes &payload, FrameTags *tags) {
    auto header = wire::encode_header({.type = note, .length = static_cast<std::uint32_t>(payload.size())});
    Bytes out(header.data(), header.size());
    if (!tags)
        return out + payload;
    auto head_tag = tags->of_header(out);
    out.append(head_tag.data(), head_tag.size());
    if (payload.empty())
        return out;
    tags->add(payload);
    auto tag = tags->of_payload();
    return out + payload + Bytes(tag.data(), tag.size());
}

void frames_come_whole_however_they_are_cut(void **) {
    std::minstd_rand chance(1);
    std::vector<Bytes> payloads;
    for (std::size_t size :
         {0, 1, 7, 300, 65'512, 65'536, 65'537, 200'000, 262'144, 1 << 20, (1 << 20) + 1, 3 << 20, 5}) {
        payloads.emplace_back(size, '\0');
        std::generate(payloads.back().begin(), payloads.back().end(), [&] { return static_cast<char>(chance()); });
    }
    for (bool has_tags : {false, true}) {
        for (std::size_t most : {1000, 70'000, 10'000'000}) {
            World world(has_tags);
            FrameTags tags(key_of('f'));
            Bytes all;
            for (const auto &payload : payloads)
                all += frame(payload, has_tags ? &tags : nullptr);
            world.write(all, [&] { return std::uniform_int_distribution<std::size_t>(1, most)(chance); });
            run_until(*world.loop, [&] { return world.came.size() == payloads.size() || !world.closed.empty(); });
            assert_string_equal(world.closed.c_str(), "");
            assert_true(world.came == payloads);
        }
    }
}

void a_changed_byte_of_a_large_message_is_seen(void **) {
    for (std::size_t place : {0u, 1u << 20, (3u << 20) - 1}) {
        World world(true);
        FrameTags tags(key_of('f'));
        Bytes payload(3u << 20, 'x');
        Bytes all = frame(payload, &tags);
        all[wire::frame_header_size + FrameTags::size + place] ^= 1;
        world.write(all + Bytes(100, 'y'), [] { return std::size_t(100'000); });
        run_until(*world.loop, [&] { return !world.closed.empty(); });
        assert_true(world.came.empty());
        assert_non_null(std::strstr(world.closed.c_str(), "the message of frame 1 does not have its tag"));
    }
}

void a_length_alone_takes_no_memory(void **) {
    World world(false);
    auto header = wire::encode_header({.type = note, .length = wire::frame_limit});
    largest_taken = 0;
    world.write(Bytes(header.data(), header.size()) + Bytes(3u << 20, 'x'), [] { return std::size_t(1 << 20); });
    run_until(*world.loop, [&] {
        int left = 0;
        return ::ioctl(world.far.get(), SIOCOUTQ, &left) == 0 && left == 0; // the link has read all
    });
    assert_true(largest_taken < (9u << 20)); // twice of what has come, and some
    world.far.reset();
    run_until(*world.loop, [&] { return !world.closed.empty(); });
    assert_true(world.came.empty());
}

// No string grows behind the bytes that come.
void a_message_is_received_where_it_stays(void **) {
    World world(false);
    const Bytes all = frame(Bytes(1u << 20, 'x'), nullptr);
    taken_bytes = 0;
    world.write(all, [] { return std::size_t(100'000); });
    run_until(*world.loop, [&] { return world.came.size() == 1; });
    assert_true(taken_bytes < (3u << 19));
}

// Two ends of a TCP connection on the loopback interface, the second with little room.
std::pair<UniqueFd, UniqueFd> tcp_pair() {
    UniqueFd ear(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int room = 4096;
    setsockopt(ear.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(::bind(ear.get(), reinterpret_cast<sockaddr *>(&address), length), 0);
    assert_int_equal(::listen(ear.get(), 1), 0);
    getsockname(ear.get(), reinterpret_cast<sockaddr *>(&address), &length);
    UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    assert_int_equal(::connect(near.get(), reinterpret_cast<sockaddr *>(&address), length), 0);
    UniqueFd far(::accept4(ear.get(), nullptr, nullptr, SOCK_CLOEXEC));
    assert_int_equal(::fcntl(near.get(), F_SETFL, O_NONBLOCK), 0);
    return {std::move(near), std::move(far)};
}

// Whoever asks before the loop waits hears of it then, and the loop does not turn meanwhile.
void the_loop_wakes_when_the_kernel_has_sent_the_last(void **) {
    auto loop = make_loop();
    auto ends = tcp_pair();
    const UniqueFd &far = ends.second;
    Link link(
        *loop, std::move(ends.first), 100s,
        {[](std::uint8_t, Bytes) { fail_msg("a message"); }, [](Error why) { fail_msg("%s", why.text.c_str()); }});
    assert_false(link.has_unsent());
    const Bytes payload(4096, 'x');
    std::size_t sent = 0;
    for (; link.unsent_bytes() == 0; sent += wire::frame_header_size + payload.size())
        link.send(note, share(Bytes(payload)));
    assert_int_equal(link.queued_bytes(), 0); // the kernel has it all
    int turns = 0;
    bool all_gone = false;
    auto look = loop->before_waiting([&] {
        ++turns;
        all_gone = !link.has_unsent();
        if (all_gone)
            loop->stop();
    });
    auto pause = loop->after(100ms, [&] { loop->stop(); });
    assert_true(loop->run().ok());
    assert_false(all_gone);
    assert_true(turns < 10);
    pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        char bytes[1000];
        ssize_t n = 1;
        for (std::size_t come = 0; come < sent && n > 0; come += static_cast<std::size_t>(n))
            n = std::max<ssize_t>(::read(far.get(), bytes, sizeof bytes), 0);
        _exit(0);
    }
    auto begun = loop->now();
    pause = loop->after(20s, [&] { loop->stop(); });
    assert_true(loop->run().ok());
    look.reset();
    assert_true(all_gone && loop->now() - begun < 15s);
    assert_int_equal(waitpid(reader, nullptr, 0), reader);
    // And what is sent from now on goes as before.
    const std::size_t more = 64;
    for (std::size_t i = 0; i < more; ++i)
        link.send(note, share(Bytes(payload)));
    for (std::size_t come = 0; come < more * (wire::frame_header_size + payload.size());) {
        run_until(*loop, [&] {
            char bytes[65536];
            ssize_t n = ::recv(far.get(), bytes, sizeof bytes, MSG_DONTWAIT);
            come += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
            return n > 0;
        });
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole_however_they_are_cut),
        cmocka_unit_test(a_changed_byte_of_a_large_message_is_seen),
        cmocka_unit_test(a_length_alone_takes_no_memory),
        cmocka_unit_test(a_message_is_received_where_it_stays),
        cmocka_unit_test(the_loop_wakes_when_the_kernel_has_sent_the_last),
    };
    return cmocka_run_group_tests_name("link", tests, nullptr, nullptr);
}
