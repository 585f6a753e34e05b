// See rank_set.h.
#include "common/wire/rank_set.h"

#include <bit>

namespace pmixhost::wire {

namespace {

constexpr std::size_t bits_of_word = 32;

std::uint64_t last_of(const RankRun &run) {
    return run.first + std::uint64_t{run.count - 1} * run.stride;
}

// How many runs may be there instead of a bit for each number from `first` to `last`: one word tells what follows, and
// of the bits another one where they begin.
std::size_t most_runs(std::uint64_t first, std::uint64_t last) {
    return static_cast<std::size_t>((1 + (last - first) / bits_of_word + 1) / 3);
}

// Each as long as it can be, from the lowest number on. Nothing where there are more than `most`.
template <typename Numbers> std::optional<std::vector<RankRun>> runs_of(const Numbers &numbers, std::size_t most) {
    std::vector<RankRun> runs;
    for (std::uint32_t number : numbers) {
        if (!runs.empty()) {
            RankRun &run = runs.back();
            if (run.count == 1)
                run.stride = number - run.first;
            if (number - last_of(run) == run.stride) {
                ++run.count;
                continue;
            }
        }
        if (runs.size() == most)
            return std::nullopt;
        runs.push_back({number, 1, 0});
    }
    return runs;
}

} // namespace

RankSet::RankSet(std::span<const std::uint32_t> numbers) {
    if (numbers.empty())
        return;
    std::uint32_t first = numbers.front(), last = numbers.back();
    if (auto runs = runs_of(numbers, most_runs(first, last))) {
        words_.reserve(1 + 3 * runs->size());
        words_.push_back(1);
        for (const RankRun &run : *runs)
            words_.insert(words_.end(), {run.first, run.count, run.stride});
        return;
    }
    words_.assign(2 + (last - first) / bits_of_word + 1, 0);
    words_[1] = first;
    for (std::uint32_t number : numbers)
        words_[2 + (number - first) / bits_of_word] |= 1u << (number - first) % bits_of_word;
}

bool RankSet::valid() const {
    if (empty())
        return true;
    return words_[0] == 1 ? are_runs() : words_[0] == 0 && are_bits();
}

bool RankSet::are_runs() const {
    if (words_.size() < 4 || words_.size() % 3 != 1)
        return false;
    for (std::size_t i = 0; i < run_count(); ++i) {
        RankRun now = run(i);
        if (now.count == 0 || (now.count == 1) != (now.stride == 0) || last_of(now) >= UINT32_MAX)
            return false;
        if (i == 0)
            continue;
        // One of a single rank would have had the next rank in it, and so would one that it follows on.
        RankRun before = run(i - 1);
        if (before.count == 1 || now.first <= last_of(before) || now.first == last_of(before) + before.stride)
            return false;
    }
    return run_count() <= most_runs(words_[1], last());
}

bool RankSet::are_bits() const {
    if (words_.size() < 3 || (words_[2] & 1) == 0 || words_.back() == 0 || last() >= UINT32_MAX)
        return false;
    return !runs_of(*this, most_runs(words_[1], last()));
}

std::uint64_t RankSet::last() const {
    if (is_runs())
        return last_of(run(run_count() - 1));
    return words_[1] + bits_of_word * (words_.size() - 3) + static_cast<unsigned>(std::bit_width(words_.back())) - 1;
}

std::uint64_t RankSet::size() const {
    std::uint64_t size = 0;
    if (empty())
        return 0;
    if (is_runs()) {
        for (std::size_t i = 0; i < run_count(); ++i)
            size += run(i).count;
        return size;
    }
    for (std::uint32_t word : std::span(words_).subspan(2))
        size += static_cast<unsigned>(std::popcount(word));
    return size;
}

std::optional<std::uint32_t> RankSet::next(std::uint64_t from) const {
    if (empty())
        return std::nullopt;
    if (is_runs()) {
        std::size_t found = 0; // the first run that does not end before it
        for (std::size_t end = run_count(); found < end;) {
            std::size_t middle = found + (end - found) / 2;
            if (last_of(run(middle)) < from)
                found = middle + 1;
            else
                end = middle;
        }
        if (found == run_count())
            return std::nullopt;
        RankRun here = run(found);
        if (from <= here.first)
            return here.first;
        std::uint64_t steps = (from - here.first + here.stride - 1) / here.stride;
        return static_cast<std::uint32_t>(here.first + steps * here.stride);
    }
    std::uint64_t place = from > words_[1] ? from - words_[1] : 0;
    std::uint64_t bits = bits_of_word * (words_.size() - 2);
    while (place < bits) {
        std::uint32_t left = words_[2 + place / bits_of_word] >> place % bits_of_word;
        if (left != 0)
            return static_cast<std::uint32_t>(words_[1] + place + static_cast<unsigned>(std::countr_zero(left)));
        place = (place / bits_of_word + 1) * bits_of_word;
    }
    return std::nullopt;
}

} // namespace pmixhost::wire
