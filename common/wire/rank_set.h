// A set of ranks, or of hosts, in few bytes, on the wire and in memory: which ranks take part in a collective is in
// each of its messages. Each second one of 1.28 million ranks is 16 bytes, and no set of them is more than 160 kB.
//
// It is kept as runs of ranks at one distance or as a bit for each, whichever is shorter, and in no other way: the same
// set is the same bytes, whoever makes it. So it takes about a bit for each number from its lowest to its highest, or
// six bytes for each of its own, and often much less. Nothing here makes a list of them.
#pragma once

#include "common/wire/names.h"

#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

namespace pmixhost::wire {

class RankSet {
  public:
    static constexpr const char *name = "RankSet";
    static constexpr void fields(auto &&field) {
        field(
            &RankSet::words_, "words",
            "none of no ranks; else 1, and of each run its first rank, how many it has and their distance (0 of one); "
            "or 0, the lowest rank, and 32 bits a word, the lowest first");
    }

    RankSet() = default;
    // Precondition: they ascend, each is there once, and UINT32_MAX is not among them.
    explicit RankSet(std::span<const std::uint32_t> numbers);
    RankSet(std::initializer_list<std::uint32_t> numbers) : RankSet(std::span(numbers.begin(), numbers.size())) {}
    // Precondition: they ascend, no two of them touch, and UINT32_MAX is in none. Takes time by the ranges, but where a
    // bit for each number is shorter.
    static RankSet of_ranges(std::span<const RankRange> ranges);

    // What was decoded may be anything until this is asked, and all that follows needs it. Takes time by the bytes, not
    // by the ranks that runs are said to have.
    bool valid() const;

    bool empty() const { return words_.empty(); }
    std::uint64_t size() const;
    // The lowest one that is not below `from`. By bisection.
    std::optional<std::uint32_t> next(std::uint64_t from) const;
    bool contains(std::uint32_t number) const { return has_one_of(number, number); }
    // Of the numbers from `first` to `last`.
    bool has_one_of(std::uint32_t first, std::uint32_t last) const {
        auto found = next(first);
        return found && *found <= last;
    }
    // The highest. Precondition: it is not empty.
    std::uint32_t back() const { return static_cast<std::uint32_t>(last()); }
    // In ascending order, no two touching each other. Takes time by the ranges, and the words of bits.
    std::vector<RankRange> ranges() const;
    // In memory.
    std::size_t bytes() const { return words_.capacity() * sizeof(std::uint32_t); }

    // In ascending order. There can be four billion: who takes them one by one knows a bound (back()).
    class Iterator {
      public:
        explicit Iterator(const RankSet &set) : set_(&set), at_(set.next(0)) {}
        std::uint32_t operator*() const { return *at_; }
        Iterator &operator++() {
            at_ = set_->next(std::uint64_t{*at_} + 1);
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return !at_; }

      private:
        const RankSet *set_;
        std::optional<std::uint32_t> at_;
    };
    Iterator begin() const { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

  private:
    void set_runs(const std::vector<RankRun> &runs);
    void set_bits(std::span<const RankRange> ranges);
    bool is_runs() const { return words_[0] != 0; }
    std::size_t run_count() const { return words_.size() / 3; }
    RankRun run(std::size_t index) const {
        return {words_[3 * index + 1], words_[3 * index + 2], words_[3 * index + 3]};
    }
    std::uint64_t last() const;
    bool are_runs() const;
    bool are_bits() const;

    std::vector<std::uint32_t> words_;
};

} // namespace pmixhost::wire
