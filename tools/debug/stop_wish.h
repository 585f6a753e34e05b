// Somebody wants a rank to stop (Ctrl-C). Its process is stopped if it runs; while its gdb is busy with a command, that
// may be about to let it run, or call a function of it, or be long in gdb itself. Pure.
#pragma once

#include "tools/debug/gdb_dialogue.h"

#include <chrono>

namespace pmixhost {

class StopWish {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // What a command that only lets the process run has had time for.
    static constexpr std::chrono::milliseconds to_let_it_run{500};

    enum class Act { nothing, stop_process, interrupt_gdb };
    // Somebody wants it now. Where a command is under way the wish is kept until that one, and all that wait behind it,
    // are answered.
    Act wanted(const GdbDialogue &gdb, Time now);
    // What is to be done of a wish that is kept: to be asked when gdb has said something, and again while is_due().
    Act look(const GdbDialogue &gdb, Time now);
    // gdb is to be interrupted, as by Ctrl-C at its own prompt, when the process does not run to_let_it_run later.
    bool is_due() const { return behind_ != 0 && !gdb_told_; }

  private:
    std::uint64_t behind_ = 0; // the last command that it is for; 0: there is no wish
    Time since_;
    bool gdb_told_ = false;
};

} // namespace pmixhost
