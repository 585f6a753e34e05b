// What processes of other jobs had posted when they connected with this one, or built a group with it: kept until one
// of this host asks, so that nobody asks theirs. It is bounded, since any task can connect as often as it likes; what
// goes is asked for where it was posted. Pure.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace pmixhost {

class CrossJobPosted {
  public:
    // Beyond these the oldest go first; what is larger than all of it alone is not kept.
    static constexpr std::size_t max_bytes = 64u << 20;
    static constexpr std::size_t max_processes = 100'000;

    // Takes the place of what the same process had posted before.
    void keep(const Bytes &nspace, Rank rank, Bytes data);
    // Each is used once: whoever asks again wants something newer.
    std::optional<Bytes> take(const Bytes &nspace, Rank rank);
    // The jobs have disconnected.
    void forget(const Bytes &nspace);

    std::size_t size() const { return kept_.size(); } // in processes
    std::size_t bytes() const { return bytes_; }

  private:
    using Key = std::pair<Bytes, Rank>;
    struct Kept {
        Bytes data;
        std::uint64_t order;
    };
    void forget(std::map<Key, Kept>::iterator place);

    std::map<Key, Kept> kept_;
    std::map<std::uint64_t, Key> by_age_;
    std::uint64_t next_order_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace pmixhost
