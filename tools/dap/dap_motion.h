// What runs and what stands, for a client of the Debug Adapter Protocol. As at the prompt of `pmixhost debug`, a
// request to go on is for all ranks of the focus, each of which does the same; with singleThread it is for the rank of
// the thread. gdb lets all threads of a rank run, and stops all of them. Pure.
#pragma once

#include "tools/dap/dap_breakpoints.h"
#include "tools/dap/dap_references.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace pmixhost {

class DapMotion {
  public:
    DapMotion(DapClient &client, DapRanks &ranks, DapBreakpoints &breakpoints, DapReferences &references)
        : client_(&client), ranks_(&ranks), breakpoints_(&breakpoints), references_(&references) {}
    // continue, next, stepIn, stepOut, pause, threads, exceptionInfo.
    void add_to(DapHandlers &handlers);

    // From now on the client hears who stops. Those who stand already: `entry` says that they are to stand, else they
    // go on.
    void begin(bool entry);
    // A rank that comes when the others have begun: as they did.
    void join(Rank rank);
    // A rank has stopped by itself.
    void on_stop(const RankEvent &event);
    // It runs again by itself.
    void on_run(Rank rank) { on_answer(rank, {0, GdbEvent::Kind::runs, {}}); }

    // Something is said to these ranks that may let them run; each answer is to be handed in as it comes. What was
    // known of the frames of one that runs is void, and the client hears of it before it hears of that one's next
    // stop.
    void on_said(const std::vector<Rank> &ranks) { said_to_.insert(ranks.begin(), ranks.end()); }
    void on_answer(Rank rank, const GdbEvent &answer);

    const std::optional<std::vector<Rank>> &focus() const { return focus_; }
    void set_focus(std::optional<std::vector<Rank>> focus) { focus_ = std::move(focus); }
    // Those that are about to run are stopped when they do.
    void interrupt(const std::optional<std::vector<Rank>> &ranks);

  private:
    struct Going;
    void go(const DapRequest &request, const char *command, bool with_thread);
    void went(Going &going, Rank rank, const GdbEvent &answer);
    void learn_threads(const DapRanks::Answers &answers); // to -thread-info
    void begin_with(const std::vector<Rank> &stopped);
    bool leaves_focus(Rank rank, const nlohmann::json &how) const;
    void tell_stop(Rank rank, const nlohmann::json &how, const std::string &thread);

    DapClient *client_;
    DapRanks *ranks_;
    DapBreakpoints *breakpoints_;
    DapReferences *references_;
    std::optional<std::vector<Rank>> focus_; // nothing: all
    std::set<Rank> steps_;                   // that were told to make a step, and have not stopped yet
    std::set<Rank> said_to_;                 // that may be about to run
    std::set<Rank> to_be_stopped_;           // of those: when they run
    std::map<Rank, std::string> exceptions_; // of those that have stopped: the signal, and what gdb says of it
    std::optional<Rank> leader_;             // whom the client looks at, as far as it has said
    bool begun_ = false, entry_ = false;
};

} // namespace pmixhost
