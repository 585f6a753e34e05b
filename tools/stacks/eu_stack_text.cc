// See eu_stack_text.h.
#include "tools/stacks/eu_stack_text.h"

#include "common/text/take_until.h"
#include "tools/stacks/shown_text.h"

#include <charconv>

namespace pmixhost {

namespace {

// "0x00007f421206b545     clock_nanosleep@GLIBC_2.2.5 - /usr/lib/libc.so.6", behind "#0  "
StackFrame eu_frame(std::string_view line) {
    StackFrame frame;
    if (line.starts_with("0x"))
        std::from_chars(line.data() + 2, line.data() + line.size(), frame.address, 16);
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    auto module = line.rfind("- ");
    if (module != line.npos && (module == 0 || line[module - 1] == ' ')) {
        frame.module = shown_text(line.substr(module + 2), max_frame_text);
        line = line.substr(0, module == 0 ? 0 : module - 1);
    }
    // Versions of symbols; "- 1" of an address that is a return address.
    frame.function = shown_text(line.substr(0, line.find('@')), max_frame_text);
    return frame;
}

} // namespace

std::vector<ThreadStack> threads_of_eu_stack(std::string_view text) {
    std::vector<ThreadStack> out;
    while (!text.empty()) {
        std::string_view line = take_until(text, '\n');
        if (line.starts_with("TID ")) {
            if (out.size() >= max_threads)
                break;
            out.emplace_back();
            std::from_chars(line.data() + 4, line.data() + line.size(), out.back().id);
        } else if (line.starts_with('#') && !out.empty()) {
            if (out.back().frames.size() >= max_frames) {
                out.back().cut = true;
                continue;
            }
            line.remove_prefix(std::min(line.find(' '), line.size()));
            line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
            out.back().frames.push_back(eu_frame(line));
        } else if (line.starts_with("    ") && !out.empty() && !out.back().frames.empty()) {
            // "    /home/me/hang.c:4:65"
            line.remove_prefix(4);
            StackFrame &frame = out.back().frames.back();
            auto colon = line.rfind(':');
            auto before = colon == line.npos || colon == 0 ? line.npos : line.rfind(':', colon - 1);
            if (before != line.npos && frame.file.empty()) {
                std::from_chars(line.data() + before + 1, line.data() + colon, frame.line);
                frame.file = shown_text(line.substr(0, before), max_frame_text);
            }
        }
    }
    return out;
}

} // namespace pmixhost
