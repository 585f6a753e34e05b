// Breakpoints of a client of the Debug Adapter Protocol: each is one in the gdb of every rank, which numbers it by
// itself. Pure.
#pragma once

#include "tools/dap/dap_client.h"
#include "tools/dap/dap_ranks.h"

#include <map>
#include <string>
#include <vector>

namespace pmixhost {

class DapBreakpoints {
  public:
    DapBreakpoints(DapRanks &ranks) : ranks_(&ranks) {}
    // setBreakpoints, setFunctionBreakpoints.
    void add_to(DapHandlers &handlers);
    // Says all that there are to the gdb of a rank that comes later than the others: it has them before whatever it is
    // told next.
    void give(Rank rank);
    // Which of the client's a rank has come to.
    std::vector<int> hit(Rank rank, const std::string &number) const;

  private:
    struct Wanted {
        std::string place; // in gdb's words
        std::string condition;
        int line = 0;        // 0: a function
        std::string refused; // why there can be none such; empty: there can
    };
    void set(const DapRequest &request, const std::string &group, const std::vector<Wanted> &wanted);
    void clear(const std::string &group);
    void placed(int id, Rank rank, const GdbEvent &answer);
    void remove(const std::map<Rank, std::string> &numbers);

    DapRanks *ranks_;
    std::map<std::string, std::vector<int>> groups_;     // a file's path, or "functions"
    std::map<int, std::map<Rank, std::string>> numbers_; // by our number
    std::map<int, std::string> commands_;                // that make it, of those that can be made
    int next_ = 1;
};

} // namespace pmixhost
