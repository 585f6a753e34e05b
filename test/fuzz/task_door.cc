// What a process of the user writes to the task door instead of a request.
#include "server-glue/tasks/task_door.h"
#include "test/fuzz/fuzz.h"

#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace pmixhost;

int fuzz_rounds() {
    return 2'000;
}

std::vector<std::string> fuzz_seeds() {
    // the magic, the rank and the streams, as contrib/doc/task-door.md has it
    return {std::string("PMH2\0\0\0\3\0\0\0\0", 12),
            std::string("PMH2\xff\xff\xff\xff\xff\xff\xff\xff", 12),
            std::string("PMH2\0\0\0\3", 8),
            "PMH2",
            "",
            std::string("PMH2\0\0\0\1\0\0\0\6more", 16)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    auto created = EventLoop::create([](const std::string &) { std::abort(); });
    fuzz_expect(created.ok());
    EventLoop *loop = created->get();
    Log log(-1, LogLevel::error, "");
    UniqueFd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX; // without a name: the kernel picks one
    fuzz_expect(::bind(door.get(), reinterpret_cast<sockaddr *>(&address), sizeof(sa_family_t)) == 0 &&
                ::listen(door.get(), 8) == 0);
    socklen_t length = sizeof address;
    getsockname(door.get(), reinterpret_cast<sockaddr *>(&address), &length);
    UniqueFd visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    fuzz_expect(::connect(visitor.get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
    [[maybe_unused]] ssize_t written = ::send(visitor.get(), data, std::min<std::size_t>(size, 4096), MSG_NOSIGNAL);
    ::shutdown(visitor.get(), SHUT_WR);

    int knocks = 0;
    TaskDoor task_door(*loop, log, std::move(door), getuid(), [&](TaskDoor::Knock knock) {
        ++knocks;
        fuzz_expect(knock.pid == getpid());
        knock.answer(std::vector<std::string>{"A=1"});
    });
    // The door closes the connection after the answer, or at once: its end is the end of this
    // input.
    auto watch = loop->watch(visitor.get(), EventLoop::readable, [&](unsigned) {
        char buffer[256];
        ssize_t count = ::recv(visitor.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN))
            loop->stop();
    });
    if (!loop->run())
        __builtin_trap();
    fuzz_expect(knocks == (size >= 12 && std::memcmp(data, "PMH2", 4) == 0 ? 1 : 0));
    return 0;
}
