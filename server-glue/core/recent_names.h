// A set of names with a bound: beyond it the one that came first is forgotten.
#pragma once

#include "common/base/bytes.h"

#include <deque>
#include <set>

namespace pmixhost {

class RecentNames {
  public:
    explicit RecentNames(std::size_t most) : most_(most) {}
    // False when it is there already; it keeps its place then.
    bool insert(const Bytes &name) {
        if (!names_.insert(name).second)
            return false;
        order_.push_back(name);
        if (order_.size() > most_) {
            names_.erase(order_.front());
            order_.pop_front();
        }
        return true;
    }
    bool contains(const Bytes &name) const { return names_.contains(name); }

  private:
    std::size_t most_;
    std::set<Bytes> names_;
    std::deque<Bytes> order_;
};

} // namespace pmixhost
