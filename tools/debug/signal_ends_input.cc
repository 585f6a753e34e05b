// See signal_ends_input.h.
#include "tools/debug/signal_ends_input.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// Lock-free, so that a handler may use them.
struct Files {
    std::atomic<int> in = -1, nothing = -1;
};
static_assert(std::atomic<int>::is_always_lock_free);
Files &files() {
    static Files both;
    return both;
}

void end_input(int) {
    int before = errno;
    if (files().nothing >= 0)
        ::dup2(files().nothing, files().in);
    errno = before;
}

} // namespace

SignalEndsInput::SignalEndsInput(int in) {
    files().in = in;
    files().nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct sigaction action {};
    action.sa_handler = end_input;
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(signal, &action, nullptr);
}

SignalEndsInput::~SignalEndsInput() {
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, SIG_DFL);
    if (int nothing = files().nothing.exchange(-1); nothing >= 0)
        ::close(nothing);
}

} // namespace pmixhost
