// The process sets that processes of this host know of: those of their own job, from its start on, and
// those of other jobs while they are connected with them. Each is made known to the server library,
// which tells the processes of this host (PMIX_PROCESS_SET_DEFINE and _DELETE).
//
// Each name is there once; the set that was first keeps it.
#pragma once

#include "common/base/bytes.h"
#include "common/job/process_set.h"

#include <map>

namespace pmixhost {

class ProcessSetPort {
  public:
    virtual ~ProcessSetPort() = default;
    virtual void define_set(const std::string &name, const Bytes &nspace, const std::vector<Rank> &ranks) = 0;
    virtual void delete_set(const std::string &name) = 0;
    // `name` is taken: the set of `nspace` is not known here.
    virtual void name_taken(const std::string &name, const Bytes &nspace) = 0;
};

class ProcessSets {
  public:
    struct Set {
        Bytes nspace;
        ProcessSet set;
    };
    explicit ProcessSets(ProcessSetPort &port) : port_(port) {}

    void define(const Bytes &nspace, const std::vector<ProcessSet> &sets);
    // A connect with processes of `nspace` is complete, or a disconnect from them. Its sets go after as many
    // disconnects as there were connects.
    void connected(const Bytes &nspace, const std::vector<ProcessSet> &sets);
    void disconnected(const Bytes &nspace);

    // In the order in which they were defined.
    const std::vector<Set> &all() const { return sets_; }
    const Set *find(std::string_view name) const; // null when there is none

  private:
    ProcessSetPort &port_;
    std::vector<Set> sets_;
    std::map<Bytes, std::size_t> connections_;
};

} // namespace pmixhost
