// A look at a host that may hang: a home or a directory that does not answer, a directory service. What hangs is a
// finding, and does not keep the others' findings from being seen.
#pragma once

#include "common/check/finding.h"

#include <chrono>
#include <functional>
#include <string>

namespace pmixhost {

// Does `look` in a thread of its own, which is left behind when it has not ended after `patience`: `hung` becomes true
// then, and the process is to end by _exit(2). `look` owns all that it uses. `what` is the check of the finding.
Findings look_within(const std::string &what, std::chrono::milliseconds patience, std::function<Findings()> look,
                     bool &hung);

} // namespace pmixhost
