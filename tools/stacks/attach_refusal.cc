// See attach_refusal.h.
#include "tools/stacks/attach_refusal.h"

#include "common/base/small_file.h"
#include "common/text/take_number.h"
#include "tools/stacks/shown_text.h"

namespace pmixhost {

// Behind "next: ".
static std::string cure_for(const std::string &scope_file) {
    auto text = read_small_file(scope_file);
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    unsigned scope = 0;
    if (!take_number(rest, scope) || scope == 0)
        return "see whether its program is setuid, or has rights that you have not, and whether a container forbids "
               "ptrace";
    const char *meaning = scope == 1   ? "nobody may look at processes that he has not started himself"
                          : scope == 2 ? "only root may look at processes"
                                       : "nobody may look at processes until the host is started anew";
    return fmt::format("kernel.yama.ptrace_scope is {} on its host, by which {}: ask its administrator for 0", scope,
                       meaning);
}

std::string why_not_attached(std::string said, pid_t pid, const std::string &scope_file) {
    said.erase(said.find_last_not_of(" .\n") + 1);
    if (said.find("ptrace") != said.npos || said.find("not permitted") != said.npos ||
        said.find("ermission denied") != said.npos)
        return fmt::format("process {} may not be looked at: {}; next: {}", pid, shown_text(said, 200),
                           cure_for(scope_file));
    return fmt::format("process {}: {}", pid, shown_text(said, 300));
}

} // namespace pmixhost
