// Text for the user by way of a task of the user's own: the standard output or error of the task, which leads to the
// terminal, the --error file or wherever the user wanted it.
#pragma once

#include "common/loop/event_loop.h"

#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// Writes `text` to fd 1 or 2 of `pid`. False when not all of it could be written: it cannot be opened (the task has
// closed it, it is a socket, the program is setuid), or nobody reads there: that there is room is waited for only in
// the middle of a text, and for `patience` at most. Text of up to PIPE_BUF bytes comes whole or not at all; of longer
// ones each line does that is no longer, and one that is longer is not begun where there is no room for it.
//
// It may block for as long as a file server does not answer, so it is not for the loop's thread (task_texts.h).
bool write_for(pid_t pid, int fd, std::string_view text, Duration patience);

} // namespace pmixhost
