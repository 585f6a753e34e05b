// The numbers by which a client of the Debug Adapter Protocol names frames and variables. They hold until the rank runs
// again. Pure.
#pragma once

#include "common/job/job_map.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

struct DapFrame {
    Rank rank = 0;
    std::string thread; // gdb's number
    unsigned level = 0; // 0: the innermost
};

// What has variables: a frame (with no expression), the value of an expression in it, or what gdb already holds by a
// name of its own (a variable object).
struct DapContainer {
    DapFrame frame;
    std::string expression;
    std::string object;
};

class DapReferences {
  public:
    static constexpr std::size_t most = 100000; // of each; more are not made

    // 0: there are too many.
    int add(DapFrame frame);
    int add(DapContainer container);
    // Nothing: there is no such, or its rank has run since. As long as nothing is added or forgotten.
    const DapFrame *frame(int id) const;
    const DapContainer *container(int id) const;
    // The gdb of the rank holds this variable object.
    void hold(Rank rank, std::string object) { held_[rank].push_back(std::move(object)); }
    // The rank runs: all of it is void. The variable objects that its gdb holds.
    std::vector<std::string> forget(Rank rank);

  private:
    int next_ = 1;
    std::map<int, DapFrame> frames_;
    std::map<int, DapContainer> containers_;
    std::map<Rank, std::vector<std::string>> held_;
};

} // namespace pmixhost
