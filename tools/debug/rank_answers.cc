// See rank_answers.h.
#include "tools/debug/rank_answers.h"

#include "tools/debug/gdb_places.h"
#include "tools/stacks/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace pmixhost {

std::vector<SameText> merged_texts(const std::vector<RankText> &texts) {
    struct Group {
        RankRanges ranks;
        std::string_view text; // of the first one
        bool same = true;
    };
    std::map<std::string, Group> groups;
    for (const auto &one : texts) {
        if (one.text.find_first_not_of(" \n") == one.text.npos)
            continue;
        auto &group = groups[without_places(one.text)];
        if (group.ranks.empty())
            group.text = one.text;
        group.same = group.same && group.text == one.text;
        group.ranks.add(one.rank, one.rank);
    }
    std::vector<SameText> out;
    for (auto &[text, group] : groups)
        out.push_back({std::move(group.ranks), group.same ? std::string(group.text) : text});
    std::sort(out.begin(), out.end(), [](const auto &one, const auto &other) {
        return one.ranks.ranges().begin()->first < other.ranks.ranges().begin()->first;
    });
    return out;
}

std::string shown_texts(const std::vector<SameText> &texts, std::string_view bold, std::string_view off) {
    std::string out;
    for (const auto &one : texts) {
        std::string_view text = one.text;
        while (!text.empty() && text.front() == '\n')
            text.remove_prefix(1);
        while (!text.empty() && text.back() == '\n')
            text.remove_suffix(1);
        bool single = text.find('\n') == text.npos;
        out += fmt::format("{}[{}]{}{}{}\n", bold, ranks_text(one.ranks, 20), off, single ? " " : "\n", text);
    }
    return out;
}

} // namespace pmixhost
