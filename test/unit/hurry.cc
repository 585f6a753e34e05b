// What strangers send along keeps nobody who gives it up in a hurry, however long its sender would have it.
#include "common/base/hurry.h"

#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"

#include <chrono>
#include <sys/socket.h>
#include <vector>

#include "test/unit/check.h"
#include "test/unit/lingering.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// A connection of a stranger who has sent it along.
struct Stranger {
    UniqueFd theirs;
    StrangerFd ours;
    Stranger() {
        auto ends = make_socket_pair(SOCK_SEQPACKET, SOCK_NONBLOCK);
        assert_true(ends.ok());
        theirs = std::move(ends->first);
        ours = std::move(ends->second);
    }
    void send(Lingering &lingering) {
        assert_true(send_descriptor(theirs.get(), "word", lingering.end.get()).ok());
        lingering.end.reset(); // the message has another one, which is the last
    }
};

template <typename Act> void takes_no_time(Act act) {
    auto begun = std::chrono::steady_clock::now();
    act();
    assert_true(std::chrono::steady_clock::now() - begun < 5s);
}

void reading_does_not_wait(void **) {
    Lingering lingering;
    Stranger stranger;
    stranger.send(lingering);
    takes_no_time([&] {
        Hurry hurry;
        char bytes[16];
        assert_int_equal(::recv(stranger.ours.get(), bytes, sizeof bytes, 0), 4);
    });
}

void closing_does_not_wait(void **) {
    std::vector<Lingering> several(3);
    Stranger stranger;
    for (auto &each : several)
        stranger.send(each);
    takes_no_time([&] { stranger.ours.reset(); });
    assert_false(static_cast<bool>(stranger.ours));
}

void it_may_be_there_twice(void **) {
    Hurry one;
    { Hurry other; }
    closing_does_not_wait(nullptr);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(reading_does_not_wait),
        cmocka_unit_test(closing_does_not_wait),
        cmocka_unit_test(it_may_be_there_twice),
    };
    return cmocka_run_group_tests_name("hurry", tests, nullptr, nullptr);
}
