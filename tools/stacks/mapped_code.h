// A name for calls that have none: in a program without symbols gdb knows addresses alone, which differ from process to
// process. Where a file has the call is the same for all who run that file.
#pragma once

#include "tools/stacks/stack_frames.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

class MappedCode {
  public:
    // Of /proc/PID/maps; `root` stands before the names of files. Lines that make no sense are left out.
    static MappedCode of_maps(std::string_view text, std::string root);
    // Of a running process; empty where it cannot be told.
    static MappedCode of_process(pid_t pid);
    // Of a core file, by what gdb says to "info proc mappings".
    static MappedCode of_gdb(std::string_view text);

    // To each call without a name that stands in a file: the file as its module, and "FILE+0xOFFSET" as its name, where
    // the offset is that of its function from the beginning of the file in memory. The table of functions that files
    // have for the unwinding of stacks (.eh_frame_hdr of the LSB), which strip(1) leaves there, says where it begins;
    // where it does not say so, that of the call itself. `frames`: of one stack, the innermost first; their addresses
    // are of no use behind this, and go.
    void name_nameless(std::vector<StackFrame> &frames);

  private:
    struct Mapping {
        std::uint64_t begin = 0, end = 0;
        std::string file;
    };
    std::string root_;
    std::vector<Mapping> mappings_;
    // What has been found, by the call's address: threads stand at the same places.
    std::map<std::uint64_t, std::optional<std::uint64_t>> functions_;
};

} // namespace pmixhost
