// See interrupt.h.
#include "tools/cli/interrupt.h"

#include <csignal>
#include <iterator>

namespace pmixhost {

namespace {

volatile sig_atomic_t interrupted = 0;
void on_interrupt(int) {
    interrupted = 1;
}

constexpr int interrupt_signals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before_interrupt[std::size(interrupt_signals)];

} // namespace

void await_interrupt() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    for (std::size_t i = 0; i < std::size(interrupt_signals); ++i)
        ::sigaction(interrupt_signals[i], &action, &before_interrupt[i]);
}

void interrupt_as_before() {
    for (std::size_t i = 0; i < std::size(interrupt_signals); ++i)
        ::sigaction(interrupt_signals[i], &before_interrupt[i], nullptr);
}

bool was_interrupted() {
    return interrupted != 0;
}

} // namespace pmixhost
