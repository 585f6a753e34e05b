// A session of the Debug Adapter Protocol (DAP, https://microsoft.github.io/debug-adapter-protocol): an editor debugs
// the ranks of a job through the gdbs of `pmixhost debug`. A rank's threads are the protocol's threads. Pure: who owns
// it reads, writes and starts (dap_server.h).
#pragma once

#include "tools/dap/dap_console.h"
#include "tools/debug/rank_answers.h"

#include <optional>

namespace pmixhost {

// What the client asked to debug, in the words of `pmixhost debug`.
struct DapStart {
    std::string job;                  // of "attach"; empty: a launch
    std::vector<std::string> command; // of "launch", srun first
    std::string directory;            // for it; empty: as this process has
    // More for it; what has no value is unset.
    std::map<std::string, std::optional<std::string>> environment;
    std::string stop = "exec"; // where the processes of a launch stop first
    std::string ranks;         // empty: all
    bool takes_input = false;  // a launch, from `input` of the console; else it is /dev/null
    unsigned patience = 60;    // seconds, until all hosts have answered
};

class DapSession {
  public:
    struct Callbacks {
        std::function<void(const nlohmann::json &)> to_client;
        std::function<void(const ToHost &)> to_hosts;
        // What `input TEXT` and `eof` of the console do; fails with what to tell the user.
        std::function<Result<void>(const PromptInput &)> give;
    };
    explicit DapSession(Callbacks callbacks);

    void on_message(const nlohmann::json &message);
    // What is to be started; once.
    std::optional<DapStart> take_start() { return std::exchange(start_, std::nullopt); }
    // The way to the hosts of these ranks is there, or it cannot be: the text says why.
    void on_started(const std::vector<Rank> &ranks) { ranks_.expect(ranks), started_ = true; }
    void on_not_started(const std::string &why);
    void on_host(const FromHost &said);
    // Whoever has not been attached to is given up.
    void give_up_starting(const std::string &why);
    bool awaits_ranks() const { return started_ && attaching_; }
    // To be called when all that has come at once has been handed in: what ranks have said is shown, what is the same
    // once.
    void settle();
    void on_hosts_gone(const std::string &why);
    void on_output(const char *category, const std::string &text) { client_.output(category, text); }
    // The launched command has ended; its hosts have been heard to the end.
    void on_launch_end(int exit_code);
    // All that end() asked for has been done.
    void on_all_over();

    // How it is to end: the client has left, or asked for it.
    enum class End : std::uint8_t { none, let_go, kill };
    End end() const { return end_; }
    bool leaves() const { return leaving_.has_value(); } // it has said "disconnect"
    // The client is gone without a word: as if it had said "disconnect".
    void on_client_gone() { quit(launched_); }
    bool any_alive() const { return ranks_.any_alive(); }

  private:
    void add_handlers();
    void initialize(const DapRequest &request);
    void attach(const DapRequest &request);
    void launch(const DapRequest &request);
    void begin(const DapRequest &request, DapStart start);
    void ready_or_not();
    void tell_end(Rank rank);
    void quit(bool kills);
    void terminated();

    DapClient client_;
    DapRanks ranks_;
    DapReferences references_;
    DapBreakpoints breakpoints_;
    DapMotion motion_;
    DapLook look_;
    DapConsole console_;
    DapHandlers handlers_;
    std::optional<DapStart> start_;
    std::optional<DapRequest> leaving_;   // "disconnect", answered when all is over
    std::optional<DapRequest> attaching_; // "attach" or "launch", as long as it is not answered
    bool asked_ = false, started_ = false, launched_ = false, entry_ = false, configured_ = false;
    bool said_terminated_ = false;
    std::vector<RankText> said_;
    End end_ = End::none;
};

} // namespace pmixhost
