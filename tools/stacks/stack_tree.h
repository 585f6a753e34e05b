// The stacks of all ranks as one tree: what all have in common is near the root, and each branch has the ranks that
// are in it. Pure.
#pragma once

#include "common/job/rank_ranges.h"
#include "tools/stacks/stack_frames.h"

#include <map>
#include <set>

namespace pmixhost {

class StackTree {
  public:
    // Calls are the same when they are of the same function, in the same file, or library, where both are known (where
    // its name is not, of the same library); with `lines`, when they are at the same line, too.
    explicit StackTree(bool lines = false) : lines_(lines) { nodes_.emplace_back(); }

    static constexpr std::size_t root = 0;
    struct Node {
        std::string function;  // of the root: empty
        std::string file;      // without directories; empty: unknown
        std::set<unsigned> at; // the lines that were seen in it
        std::string module;    // without directories
        RankRanges ranks;
        std::size_t threads = 0;        // stacks that go through it
        std::size_t ends = 0;           // that end here
        std::vector<std::size_t> below; // those of the lowest rank first, then by name
        bool differs = false;           // not all that are in the caller are in it
    };

    void add(Rank rank, const ThreadStack &stack);
    // Sorts, and says what differs. Call it after the last add().
    void finish();
    const Node &node(std::size_t index) const { return nodes_[index]; }
    std::size_t size() const { return nodes_.size(); } // with the root
    // In how many different places stacks end.
    std::size_t groups() const;

  private:
    using Key = std::tuple<std::size_t, std::string, std::string, unsigned>; // caller, function or module, line
    static bool may_be_in(const Node &node, const std::string &file, const std::string &module);
    std::size_t below(std::size_t caller, const StackFrame &frame);
    bool lines_;
    std::vector<Node> nodes_;
    std::map<Key, std::vector<std::size_t>> index_;
};

// "0-2,5"; at most `max` ranges and "..." when there are more.
std::string ranks_text(const RankRanges &ranks, std::size_t max = 1000000);
// How many they are.
std::size_t count_of(const RankRanges &ranks);
// "hang.c:12,14", "in libmpi.so.40" or empty: where the call is.
std::string place_of(const StackTree::Node &node);
// Never empty.
std::string name_of(const StackTree::Node &node);

} // namespace pmixhost
