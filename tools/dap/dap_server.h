// `pmixhost debug --dap`: an editor's debug adapter on two descriptors.
#pragma once

namespace pmixhost {

// Serves one session: reads the client's messages from `in`, writes to `out`, until the client leaves. Blocks. What
// this process and what it launches print on standard output and error goes to the client's console meanwhile. The
// exit code of the command.
int serve_dap(int in, int out);

} // namespace pmixhost
