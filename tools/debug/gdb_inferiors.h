// The processes that the gdb of one rank has hold of (its "inferiors"), and which of them it lets run. There is one,
// until gdb follows it into a child or through an exec as another ("set follow-fork-mode child", "set detach-on-fork
// off", "set follow-exec-mode new"). Pure.
#pragma once

#include "tools/stacks/gdb_text.h"

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

class GdbInferiors {
  public:
    // A record of gdb's; one that says nothing of this changes nothing.
    void on_record(const GdbRecord &record);
    // Which runs, or ran last; 0: none, or gdb has not said.
    pid_t now() const;
    std::vector<pid_t> all() const;
    bool none() const { return processes_.empty(); }

  private:
    void on_running(const std::string &thread);
    std::map<std::string, pid_t> processes_;     // by gdb's name of the inferior, "i1"
    std::map<std::string, std::string> threads_; // the inferior of each, by gdb's number
    std::string now_;
    pid_t last_ = 0; // that now() was
};

} // namespace pmixhost
