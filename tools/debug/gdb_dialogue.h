// What is said to the gdb of one rank, and what it says: which text answers which command, and what its process does.
// Pure: who owns it reads and writes (host_debug.cc).
#pragma once

#include "tools/debug/gdb_inferiors.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

// Something that is over: a command (`id` is its own), or what the process did by itself (`id` is 0).
struct GdbEvent {
    enum class Kind : std::uint8_t {
        done,    // the answer to a command
        error,   // gdb says no; the text says why
        runs,    // the answer to a command that lets the process run; or it has been let run by what gdb itself does
        stopped, // the process has stopped; the text says where and why
        gone,    // it has ended, or gdb has let go of it, and holds no child of it either; the text says how
    };
    std::uint64_t id = 0;
    Kind kind = Kind::done;
    std::string text;     // for people, in lines; as gdb said it: names in it are the program's
    std::string reason{}; // of `stopped`, in the machine interface's word ("breakpoint-hit"), with a signal's name or a
                          // breakpoint's number behind it; empty: it says none
    std::string thread{}; // of `stopped`: gdb's number of the thread that did; may be empty
};

// How a command is said, and what the text of its answer is.
enum class GdbLanguage : std::uint8_t {
    console, // gdb's ordinary language; text for people
    machine, // GDB/MI; the result's values as JSON in ASCII, a line for each, or gdb's reason for people
};

class GdbDialogue {
  public:
    // What has to be written to gdb so that it looks at the process, once it is started. Its answer has the id
    // `attach_id`: done, or error with gdb's reason.
    std::string begin(pid_t process);
    static constexpr std::uint64_t attach_id = 1;
    // A command of one line; `id` is above attach_id. Commands wait for each other. What is returned has to be written
    // now.
    std::string ask(std::uint64_t id, std::string_view command, GdbLanguage language = GdbLanguage::console);
    // One line of gdb's, without its end; `write` gets what has to be written now.
    std::vector<GdbEvent> on_line(std::string_view line, std::string &write);
    bool runs() const { return runs_; }
    // The last command that gdb has not answered yet; 0: none.
    std::uint64_t last_open() const { return waiting_.empty() ? 0 : waiting_.back().id; }
    // Is there an answer to come to this one, or one before it? Not those of begin().
    bool owes(std::uint64_t id) const {
        return !waiting_.empty() && waiting_.front().id > attach_id && waiting_.front().id <= id;
    }
    // The processes that gdb has hold of, of which the first one may have been let go.
    const GdbInferiors &inferiors() const { return inferiors_; }

    static constexpr std::size_t most_text = 1u << 20; // of an answer; the rest is left out

  private:
    struct Question {
        std::uint64_t id;
        std::string command; // of the machine interface
        bool wants_values{};
    };
    std::string next();
    void on_group(const GdbRecord &record, std::vector<GdbEvent> &out);
    void tell_end(std::vector<GdbEvent> &out);
    void on_result(const GdbRecord &record, std::vector<GdbEvent> &out);
    void on_stop(const GdbRecord &record, std::vector<GdbEvent> &out);
    std::deque<Question> waiting_; // the first one is under way if asked_
    GdbInferiors inferiors_;
    bool asked_ = false, runs_ = false, ran_before_ = false, gone_ = false;
    bool added_ = false; // an inferior that has no process yet: the next one may go on as this
    bool left_ = false;  // gdb has hold of none; where it has another by its next answer it had gone on as that
    bool ended_ = false; // of what it has left
    std::string answer_, complaints_, by_itself_;
};

} // namespace pmixhost
