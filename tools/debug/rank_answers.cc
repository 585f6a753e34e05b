// See rank_answers.h.
#include "tools/debug/rank_answers.h"

#include "tools/stacks/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace pmixhost {

namespace {

std::size_t digits_at(std::string_view text, std::size_t at, std::string_view digits) {
    return std::min(text.find_first_not_of(digits, at), text.size()) - at;
}

// With ".." for addresses ("0x7f3c12"; shorter numbers may be a program's own) and numbers of processes.
std::string without_numbers(std::string_view text) {
    constexpr std::size_t shortest_address = 6;
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        for (std::string_view word : {"0x", "LWP ", "process "}) {
            if (text.substr(i, word.size()) != word)
                continue;
            bool address = word == "0x";
            std::size_t begin = i + word.size();
            std::size_t count = digits_at(text, begin, address ? "0123456789abcdef" : "0123456789");
            if (count < (address ? shortest_address : 1))
                continue;
            out += word;
            out += "..";
            i = begin + count;
            break;
        }
        if (i < text.size())
            out += text[i++];
    }
    return out;
}

} // namespace

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
        auto &group = groups[without_numbers(one.text)];
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
