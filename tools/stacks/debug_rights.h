// What the rules for tools say of commands that stop a job's processes with a debugger of their own. The kernel lets
// users do that to their own processes in any case; whether ours does it for them is the site's to say.
#pragma once

#include "common/base/result.h"

namespace pmixhost {

// May the user of this process debug own jobs on this host? Fails (denied), naming the rule. Blocks: it reads files,
// and asks the system's database of users and groups.
Result<void> may_debug_here();

} // namespace pmixhost
