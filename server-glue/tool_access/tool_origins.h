// From which host each tool comes, and whose it is. libpmix tells of a tool that it asks a name for not which
// connection it has; but it asks in the order in which connections were handed to it. So where one of them is
// relayed from another host, one nameless tool after the other is handed over, each when the one before has got its
// name or is gone. Should libpmix keep a relayed one without a name, nobody knows any more, and as long as it is
// there every name counts as one of that host, which may do less.
//
// Pure.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/core/signature.h"
#include "server-glue/library/tool_visitor.h"

#include <list>
#include <map>
#include <string>

namespace pmixhost {

class ToolOrigins {
  public:
    static constexpr Duration patience = std::chrono::seconds(10);
    // What a tool asked before it left may still be on its way here.
    static constexpr Duration aftermath = std::chrono::seconds(2);
    static constexpr std::size_t most = 1024; // relayed ones that are remembered

    // Has libpmix still got its connection?
    using IsHere = std::function<bool()>;
    struct Coming {
        std::string nspace; // empty: it has no name yet
        Rank rank = 0;
        ToolOrigin origin;
    };
    enum class Verdict { may, later, too_many };
    // May it be handed over now?
    Verdict may_come(TimePoint now, const Coming &tool);
    void came(TimePoint now, const Coming &tool, IsHere is_here); // it was
    // libpmix has asked for its name. Whether it is still there; null where nobody knows which one it is.
    IsHere got_name(const Process &name);
    ToolOrigin of(const Process &name) const;

  private:
    using Name = std::pair<Bytes, Rank>;
    struct Nameless {
        ToolOrigin origin;
        IsHere is_here;
        TimePoint since;
    };
    struct Relayed {
        ToolOrigin origin;
        IsHere is_here;
        TimePoint seen_gone = TimePoint::max();
    };
    void settle(TimePoint now);

    std::list<Nameless> nameless_, doubtful_; // without a name still; since too long
    std::map<Name, Relayed> relayed_;         // the others are of this host, and the job's user's
};

} // namespace pmixhost
