// Commands that run until somebody ends them (ps -w, output, attach) end in order: what they changed of the terminal is
// put back. A signal handler can tell only a global.
#pragma once

namespace pmixhost {

// From now on SIGINT, SIGTERM and SIGHUP end waits of this process (EINTR) and make was_interrupted() true; not SIGHUP
// where whoever started it wants it ignored (nohup(1)).
void await_interrupt();
bool was_interrupted();
// The same, for one that goes on: it is false until the next one. After SIGTERM and SIGHUP it should not.
bool take_interrupt();
bool is_told_to_end();
// To be polled beside what is waited for, as a signal may come between a look and the wait: readable until
// take_interrupt() when there was one. -1 before await_interrupt().
int interrupt_fd();
// As before await_interrupt() again, for what comes after the part that has to end in order.
void interrupt_as_before();

} // namespace pmixhost
