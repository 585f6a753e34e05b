// See refused_tools.h.
#include "server-glue/gate/refused_tools.h"

#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost {

void RefusedTools::make_room() {
    auto oldest = std::min_element(all_.begin(), all_.end(),
                                   [](const auto &a, const auto &b) { return a.second.last < b.second.last; });
    all_.erase(oldest);
}

void RefusedTools::note(uid_t user, const std::string &why, TimePoint now) {
    auto found = all_.find(user);
    if (found == all_.end()) {
        if (all_.size() >= most_users)
            make_room();
        found = all_.try_emplace(user).first;
    }
    Refused &of = found->second;
    if (of.count == 0 || now - of.last >= kept) {
        of.count = 0;
        of.first = now;
    }
    ++of.count;
    of.last = now;
    of.why = one_line(why, longest_why);
}

Refusals RefusedTools::of(uid_t user, TimePoint now) const {
    auto found = all_.find(user);
    if (found == all_.end() || now - found->second.last >= kept)
        return {};
    auto ago = [now](TimePoint then) { return std::chrono::duration_cast<std::chrono::seconds>(now - then); };
    const Refused &refused = found->second;
    return {refused.count, ago(refused.first), ago(refused.last), refused.why};
}

} // namespace pmixhost
