// Calls of libpmix as a tool, each in a process of its own: libpmix speaks with one server per process, prints what it
// thinks, and may wait for ever. That process is ended when its time is up.
#pragma once

#include "common/base/unique_fd.h"
#include "tools/view/server_list.h"
#include "tools/view/stop_asking.h"

#include <chrono>
#include <functional>
#include <optional>

namespace pmixhost {

// A variable of the environment by which a tool takes itself for a task, or another server for the one that is meant: a
// task has them, and what it starts.
bool leads_tools_elsewhere(std::string_view variable);
// For a tool that comes to a job of another user: by libpmix' module "munge" it would give that user a credential with
// which he could come to a gate (pmixhost-gate(8)) as who runs the tool. The kernel tells ours whose it is, anyway.
inline constexpr auto security_variable = "PMIX_MCA_psec", gives_no_credential = "native";

// Connects to the server, calls `ask` and gives what it returned. `ask` must not touch what this process has open.
// Blocks for `patience` at most. Fails (timeout; system, with what libpmix said of the connection, with the text behind
// the exclamation mark when what `ask` returned begins with one, and when the asking process did not live to answer).
// `name`: the tool's namespace, of which it is rank 0; empty: the server gives it a name.
Result<std::string> as_tool(const ListedServer &server, std::chrono::seconds patience,
                            const std::function<std::string()> &ask, const std::string &name = {});

// The same of several servers at once, `most_asked_at_once` at a time; the answers are in their order. `patience` is
// for each of them; when `stop` says so, what has not answered has failed (timeout).
using AskServer = std::function<std::string(const ListedServer &server)>;
constexpr std::size_t most_asked_at_once = 8;
std::vector<Result<std::string>> as_tool_of_each(const std::vector<ListedServer> &servers,
                                                 std::chrono::seconds patience, const AskServer &ask,
                                                 const std::string &name = {}, const StopAsking &stop = {});

// How long a ListeningTool may take until it listens.
constexpr auto tool_connects_in = std::chrono::seconds(30);

// A process that is a tool of a server for longer, and writes what it has to say into a pipe. Ended when this is
// dropped, or when this process ends.
class ListeningTool {
  public:
    // `listen` gets the descriptor to write lines to; what it returns is as `ask` of as_tool() has it, and is the last
    // line. So is what libpmix said when it could not connect. Fails (system) where there can be no process or pipe.
    static Result<ListeningTool> start(const ListedServer &server, const std::function<std::string(int to)> &listen);
    ListeningTool(ListeningTool &&other) noexcept;
    ~ListeningTool();

    int fd() const { return from_.get(); } // readable: call read_lines()
    // The whole lines that are there; blocks until there is something. Nothing: it has ended.
    std::optional<std::vector<std::string>> read_lines();

  private:
    ListeningTool(pid_t pid, UniqueFd from) : pid_(pid), from_(std::move(from)) {}
    pid_t pid_ = -1;
    UniqueFd from_;
    std::string begun_;
};

} // namespace pmixhost
