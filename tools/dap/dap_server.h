// `pmixhost debug --dap`: an editor's debug adapter on two descriptors.
#pragma once

namespace pmixhost {

// Serves one session: reads the client's messages from `in`, writes to `out`, until the client leaves. Blocks. What
// this process and what it launches print on standard output and error goes to the client's console meanwhile. False
// when it has failed; standard error says how.
bool serve_dap(int in, int out);

} // namespace pmixhost
