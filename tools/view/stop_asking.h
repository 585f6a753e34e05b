// Who waits for a server may be told to leave before it answers.
#pragma once

#include <functional>

namespace pmixhost {

// Asked ten times a second, in any thread; empty: nobody wishes to leave earlier. What is left unanswered by it has
// failed (timeout).
using StopAsking = std::function<bool()>;

} // namespace pmixhost
