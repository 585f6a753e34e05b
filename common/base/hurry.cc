// See hurry.h.
#include "common/base/hurry.h"

#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

static void do_nothing(int) {}

Hurry::Hurry() {
    const int number = SIGRTMIN + 3;
    struct sigaction action {};
    action.sa_handler = do_nothing; // one that is ignored would end no wait
    sigemptyset(&action.sa_mask);
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, number);
    if (::sigaction(number, &action, nullptr) != 0 || ::pthread_sigmask(SIG_UNBLOCK, &wanted, nullptr) != 0)
        return;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
        return;
    is_set_ = true;
    itimerspec when{};
    when.it_value.tv_nsec = when.it_interval.tv_nsec = std::chrono::nanoseconds(patience).count();
    (void)::timer_settime(timer_, 0, &when, nullptr);
}

Hurry::~Hurry() {
    if (is_set_)
        ::timer_delete(timer_);
}

} // namespace pmixhost
