// The tasks' output on its way to the user: lines, labels, and a user who reads slowly or not at
// all.
#include "tools/run/output.h"

#include "test/unit/check.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

using namespace pmixhost;

namespace {

struct Pipe {
    UniqueFd read, write;
    Pipe() {
        int ends[2];
        assert_int_equal(::pipe2(ends, O_CLOEXEC), 0);
        read.reset(ends[0]);
        write.reset(ends[1]);
    }
};

// A task's pipe, the sink into the user's pipe, and the loop between them.
struct World {
    std::unique_ptr<EventLoop> loop;
    Pipe task, user;
    int rooms = 0, breaks = 0;
    std::unique_ptr<OutputSink> sink;
    std::unique_ptr<OutputStream> stream;

    explicit World(OutputStream::Style style) {
        auto made = EventLoop::create([](const std::string &what) { print_error("%s\n", what.c_str()); });
        loop = std::move(*made);
        sink = std::make_unique<OutputSink>(
            *loop, user.write.get(),
            [this] {
                ++rooms;
                stream->resume();
            },
            [this](int why) {
                ++breaks;
                assert_int_equal(why, EPIPE);
            });
        stream = std::make_unique<OutputStream>(*loop, std::move(task.read), *sink, std::move(style));
    }
    void put(std::string_view text) {
        assert_int_equal(::write(task.write.get(), text.data(), text.size()), text.size());
    }
    // Lets everything that can happen now happen: some rounds of the loop, each of which sees what
    // is ready.
    void settle() {
        for (int round = 0; round < 8; ++round) {
            loop->stop();
            assert_true(loop->run().ok());
        }
    }
    std::string got() {
        ::fcntl(user.read.get(), F_SETFL, O_NONBLOCK);
        std::string text;
        char buffer[65536];
        for (ssize_t n; (n = ::read(user.read.get(), buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        return text;
    }
};

std::string through(OutputStream::Style style, std::vector<std::string> pieces) {
    World world(std::move(style));
    for (const auto &piece : pieces) {
        world.put(piece);
        world.settle();
    }
    world.task.write.reset();
    world.settle();
    return world.got();
}

void test_lines_wait_for_their_end(void **) {
    World world({});
    world.put("one\ntw");
    world.settle();
    assert_string_equal(world.got().c_str(), "one\n");
    world.put("o\n");
    world.settle();
    assert_string_equal(world.got().c_str(), "two\n");
}

void test_labels(void **) {
    OutputStream::Style label{"7: ", false};
    assert_string_equal(through(label, {"a\n\nb"}).c_str(), "7: a\n7: \n7: b\n");
    assert_string_equal(through(label, {"a", "b", "c\n"}).c_str(), "7: abc\n");
    assert_string_equal(through(label, {}).c_str(), "");
}

void test_without_labels_nothing_is_added(void **) {
    assert_string_equal(through({}, {"a\n\nb"}).c_str(), "a\n\nb");
    assert_string_equal(through({"", true}, {"a", "b\n", "c"}).c_str(), "ab\nc");
    std::string long_line(300'000, 'x');
    World world({});
    std::string got;
    for (int i = 0; i < 10; ++i) {
        world.put(std::string_view(long_line).substr(0, 30'000));
        world.settle();
        got += world.got();
    }
    world.task.write.reset();
    world.settle();
    assert_true(got + world.got() == long_line);
}

void test_unbuffered_pieces_are_lines_where_there_are_labels(void **) {
    OutputStream::Style style{"7: ", true};
    assert_string_equal(through(style, {"a", "b\n"}).c_str(), "7: a\n7: b\n");
    assert_string_equal(through(style, {"a", "\n", "b\n"}).c_str(), "7: a\n7: b\n");
}

// What a slow user does not take stops the task, and all of it arrives in the end.
void test_a_slow_reader_stops_the_writer(void **) {
    World world({});
    ::fcntl(world.task.write.get(), F_SETFL, O_NONBLOCK);
    const std::string line(99, 'x');
    std::size_t sent = 0, received = 0;
    auto fill = [&] {
        for (int idle = 0; idle < 2;) {
            std::string text = line + "\n";
            ssize_t n = ::write(world.task.write.get(), text.data(), text.size());
            if (n > 0) {
                sent += static_cast<std::size_t>(n);
                idle = 0;
            } else {
                world.settle();
                ++idle;
            }
        }
    };
    fill();
    assert_in_range(sent, 1u << 20, 4u << 20); // a bounded amount was taken
    for (int round = 0; round < 200 && received < (6u << 20); ++round) {
        received += world.got().size();
        world.settle();
        if (world.rooms > 0)
            fill();
    }
    assert_true(world.rooms > 0);
    assert_true(received >= (6u << 20));
}

void test_a_reader_that_has_gone(void **) {
    World world({});
    world.user.read.reset();
    world.put("one\n");
    world.settle();
    assert_int_equal(world.breaks, 1);
    bool empty = false;
    world.sink->when_empty([&] { empty = true; });
    world.put("two\n");
    world.settle();
    assert_true(empty);
    assert_int_equal(world.breaks, 1);
}

void test_drain_takes_what_is_there(void **) {
    World world({"7: ", false});
    world.put("a\nb");
    world.stream->drain(); // although the writer is still open
    world.settle();
    assert_string_equal(world.got().c_str(), "7: a\n7: b\n");
}

} // namespace

int main() {
    ::signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_wait_for_their_end),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_without_labels_nothing_is_added),
        cmocka_unit_test(test_unbuffered_pieces_are_lines_where_there_are_labels),
        cmocka_unit_test(test_a_slow_reader_stops_the_writer),
        cmocka_unit_test(test_a_reader_that_has_gone),
        cmocka_unit_test(test_drain_takes_what_is_there),
    };
    return cmocka_run_group_tests_name("local_output", tests, nullptr, nullptr);
}
