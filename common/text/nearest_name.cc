// See nearest_name.h.
#include "common/text/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace pmixhost {

// Letters that are added, left out or changed.
static std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string nearest_name(std::string_view text, std::span<const std::string> names) {
    text = text.substr(0, 64);
    std::string best;
    std::size_t best_distance = text.size() / 3 + 2; // farther than this is no likeness
    for (const auto &name : names) {
        std::size_t distance = edit_distance(text, name);
        if (distance < best_distance) {
            best_distance = distance;
            best = name;
        }
    }
    return best;
}

} // namespace pmixhost
