// An order to end, by a signal, as the end of the input. A resource manager may give it to all processes of a step at
// first, and a debugger that ends without letting go leaves processes stopped.
#pragma once

namespace pmixhost {

// While it lives, SIGINT, SIGTERM and SIGHUP end `in`: what reads it, or waits for it in poll(2), finds its end. One at
// a time in a process; for what has one thread, or whose other threads do not wait for `in`.
class SignalEndsInput {
  public:
    explicit SignalEndsInput(int in);
    ~SignalEndsInput();
    SignalEndsInput(const SignalEndsInput &) = delete;
};

} // namespace pmixhost
