// The control channel of the local backend: what is sent arrives, and nothing that a broken or
// hostile other side sends does more than close it.
#include "common/local/local_control.h"

#include "test/unit/check.h"

#include <random>
#include <sys/socket.h>

using namespace pmixhost;
using namespace pmixhost::local;
using namespace std::string_literals;

namespace {

template <typename Message> Message round_trip(Message message) {
    ControlDecoder decoder;
    decoder.add(encode_control(std::move(message)));
    auto decoded = decoder.next();
    assert_true(decoded.ok() && decoded->has_value());
    auto *same = std::get_if<Message>(&**decoded);
    assert_non_null(same);
    auto rest = decoder.next();
    assert_true(rest.ok() && !rest->has_value());
    return *same;
}

void test_messages_arrive_as_sent(void **) {
    auto started = round_trip(TaskStarted{7, 4711});
    assert_int_equal(started.rank, 7);
    assert_int_equal(started.pid, 4711);
    assert_int_equal(round_trip(TaskEnded{3, 0x8b}).wait_status, 0x8b);
    auto not_started = round_trip(TaskNotStarted{1, 2, "no such file"});
    assert_int_equal(not_started.exit_code, 2);
    assert_string_equal(not_started.text.c_str(), "no such file");
    assert_int_equal(round_trip(EndStep{9, "abort"}).exit_code, 9);
    assert_string_equal(round_trip(DaemonFailed{"why"}).text.c_str(), "why");
    auto contact = round_trip(Contact{5, "a\0b"s});
    assert_int_equal(contact.host, 5);
    assert_int_equal(contact.message.size(), 3);
    auto signal = round_trip(SignalTasks{15, {1, 2, 70000}, 0});
    assert_int_equal(signal.signal, 15);
    assert_int_equal(signal.ranks.size(), 3);
    assert_int_equal(signal.ranks[2], 70000);
    assert_false(signal.ends);
    assert_true(round_trip(SignalTasks{1, {}, 1}).ends);
    round_trip(Terminate{});
}

void test_bytes_are_those_of_the_document(void **) {
    Bytes bytes = encode_control(TaskStarted{2, 0x01020304});
    assert_int_equal(bytes.size(), 16);
    assert_memory_equal(bytes.data(), "PX\x02\x01\0\0\0\x08\0\0\0\x02\x01\x02\x03\x04", 16);
    bytes = encode_control(SignalTasks{9, {3}, 1});
    assert_int_equal(bytes.size(), 21);
    assert_memory_equal(bytes.data(), "PX\x02\x07\0\0\0\x0d\0\0\0\x09\0\0\0\x01\0\0\0\x03\x01", 21);
}

void test_pieces_of_any_size(void **) {
    Bytes bytes = encode_control(EndStep{1, "text"}) + encode_control(TaskEnded{1, 2});
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        ControlDecoder decoder;
        int messages = 0;
        for (auto part : {bytes.substr(0, cut), bytes.substr(cut)}) {
            decoder.add(part);
            for (auto next = decoder.next(); next->has_value(); next = decoder.next())
                ++messages;
        }
        assert_int_equal(messages, 2);
    }
}

void test_what_is_too_long_is_cut(void **) {
    assert_int_equal(round_trip(EndStep{1, Bytes(1 << 20, 'x')}).text.size(), 4096);
    assert_int_equal(round_trip(DaemonFailed{Bytes(1 << 20, 'x')}).text.size(), 4096);
    assert_int_equal(round_trip(Contact{1, Bytes(1 << 20, 'x')}).message.size(), contact_limit);
    assert_int_equal(round_trip(SignalTasks{9, std::vector<Rank>(1 << 20), 0}).ranks.size(), 0);
}

void test_hostile_frames_are_errors(void **) {
    const std::string hostile[] = {
        "XX\x02\x01\0\0\0\x08\0\0\0\x02\x01\x02\x03\x04"s,  // magic
        "PX\x01\x01\0\0\0\x08\0\0\0\x02\x01\x02\x03\x04"s,  // version
        "PX\x02\0\0\0\0\0"s,                                // no type 0
        "PX\x02\x09\0\0\0\0"s,                              // a Launched without its body
        "PX\x02\xff\0\0\0\0"s,                              // no type 255
        "PX\x02\x04\xff\xff\xff\xff"s,                      // 4 GiB to come
        "PX\x02\x04\0\x01\0\x01"s,                          // one over the limit
        "PX\x02\x01\0\0\0\0"s,                              // a body that is too short
        "PX\x02\x01\0\0\0\x07\0\0\0\x02\x01\x02\x03"s,      // the same
        "PX\x02\x01\0\0\0\x09\0\0\0\x02\x01\x02\x03\x04!"s, // too long
        "PX\x02\x05\0\0\0\x04\xff\xff\xff\xff"s,            // a text beyond its message
        "PX\x02\x05\0\0\0\x05\0\0\0\0!"s,                   // bytes after the text
        "PX\x02\x07\0\0\0\x08\0\0\0\x09\xff\xff\xff\xff"s,  // a list beyond its message
        "PX\x02\x07\0\0\0\x0a\0\0\0\x09\0\0\0\x02\0\0"s,    // the same
        "PX\x02\x08\0\0\0\0"s,                              // a Terminate without its body
    };
    for (const auto &bytes : hostile) {
        ControlDecoder decoder;
        decoder.add(bytes);
        auto next = decoder.next();
        if (next.ok())
            print_error("%s is taken\n", bytes.c_str());
        assert_false(next.ok());
    }
}

void test_noise_never_does_harm(void **) {
    std::mt19937 random(20240611);
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes = encode_control(SignalTasks{9, {1, 2, 3}, 0}) + encode_control(Contact{1, "abc"}) +
                      encode_control(EndStep{1, "text"});
        for (unsigned change = random() % 4 + 1; change > 0; --change)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        bytes.resize(random() % (bytes.size() + 1));
        ControlDecoder decoder;
        decoder.add(bytes);
        int messages = 0;
        for (auto next = decoder.next(); next.ok() && next->has_value(); next = decoder.next())
            ++messages;
        assert_in_range(messages, 0, 6);
    }
}

// --- the channel ---------------------------------------------------------------------------------

struct Pair {
    std::unique_ptr<EventLoop> loop;
    UniqueFd ours, theirs;
    Pair() {
        auto made = EventLoop::create([](const std::string &what) { print_error("%s\n", what.c_str()); });
        loop = std::move(*made);
        int fds[2];
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
        ours.reset(fds[0]);
        theirs.reset(fds[1]);
    }
    void run() {
        auto limit = loop->after(std::chrono::seconds(20), [this] {
            print_error("nothing happened\n");
            loop->stop();
        });
        assert_true(loop->run().ok());
    }
};

void test_what_was_sent_before_the_close_arrives(void **) {
    Pair pair;
    int contacts = 0;
    bool closed = false;
    ControlChannel reader(*pair.loop, std::move(pair.ours),
                          {[&](ControlMessage m) { contacts += std::holds_alternative<Contact>(m); },
                           [&](std::string why) {
                               closed = why.empty();
                               pair.loop->stop();
                           }});
    // More than a socket holds, so that the writer has to wait for the reader.
    constexpr int count = 500;
    auto writer = std::make_unique<ControlChannel>(*pair.loop, std::move(pair.theirs),
                                                   ControlChannel::Events{[](ControlMessage) {}, [](std::string) {}});
    int sent = 0;
    std::function<void()> send_more = [&] {
        for (int i = 0; i < 50 && sent < count; ++i, ++sent)
            assert_true(writer->send(Contact{0, Bytes(contact_limit, 'x')}));
        if (sent < count || contacts < count)
            pair.loop->post(send_more);
        else
            writer.reset();
    };
    pair.loop->post(send_more);
    pair.run();
    assert_int_equal(contacts, count);
    assert_true(closed);
}

void test_garbage_closes(void **) {
    Pair pair;
    std::string why;
    ControlChannel reader(*pair.loop, std::move(pair.ours),
                          {[&](ControlMessage) { fail(); },
                           [&](std::string text) {
                               why = std::move(text);
                               pair.loop->stop();
                           }});
    assert_int_equal(::send(pair.theirs.get(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
    pair.run();
    assert_non_null(strstr(why.c_str(), "magic"));
    assert_false(reader.open());
    assert_false(reader.send(Terminate{}));
}

void test_a_reader_that_never_reads_is_given_up(void **) {
    Pair pair;
    std::string why;
    ControlChannel writer(*pair.loop, std::move(pair.ours),
                          {[](ControlMessage) {},
                           [&](std::string text) {
                               why = std::move(text);
                               pair.loop->stop();
                           }});
    while (writer.send(Contact{0, Bytes(contact_limit, 'x')})) {
    }
    assert_true(writer.open()); // told from the loop, not from within send()
    pair.run();
    assert_false(why.empty());
}

void test_channel_may_die_in_its_own_callback(void **) {
    Pair pair;
    std::unique_ptr<ControlChannel> reader;
    int messages = 0;
    reader = std::make_unique<ControlChannel>(*pair.loop, std::move(pair.ours),
                                              ControlChannel::Events{[&](ControlMessage) {
                                                                         ++messages;
                                                                         reader.reset();
                                                                         pair.loop->stop();
                                                                     },
                                                                     [](std::string) { fail(); }});
    Bytes two = encode_control(Terminate{}) + encode_control(Terminate{});
    assert_int_equal(::send(pair.theirs.get(), two.data(), two.size(), 0), two.size());
    pair.run();
    assert_int_equal(messages, 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_as_sent),
        cmocka_unit_test(test_bytes_are_those_of_the_document),
        cmocka_unit_test(test_pieces_of_any_size),
        cmocka_unit_test(test_what_is_too_long_is_cut),
        cmocka_unit_test(test_hostile_frames_are_errors),
        cmocka_unit_test(test_noise_never_does_harm),
        cmocka_unit_test(test_what_was_sent_before_the_close_arrives),
        cmocka_unit_test(test_garbage_closes),
        cmocka_unit_test(test_a_reader_that_never_reads_is_given_up),
        cmocka_unit_test(test_channel_may_die_in_its_own_callback),
    };
    return cmocka_run_group_tests_name("local_control", tests, nullptr, nullptr);
}
