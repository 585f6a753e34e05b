// See process_stat.h.
#include "common/process/process_stat.h"

#include "common/base/small_file.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>

namespace pmixhost {

Result<ProcessStat> read_process_stat(pid_t pid) {
    auto text = read_small_file(fmt::format("/proc/{}/stat", pid));
    if (!text)
        return text.failure();
    // "12 (any name) S 1 ...", the 22nd is when it began
    auto name = text->rfind(')');
    if (name == text->npos)
        return error(ErrorKind::invalid, "/proc/{}/stat is not understood", pid);
    std::string_view rest = std::string_view(*text).substr(std::min(name + 2, text->size()));
    ProcessStat out;
    for (int field = 3; field <= 22 && !rest.empty(); ++field) {
        auto word = take_until(rest, ' ');
        if (field == 3 && !word.empty())
            out.state = word[0];
        else if (field == 4)
            std::from_chars(word.data(), word.data() + word.size(), out.parent);
        else if (field == 22)
            std::from_chars(word.data(), word.data() + word.size(), out.began);
    }
    return out;
}

} // namespace pmixhost
