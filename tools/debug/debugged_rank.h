// One rank of `pmixhost debug` on its host: its gdb, what is said to that, and the processes that it has hold of, which
// are left as they were. Reads and writes without blocking, but for the second that an end of gdb is waited for. One
// thread.
#pragma once

#include "tools/debug/gdb_dialogue.h"
#include "tools/debug/stop_wish.h"
#include "tools/stacks/gdb_process.h"
#include "tools/stacks/looked_at.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pmixhost {

class DebuggedRank {
  public:
    // `gdb`: has just been started; it is told to attach to the process, as the answer GdbDialogue::attach_id says.
    DebuggedRank(GdbProcess gdb, LookedAt process);

    // Its gdb has ended, or says too much: nothing of what is below may be asked but for its end.
    bool is_lost() const { return lost_; }
    // For poll(2): when output() can be read, read(); and while there is something to write, write() when input() takes
    // more.
    int output() const { return gdb_.output(); }
    int input() const { return gdb_.input(); }
    bool has_to_write() const { return !to_write_.empty(); }
    void write();
    // Tells what has happened in its order, at last that it is gone where it is lost.
    void read(const std::function<void(GdbEvent)> &tell);

    // As GdbDialogue has it.
    void ask(std::uint64_t id, const std::string &command, GdbLanguage language);
    // Somebody wants it to stop (stop_wish.h). While the wish is due it is to be looked at every tenth of a second.
    void want_stop();
    bool wish_is_due() const { return wish_.is_due(); }
    void look_at_wish();

    // Of the process that gdb was begun with.
    pid_t pid() const { return process_.pid(); }
    // What else its gdb has taken hold of by itself, as a child that it has followed.
    std::vector<pid_t> followed() const;
    // It had stopped for a debugger, which has it now.
    void take_stop_back() const { process_.take_stop_back(); }

    // It is to be let go: one that runs is stopped, as gdb reads nothing while its process runs, and breakpoints that
    // it does not take out would end the process later. Then end gdb (end_all), take the processes, drop this, and put
    // them right.
    void begin_end();
    GdbProcess &gdb() { return gdb_; }
    // The one that gdb was begun with is the first.
    std::vector<LookedAt> take_processes();

  private:
    const LookedAt *of(pid_t pid) const;
    void stop();
    void act(StopWish::Act what);
    bool has_stopped(std::string_view reason);
    void look_at_inferiors();
    void lose();

    GdbProcess gdb_;
    LookedAt process_; // gdb may have let go of it for a child
    GdbDialogue dialogue_;
    std::string begun_, to_write_; // a line that has not ended; what the pipe has not taken yet
    bool lost_ = false;
    std::map<pid_t, LookedAt> followed_; // what else the gdb has hold of
    std::vector<pid_t> held_;            // all that it had, at the last look
    StopWish wish_;
    pid_t told_to_stop_ = 0; // by a signal, and it has not stopped yet
};

} // namespace pmixhost
