// Who is in a process group, in the order of the group's ranks. It is kept as runs of neighbouring ranks, so that a
// group of a whole job is small, and searched by bisection, so that a lost host of many ranks costs a little per
// group and not its size. Pure.
#pragma once

#include "server-glue/core/signature.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>

namespace pmixhost {

class MemberList {
  public:
    MemberList() = default;
    MemberList(const std::vector<Process> &processes);
    MemberList(std::initializer_list<Process> processes) : MemberList(std::vector<Process>(processes)) {}

    // A wildcard, which stands for a whole namespace, counts as one.
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    // Its size in memory, in runs.
    std::size_t runs() const { return runs_.size(); }
    // The one of that group rank. Precondition: position < size().
    Process at(std::size_t position) const;
    std::vector<Process> all() const;
    // With each rank in place of a wildcard, where `size_of` says how many its namespace has (0: it is not known); as
    // all() when those would be more than `most`.
    std::vector<Process> each(const std::function<Rank(const Bytes &)> &size_of, std::size_t most) const;

    bool contains(const Bytes &nspace, Rank rank) const;
    // Those of these ranks that are members, in their order.
    std::vector<Rank> among(const Bytes &nspace, std::span<const Rank> ranks) const;
    // Are all members of that namespace?
    bool only_of(const Bytes &nspace) const;

  private:
    struct Run { // of ranks that follow each other; in group-rank order
        std::uint32_t nspace;
        Rank first;
        std::uint32_t count; // 0: the wildcard
        std::size_t position;
    };
    struct Range { // what is searched: ascending, apart from each other
        Rank first, last;
    };
    struct Namespace {
        Bytes name;
        bool all = false;
        std::vector<Range> ranges;
    };
    // `known`: where each of nspaces_ is, by the names of the processes themselves.
    void add(const Process &process, std::map<std::string_view, std::uint32_t> &known);
    void index();
    const Namespace *find(const Bytes &nspace) const;
    static bool contains(const Namespace &nspace, Rank rank);

    std::vector<Namespace> nspaces_; // few
    std::vector<Run> runs_;
    std::size_t size_ = 0;
};

} // namespace pmixhost
