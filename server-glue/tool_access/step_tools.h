// Tools at a step's daemon: how those of this host find it (common/rendezvous/rendezvous_files.h), and what they are
// called. Who may come is the guard's business (guard/connection_guard.h), before they are heard of here; when they
// go, libpmix says nothing.
#pragma once

#include "common/rendezvous/rendezvous_files.h"
#include "server-glue/guard/tool_visitor.h"
#include "server-glue/publish/tool_place.h"
#include "server-glue/step/step_context.h"
#include "server-glue/tool_access/tool_ask.h"
#include "server-glue/tool_access/tool_names.h"
#include "server-glue/tool_access/tool_origins.h"
#include "server-glue/tool_access/tool_rights.h"

#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>

namespace pmixhost {

class StepTools final : public StepService {
  public:
    explicit StepTools(StepContext &context);

    // May this tool come at all? Nothing: it is not known yet, or another one that is on another host has not got its
    // name yet (tool_origins.h).
    std::optional<Result<void>> may_come(const ToolVisitor &visitor);
    // It has been handed to the library.
    void came(const ToolVisitor &visitor, const ToolConnection &connection);
    // May tools come from there? Nothing: it is not known yet. Those of another user than the job's only with every
    // right: much of what a tool asks libpmix does as the job's user without asking anybody.
    std::optional<Result<void>> may_come_from(const ToolOrigin &origin);
    // The same for a command of the job's user, which does this because another user has asked for it.
    std::optional<Result<void>> may_come_for(const ToolOrigin &origin, uid_t who_asked, policy::Action action);
    // May a tool say that this is its name, although it begins like a job's?
    bool may_be_called(const std::string &name) const { return names_.may_be_said(name); }
    // May that process do this here? Processes of the job may; any other one is a tool.
    bool may(const Process &process, policy::Action action);
    bool is_tool(const Process &process) const {
        return process.nspace != context_.step.nspace && process.nspace != context_.step.server_nspace();
    }

    // Whether that tool is still connected, to be asked at any time; null where nobody knows which connection it has.
    ToolOrigins::IsHere connection_of(const Process &tool) const;
    // Of all that may be connected now; of those whose connection nobody knows, the last that came.
    std::vector<Process> names() const;
    // Where it is, of a tool; where nobody knows its connection, it is here as long as there is any tool.
    std::optional<ToolPlace> place_of(const Process &process);

    // Of the tools that are here now, for what libpmix does without saying for whom: how many; the most that one of
    // them has not taken of what libpmix has written to it, in bytes.
    std::size_t how_many();
    std::size_t have_gone() const { return gone_; } // since the beginning, as how_many() has seen
    // In the order in which they came: the number of the first that is here, and of the last that has come; 0 for none.
    std::uint64_t oldest() const { return present_.empty() ? 0 : present_.front().number; }
    std::uint64_t newest() const { return came_; }
    // The number of the first that is here and may not do this; 0: all may.
    std::uint64_t first_without(policy::Action action);
    // Of those that are here and may do this, and of those that may not.
    std::pair<std::set<LibraryConnection>, std::set<LibraryConnection>> connections_with(policy::Action action);
    // A line in the log for each of them that has none of this yet; `changed`: or another one.
    void log_output_decisions(bool changed);
    std::size_t most_unsent();
    // `changed` is called when a tool comes.
    void when_one_comes(std::function<void()> changed) { on_coming_ = std::move(changed); }

    // At the end: has libpmix yet to write what it was told for tools, and answered? Not where one does not read.
    bool library_sends();

    void take_asks(UpcallHandlers &handlers) override;
    void on_address() override;
    TimePoint next_time() const override { return sends_ && *sends_ ? sends_until_ : TimePoint::max(); }
    void on_time(TimePoint now) override;
    bool has_unsent() override { return context_.ending && how_many() > 0 && library_sends(); }

  private:
    void connected(ToolConnectedAsk ask);
    void offer_to_launcher(const RendezvousServer &server);

    bool is_here(const std::string &nspace) const;
    bool name_is_free(const std::string &nspace);
    void forget(const std::string &nspace);
    void note_used(const std::string &nspace);
    std::optional<Result<void>> may_observe(const ToolOrigin &origin, const std::function<pid_t()> &pid);

    StepContext &context_;
    ToolRights rights_;
    ToolOrigins origins_;
    ToolNames names_;
    struct Present {
        ToolOrigin origin;
        ToolConnection connection;
        std::uint64_t number;
        pid_t pid;                                      // 0: not known
        std::optional<bool> told_output = std::nullopt; // in the log
    };
    using Known = std::map<ToolOrigin, bool>; // what the rules say of one action
    bool may_now(Known &known, const Present &tool, policy::Action action);
    std::uint64_t came_ = 0;
    std::list<Present> present_; // when last looked at
    std::map<std::pair<Bytes, Rank>, ToolOrigins::IsHere> named_;
    std::list<Process> unsure_;            // of unknown connection
    std::set<std::string> used_, leaving_; // namespaces of tools, where libpmix keeps them
    std::size_t gone_ = 0;
    std::function<void()> on_coming_;
    std::shared_ptr<bool> sends_; // null: library_sends() has not been asked
    TimePoint sends_until_;       // then
    int prolonged_ = 0;           // how often
};

} // namespace pmixhost
