// What PMIx_server_setup_fork of the PMIx library that pmixhost was built with has given a process, as the build has
// seen it (environment_probe.c, see_environment.sh). Never changes; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pmixhost {

struct SeenEnvironment {
    std::string library; // as PMIx_Get_version says it; empty: nothing could be seen
    // NAME=VALUE, in the library's order. @nspace@, @rank@, @server@ (namespace.rank), @address@, @directory@, @store@,
    // @host@ and @pid@ stand for what depends on the process, the server and its host.
    std::vector<std::string> by_default; // empty: it is not the same each time, or could not be seen
    std::vector<std::string> with_hash;  // with PMIX_MCA_gds=hash in the server's environment; likewise
    // The files that the library reads settings from, with what was in them (settings_file.h). @home@ is the user's
    // home directory.
    std::map<std::string, std::string> files;
};
const SeenEnvironment &seen_environment();

} // namespace pmixhost
