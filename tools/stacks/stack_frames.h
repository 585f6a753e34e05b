// What the processes of a job are doing: the calls that each thread is in. Plain data, which a host gives to the
// command and the command merges (stack_tree.h).
#pragma once

#include "common/job/job_map.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

// Bounds of what is kept of one process. What is beyond them is left out, and `cut` says so.
inline constexpr std::size_t max_frames = 256; // of a thread, the innermost
inline constexpr std::size_t max_threads = 1024;
inline constexpr std::size_t max_frame_text = 300; // bytes of a name or path

// Texts are as shown_text() has them (shown_text.h): bounded, UTF-8, without control characters.
struct StackFrame {
    std::string function; // empty: unknown; "MODULE+0xOFFSET" where it has no name (mapped_code.h)
    std::string file;     // of the source; empty: unknown
    unsigned line = 0;
    std::string module;        // the program or library; may be empty
    std::uint64_t address = 0; // in its own process, until that is named by it; 0: unknown
    bool operator==(const StackFrame &) const = default;
    auto operator<=>(const StackFrame &) const = default;
};

struct ThreadStack {
    long id = 0;                    // as the kernel has it
    std::string name;               // may be empty
    std::vector<StackFrame> frames; // the innermost first
    bool cut = false;               // there are more behind the last one
};

struct ProcessStacks {
    Rank rank = 0;
    std::string host;
    pid_t pid = 0; // 0: it does not run
    std::string executable;
    bool stopped = false; // by a signal, when it was looked at
    std::string why;      // not empty: it could not be read, or not in full, and what to do
    std::vector<ThreadStack> threads;
};

} // namespace pmixhost
