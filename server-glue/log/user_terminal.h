// A line for the user, where the RM offers no way to say one: the standard error of a task of the
// user's own, which leads to the terminal, the --error file or wherever the user wanted it.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// Writes "pmixhost: <text>\n" to fd 2 of `pid`, without waiting. Nothing happens where fd 2 cannot be opened (the
// task has closed it, it is a socket, the program is setuid).
void say_on_terminal(pid_t pid, std::string_view text);

// Writes `text` as it is to fd 1 or 2 of `pid`, without waiting. False when not all of it could be
// written: nobody reads there fast enough, or as above.
bool write_for(pid_t pid, int fd, std::string_view text);

} // namespace pmixhost
