// The calls that threads of another process are in, without any help of that process: each thread is
// stopped for a moment by ptrace(2), which needs no signal that it could have blocked, and unwound from
// outside by elfutils' libdw. Where pmixhost was built without libdw, the words of the stack that may be
// return addresses are listed instead, as file and offset. See contrib/doc/decisions/evidence.md.
//
// The caller must be allowed to trace the process (same user, dumpable, Yama). Only one of its threads may wait for
// children, and SIGCHLD must be blocked and not ignored.
#pragma once

#include "common/base/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace pmixhost {

class Backtracer {
  public:
    static constexpr std::size_t max_frames = 48;

    virtual ~Backtracer() = default;
    // Reads which files the process has mapped; can take as long as the file systems that they are on.
    static Result<std::unique_ptr<Backtracer>> of_process(pid_t pid);
    // Makes what of_process() makes where there is no libdw; needs no stop.
    static Result<std::unique_ptr<Backtracer>> scan_stacks(pid_t pid);

    struct Frame {
        std::string where;    // "pmixhostd+0x1234": a file and the offset in it
        std::string function; // as C++ has it; empty: not known
        std::string source;   // "file.cc:12"; empty: not known
    };
    // Innermost first, at most max_frames. The thread goes on afterwards, or stays stopped if it was. A thread that
    // does not stop within half a second is an error.
    virtual Result<std::vector<Frame>> frames(pid_t thread) = 0;
    // A line for each mapped file, with its build ID where it has one.
    virtual std::vector<std::string> files() const = 0;
    // What frames() lists, in words: a heading.
    virtual std::string_view method() const = 0;
};

// The name of a C++ function without arguments, template arguments and return type, for a line that is to name many:
// "pmixhost::EventLoop::run".
std::string brief_name(std::string_view function);

} // namespace pmixhost
