// What the gate's processes may do beside what their user may. For a program that has one thread.
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost {

// Of root: becomes `user` (a name), and keeps CAP_SETUID and CAP_SETGID alone, of which no program that is executed
// gets anything; nothing else can come back. Of somebody else, as whom a service manager has started it with these
// two, keeps them alone; `user` must be empty then, or the name of who it is. Fails (denied) where they are missing.
Result<void> keep_setuid_alone(const std::string &user);
// Puts these two down as well.
Result<void> keep_nothing();
// For a process with these two: becomes the user, with the groups that the system's database gives, and cannot go
// back. Looks the user up, and may wait for that. Sets HOME, USER and LOGNAME.
Result<void> become_user(uid_t user);

} // namespace pmixhost
