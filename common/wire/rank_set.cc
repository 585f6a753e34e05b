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

// Runs, each as long as it can be, from the lowest number on; no more than `most`.
class RunsOf {
  public:
    explicit RunsOf(std::size_t most) : most_(most) {}
    // The next number, and those up to `last` that follow on it. False where that would be too many runs.
    bool add(std::uint32_t number) {
        if (!runs_.empty()) {
            RankRun &run = runs_.back();
            if (run.count == 1)
                run.stride = number - run.first;
            if (number - last_of(run) == run.stride) {
                ++run.count;
                return true;
            }
        }
        if (runs_.size() == most_)
            return false;
        runs_.push_back({number, 1, 0});
        return true;
    }
    bool add(const RankRange &range) {
        std::uint64_t number = range.first;
        // The first may belong to a run before it; behind the third all are in one run.
        for (int i = 0; i < 3 && number <= range.last; ++i, ++number) {
            if (!add(static_cast<std::uint32_t>(number)))
                return false;
        }
        if (number <= range.last)
            runs_.back().count += static_cast<std::uint32_t>(range.last - number + 1);
        return true;
    }
    const std::vector<RankRun> &runs() const { return runs_; }

  private:
    std::size_t most_;
    std::vector<RankRun> runs_;
};

// Nothing where there are more than `most`.
template <typename Parts> std::optional<std::vector<RankRun>> runs_of(const Parts &parts, std::size_t most) {
    RunsOf runs(most);
    for (const auto &part : parts) {
        if (!runs.add(part))
            return std::nullopt;
    }
    return runs.runs();
}

} // namespace

RankSet::RankSet(std::span<const std::uint32_t> numbers) {
    if (numbers.empty())
        return;
    std::uint32_t first = numbers.front(), last = numbers.back();
    if (auto runs = runs_of(numbers, most_runs(first, last))) {
        set_runs(*runs);
        return;
    }
    words_.assign(2 + (last - first) / bits_of_word + 1, 0);
    words_[1] = first;
    for (std::uint32_t number : numbers)
        words_[2 + (number - first) / bits_of_word] |= 1u << (number - first) % bits_of_word;
}

RankSet RankSet::of_ranges(std::span<const RankRange> ranges) {
    RankSet set;
    if (ranges.empty())
        return set;
    if (auto runs = runs_of(ranges, most_runs(ranges.front().first, ranges.back().last)))
        set.set_runs(*runs);
    else
        set.set_bits(ranges);
    return set;
}

void RankSet::set_runs(const std::vector<RankRun> &runs) {
    words_.reserve(1 + 3 * runs.size());
    words_.push_back(1);
    for (const RankRun &run : runs)
        words_.insert(words_.end(), {run.first, run.count, run.stride});
}

void RankSet::set_bits(std::span<const RankRange> ranges) {
    std::uint32_t first = ranges.front().first;
    words_.assign(2 + (ranges.back().last - first) / bits_of_word + 1, 0);
    words_[1] = first;
    for (const RankRange &range : ranges) {
        for (std::uint32_t number = range.first; number <= range.last; ++number)
            words_[2 + (number - first) / bits_of_word] |= 1u << (number - first) % bits_of_word;
    }
}

std::vector<RankRange> RankSet::ranges() const {
    std::vector<RankRange> out;
    auto add = [&out](std::uint32_t first, std::uint32_t last) {
        if (!out.empty() && out.back().last + 1 == first)
            out.back().last = last;
        else
            out.push_back({first, last});
    };
    if (empty())
        return out;
    if (!is_runs()) {
        for (std::uint32_t number : *this)
            add(number, number);
        return out;
    }
    for (std::size_t i = 0; i < run_count(); ++i) {
        RankRun here = run(i);
        if (here.stride <= 1)
            add(here.first, static_cast<std::uint32_t>(last_of(here)));
        else {
            for (std::uint64_t number = here.first; number <= last_of(here); number += here.stride)
                add(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number));
        }
    }
    return out;
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
