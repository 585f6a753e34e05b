// What a process will need in its environment to reach the PMIx server, known before the library is started: so a
// program that never calls PMIx need not wait for the library, nor is it started for it (decisions/start.md).
//
// It is what the build has seen of this very version (seen_environment.h), with this server's names; or it cannot be
// known. When the library has started, what it gives is compared with what was expected.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "server-glue/library/seen_environment.h"

#include <functional>
#include <string>
#include <vector>

namespace pmixhost {

struct ExpectedServer {
    std::string nspace; // the server's own
    Rank rank = 0;
    std::string address; // tcp4://127.0.0.1:PORT
    std::string directory, store;
    std::string hostname;
    long pid = 0;
};

// The settings of the library that a process has: its environment (NAME=VALUE) and what a file says (settings_file.h),
// empty if there is none.
struct LibrarySettings {
    std::string version; // as PMIx_Get_version says it
    std::vector<std::string> environment;
    std::function<std::string(const std::string &path)> read;
};
// Of this process. Reading may wait for a file system.
LibrarySettings own_library_settings();

class ExpectedEnvironment {
  public:
    // Fails (unsupported) with the reason why it cannot be known.
    static Result<ExpectedEnvironment> create(const SeenEnvironment &seen, const LibrarySettings &settings,
                                              ExpectedServer server);
    // NAME=VALUE for this process, as PMIx_server_setup_fork will give it.
    std::vector<std::string> of(const std::string &nspace, Rank rank) const;

  private:
    ExpectedEnvironment(std::vector<std::string> entries, ExpectedServer server)
        : entries_(std::move(entries)), server_(std::move(server)) {}
    std::vector<std::string> entries_; // with marks
    ExpectedServer server_;
};

// Do clients of this process' library look for the files of its store before they connect, and do without the store
// where there are none? (libpmix 4.2 with its store in shared memory: pmix_common_dstor_init.)
bool clients_open_store_first();

// Does the library give what was expected? The text of the failure (unsupported) names what differs, and what to do.
Result<void> is_as_expected(const std::vector<std::string> &expected, const std::vector<std::string> &given);
// The names of what it gives beyond that, as they may stand in a message.
std::vector<std::string> names_beyond(const std::vector<std::string> &expected, const std::vector<std::string> &given);

} // namespace pmixhost
