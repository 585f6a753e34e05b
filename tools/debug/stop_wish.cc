// See stop_wish.h.
#include "tools/debug/stop_wish.h"

#include <utility>

namespace pmixhost {

StopWish::Act StopWish::wanted(const GdbDialogue &gdb, Time now) {
    behind_ = gdb.runs() ? 0 : gdb.last_open();
    since_ = now;
    gdb_told_ = false;
    return gdb.runs() ? Act::stop_process : Act::nothing;
}

StopWish::Act StopWish::look(const GdbDialogue &gdb, Time now) {
    if (behind_ == 0)
        return Act::nothing;
    if (gdb.runs() || !gdb.owes(behind_)) {
        behind_ = 0;
        return gdb.runs() ? Act::stop_process : Act::nothing;
    }
    bool told = gdb_told_ || now - since_ < to_let_it_run;
    gdb_told_ = gdb_told_ || !told;
    return told ? Act::nothing : Act::interrupt_gdb;
}

} // namespace pmixhost
