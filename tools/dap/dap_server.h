// `pmixhost debug --dap`: an editor's debug adapter on two descriptors.
#pragma once

#include <functional>
#include <string>

namespace pmixhost {

// Serves one session: reads the client's messages from `in`, writes to `out`, until the client leaves. Blocks. What
// this process and what it launches print on standard output and error goes to the client's console meanwhile. Of a job
// that ran before, and is to be ended with the session, `end_rest` ends whoever was not debugged. False when it has
// failed; standard error says how.
bool serve_dap(int in, int out, const std::function<void(const std::string &nspace)> &end_rest);

} // namespace pmixhost
