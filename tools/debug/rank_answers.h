// What many ranks have said, with what is the same said once. Pure.
#pragma once

#include "common/job/rank_ranges.h"

#include <string>
#include <vector>

namespace pmixhost {

struct RankText {
    Rank rank = 0;
    std::string text; // lines
};
struct SameText {
    RankRanges ranks;
    std::string text;
};
// In the order of their lowest ranks. What is empty is left out. Where texts differ in nothing but places, numbers of
// processes and numbers of gdb's values (gdb_places.h) they are one, with ".." in their place; those that differ in
// data are several, each with its own.
std::vector<SameText> merged_texts(const std::vector<RankText> &texts);

// For people: a single line behind its ranks, more lines below them. `bold` and `off` are around the ranks.
std::string shown_texts(const std::vector<SameText> &texts, std::string_view bold = {}, std::string_view off = {});

} // namespace pmixhost
