// gdb's words as people type them: it takes the beginning of a word for the word, where no other begins so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace pmixhost {

struct LongWord {
    std::string_view whole;
    std::size_t shortest = whole.size(); // of how many letters at least
};

inline bool is_one_of(std::span<const LongWord> words, std::string_view word) {
    return std::any_of(words.begin(), words.end(), [word](const LongWord &one) {
        return word.size() >= one.shortest && one.whole.starts_with(word);
    });
}

} // namespace pmixhost
