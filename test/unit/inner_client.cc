// The daemon as a client of its own library: what it says, and what becomes of the answer.
#include "server-glue/library/inner_client.h"
#include "server-glue/guard/hello.h"

#include <sys/socket.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop;
    UniqueFd library;
    std::optional<bool> taken;
    std::unique_ptr<InnerClient> client;

    explicit World(Duration patience = 10s) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        auto started = InnerClient::start(
            *loop, "slurm.1.2", 7,
            [this](UniqueFd fd) {
                library = std::move(fd);
                return Result<void>();
            },
            patience,
            [this](Result<void> result) {
                assert_false(taken.has_value()); // once
                taken = result.ok();
                loop->stop();
            });
        assert_true(started.ok());
        client = std::move(*started);
    }
    std::string heard() {
        char bytes[4096];
        ssize_t n = recv(library.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        return std::string(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    void say(const std::string &bytes) {
        assert_int_equal(send(library.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
    }
};

void it_speaks_as_a_client(void **) {
    World world;
    std::string message = world.heard();
    auto size = hello_size(message);
    assert_true(size.ok() && *size == message.size());
    auto hello = parse_hello(message);
    assert_true(hello.ok());
    assert_string_equal(hello->nspace.c_str(), "slurm.1.2");
    assert_int_equal(hello->rank, 7);
    assert_true(hello->kind == HelloKind::client);
    assert_true(admissible(*hello, geteuid(), ProcessOwner{geteuid(), getegid()}, true).ok());
}

void it_is_taken_when_the_whole_answer_is_there(void **) {
    World world;
    world.say(std::string(5, '\0'));
    world.say(std::string(3, '\0') + "and events");
    assert_true(world.loop->run().ok());
    assert_true(world.taken == true);
    world.say("more, which nobody wants");
    world.loop->post([&] { world.loop->stop(); });
    assert_true(world.loop->run().ok());
}

void it_is_refused(void **) {
    World world;
    world.say(std::string("\xff\xff\xff\xe1") + std::string(4, '\0'));
    assert_true(world.loop->run().ok());
    assert_true(world.taken == false);
}

void the_library_closes(void **) {
    World world;
    world.library.reset();
    assert_true(world.loop->run().ok());
    assert_true(world.taken == false);
}

void the_library_is_silent(void **) {
    World world(1ms);
    assert_true(world.loop->run().ok());
    assert_true(world.taken == false);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_speaks_as_a_client), cmocka_unit_test(it_is_taken_when_the_whole_answer_is_there),
        cmocka_unit_test(it_is_refused),         cmocka_unit_test(the_library_closes),
        cmocka_unit_test(the_library_is_silent),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
