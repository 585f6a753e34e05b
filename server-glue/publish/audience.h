// Who may see what is published: the ranges of PMIx_Publish and PMIx_Lookup. Pure.
//
// Around each process there are circles, of which each holds the one before: itself, its host, its namespace, and the
// session, as which everything counts that is wider. Data in such a range are for all in that circle of its publisher.
// PMIX_RANGE_CUSTOM is a list of names instead. So whoever looks for what a process can see has only to look in that
// process' circles, and at the lists.
#pragma once

#include "common/base/bytes.h"
#include "common/wire/names.h"

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

namespace pmixhost {

// Whoever publishes or looks up.
struct Participant {
    Bytes nspace;
    std::uint32_t rank = 0;
    Bytes host; // name of the node
    std::uint32_t uid = 0, gid = 0;
    bool is_process(const Participant &other) const { return nspace == other.nspace && rank == other.rank; }
};

// From the narrowest to the widest.
enum class RangeWidth : std::uint8_t { process, list, host, nspace, session };
inline constexpr RangeWidth range_widths[] = {RangeWidth::process, RangeWidth::list, RangeWidth::host,
                                              RangeWidth::nspace, RangeWidth::session};
RangeWidth width_of(std::uint8_t range);

struct Circle {
    RangeWidth width = RangeWidth::session;
    Bytes name; // of the namespace or the host
    std::uint32_t rank = 0;
    auto operator<=>(const Circle &) const = default;
};
// The circle of that width around `who`; the lists are in one, which is everybody's.
Circle circle_of(RangeWidth width, const Participant &who);

class Audience {
  public:
    // `list`: for PMIX_RANGE_CUSTOM.
    Audience(std::uint8_t range, Participant center, std::vector<wire::ProcessName> list);

    bool includes(const Participant &who) const;
    // Of the same width: would somebody be in both?
    bool meets(const Audience &other) const;
    RangeWidth width() const { return width_; }
    Circle circle() const { return circle_of(width_, center_); }
    // Who has published, or looks up.
    const Participant &center() const { return center_; }
    // Of its list.
    std::size_t bytes() const { return list_bytes_; }

  private:
    RangeWidth width_;
    Participant center_;
    using List = std::vector<wire::ProcessName>;             // in order
    bool has(const Bytes &nspace, std::uint32_t rank) const; // that entry
    std::shared_ptr<const List> list_;                       // of all that are published with it
    std::size_t list_bytes_ = 0;
};

} // namespace pmixhost
