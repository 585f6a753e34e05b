// From which host each tool comes. libpmix tells of a tool that it asks a name for not which connection it has; but it
// asks in the order in which connections were handed to it. So where one of them is relayed from another host, one
// nameless tool after the other is handed over, each when the one before has got its name. Should a relayed one not get
// it in time, nobody knows any more, and every nameless tool from then on counts as one of that host, which may do
// less.
//
// Pure.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/core/signature.h"

#include <map>
#include <string>

namespace pmixhost {

class ToolOrigins {
  public:
    static constexpr Duration patience = std::chrono::seconds(2);
    static constexpr std::size_t most = 4096; // tools that are remembered; all others count as of nowhere then

    // May a nameless tool be handed over now, which is on that host (empty: this one)?
    bool may_come(TimePoint now, const std::string &from);
    void unnamed(TimePoint now, const std::string &from);     // one was
    void got_name(const Process &name);                       // libpmix has asked for it
    void named(const Process &name, const std::string &from); // one that has a name was handed over
    // The numeric address; empty: this host. What no rule can match, where it is not known.
    std::string of(const Process &name) const;

  private:
    std::map<std::pair<Bytes, Rank>, std::string> relayed_; // the others are of this host
    std::string coming_;                                    // where the nameless one is from
    std::size_t nameless_ = 0;                              // handed over, and without a name still
    TimePoint since_{};
    std::string doubtful_; // where nameless ones might be from
};

} // namespace pmixhost
