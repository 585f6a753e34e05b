// From which host each tool comes, and whose it is. libpmix tells of a tool that it asks a name for not which
// connection it has; but it asks in the order in which connections were handed to it. So where one of them is
// relayed from another host, one nameless tool after the other is handed over, each when the one before has got its
// name or is gone. Should libpmix keep a relayed one without a name, nobody knows any more, and as long as it is
// there every name counts as one of that host, which may do less.
//
// A tool that states a name is known by it. But from libpmix 5.0.9 on what a nameless tool sends besides may look like
// a stated name, so that one is a name only if it was on a connection that was handed over; and where one of them is
// relayed, nameless and named ones are not handed over together.
//
// Pure.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/core/signature.h"
#include "server-glue/guard/tool_visitor.h"

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

    // names_are_sure: what libpmix gives as a tool's stated name is one (library_mixes_names_of_tools()).
    explicit ToolOrigins(bool names_are_sure) : names_are_sure_(names_are_sure) {}

    // Has libpmix still got its connection?
    using IsHere = std::function<bool()>;
    struct Coming {
        std::string nspace; // empty: it has no name yet
        Rank rank = 0;
        ToolOrigin origin;
        pid_t pid = 0; // 0: not known
    };
    enum class Verdict { may, later, too_many };
    // May it be handed over now?
    Verdict may_come(TimePoint now, const Coming &tool);
    void came(TimePoint now, const Coming &tool, IsHere is_here); // it was
    // libpmix tells of a tool that may have stated this name. Has it? Then it keeps it, or else got_name() follows.
    bool has_stated(const Process &name);
    // libpmix has asked for its name. Whether it is still there; null where nobody knows which one it is.
    IsHere got_name(const Process &name);
    ToolOrigin of(const Process &name) const;
    // Which process it is, for the log; 0: not known.
    pid_t pid_of(const Process &name) const;

  private:
    using Name = std::pair<Bytes, Rank>;
    struct Nameless {
        ToolOrigin origin;
        IsHere is_here;
        TimePoint since;
        pid_t pid = 0;
    };
    struct Named {
        Name name;
        Nameless tool;
    };
    struct Relayed {
        ToolOrigin origin;
        IsHere is_here;
        TimePoint seen_gone = TimePoint::max();
    };
    struct Known {
        IsHere is_here;
        pid_t pid;
    };
    void settle(TimePoint now);
    std::list<Nameless>::iterator relayed_one_in_doubt();

    const bool names_are_sure_;
    std::list<Named> stated_;                 // of which libpmix has not told; empty where names are sure
    std::list<Nameless> nameless_, doubtful_; // without a name still; since too long
    std::map<Name, Relayed> relayed_;         // the others are of this host, and the job's user's
    std::map<Name, Known> known_;             // of which the process is known
};

} // namespace pmixhost
