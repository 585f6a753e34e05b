// What `pmixhost stacks` shows, in each of its forms. Pure; the texts that go in are as stack_frames.h says.
#pragma once

#include "tools/stacks/stack_tree.h"

namespace pmixhost {

struct StackReport {
    std::string job;                      // its namespace; empty: core files only
    std::vector<ProcessStacks> processes; // by rank; those that are not read say why
    StackTree tree;                       // of those that are

    // Sorts the processes and makes the tree.
    static StackReport of(std::string job, std::vector<ProcessStacks> processes, bool lines);
    std::size_t read() const; // processes with a stack
};

// Control sequences, or nothing, for a terminal.
struct StackPaint {
    std::string_view branch, ranks, warning, off;
};
std::string report_text(const StackReport &report, const StackPaint &paint);
std::string report_json(const StackReport &report);
// A page that needs nothing else, with no script in it.
std::string report_html(const StackReport &report);
// A picture: each call as wide as it has stacks, below its caller.
std::string report_svg(const StackReport &report);

} // namespace pmixhost
