// See interrupt.h.
#include "tools/terminal/interrupt.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

volatile sig_atomic_t interrupted = 0, told_to_end = 0;
int wake[2] = {-1, -1}; // a pipe
void on_interrupt(int signal) {
    int before = errno;
    interrupted = 1;
    if (signal != SIGINT)
        told_to_end = 1;
    [[maybe_unused]] ssize_t written = ::write(wake[1], "", 1); // a full one wakes as well
    errno = before;
}

constexpr int interrupt_signals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before_interrupt[std::size(interrupt_signals)];
bool awaits_interrupt = false;

} // namespace

void await_interrupt() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    if (std::exchange(awaits_interrupt, true))
        return; // what was before is known
    if (wake[0] < 0 && ::pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        wake[0] = wake[1] = -1;
    for (std::size_t i = 0; i < std::size(interrupt_signals); ++i) {
        ::sigaction(interrupt_signals[i], nullptr, &before_interrupt[i]);
        if (interrupt_signals[i] != SIGHUP || before_interrupt[i].sa_handler != SIG_IGN)
            ::sigaction(interrupt_signals[i], &action, nullptr);
    }
}

void interrupt_as_before() {
    awaits_interrupt = false;
    for (std::size_t i = 0; i < std::size(interrupt_signals); ++i)
        ::sigaction(interrupt_signals[i], &before_interrupt[i], nullptr);
}

bool was_interrupted() {
    return interrupted != 0;
}

bool is_told_to_end() {
    return told_to_end != 0;
}

int interrupt_fd() {
    return wake[0];
}

bool take_interrupt() {
    for (char bytes[64]; ::read(wake[0], bytes, sizeof bytes) > 0;)
        ;
    if (interrupted == 0)
        return false; // one that comes now has a byte of its own
    interrupted = 0;
    return true;
}

} // namespace pmixhost
