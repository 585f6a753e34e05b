// Who wants to connect as a tool, as the guard (connection_guard.h) knows it: not by what it says of itself, but for
// the name that it will have.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "server-glue/guard/library_connection.h"

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>

namespace pmixhost {

// Where it is, and whose.
struct ToolOrigin {
    std::string from;           // the numeric address of the host that it is relayed from; empty: this host
    std::optional<uid_t> asker; // of one that is relayed: another user than the job's, whose tool it is
    // Of one that has come to the host of its desk from a third one: the desk's. `from` is then what the desk says.
    std::string by = {};

    bool is_relayed() const { return !from.empty(); }
    auto operator<=>(const ToolOrigin &) const = default;
};

struct ToolVisitor {
    // 0: not known. Of one that is relayed: on its host, as the desk says.
    std::function<pid_t()> pid = [] { return 0; };
    ToolOrigin origin;
    std::string nspace; // the name that it brings; empty: it gets one
    Rank rank = 0;
};

// What is asked before a tool is handed to the library. Nothing: it is asked again soon. What a refusal says is for the
// log.
using ToolMayCome = std::function<std::optional<Result<void>>(const ToolVisitor &)>;
// Its connection, which the library has. In the loop's thread; may be kept for ever.
struct ToolConnection {
    std::function<bool()> is_here; // has the library still got it?
    // Bytes that the library has written and the tool's host has not got; SIZE_MAX: there is no room for more; 0: it is
    // gone.
    std::function<std::size_t()> unsent;
    LibraryConnection connection = {}; // by which upcalls know it
};
// It has been handed over.
using ToolCame = std::function<void(const ToolVisitor &, const ToolConnection &)>;

} // namespace pmixhost
