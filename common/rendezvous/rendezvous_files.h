// The files by which tools of this host find a PMIx server: where it listens, and what it is called (PMIx standard,
// "Connection Protocols for Tools"; libpmix 4.2.2 to 5.0.7 read five lines). The library is not asked to write them:
// it writes the server's own namespace only, readable to the user's group, while tools look for the job's.
//
// A tool walks through the directory that PMIX_SYSTEM_TMPDIR, TMPDIR or /tmp names, and takes what *begins* with the
// name that it looks for. So the name of the server's namespace must not begin with that of another server
// ("rm.1.1.server" and "rm.1.10.server" do not), and a tool that names the job "rm.1.1" finds two servers
// while there is a "rm.1.10" on the host.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <ctime>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

struct RendezvousServer {
    std::string nspace;  // its own
    Rank rank;           // in it
    std::string address; // tcp4://127.0.0.1:PORT
    std::string version; // of its library, such as 4.2.2
    pid_t pid;
    uid_t uid;
    gid_t gid;
    std::time_t started;
};

std::string rendezvous_text(const RendezvousServer &server);
// Reads such a text, also that of libpmix' own servers (their fifth line is of another form: `started` is then 0). The
// file may be anybody's: fails (invalid) where a line is missing or makes no sense.
Result<RendezvousServer> parse_rendezvous(std::string_view text);
// "rm.1.0.server.0;tcp4://127.0.0.1:4711"
std::string rendezvous_uri(const RendezvousServer &server);
// The names that tools of `host` (as gethostname(2) says) look for: of any server, and of one by its pid, its own
// namespace and that of the job that it serves. Libraries leave the domain out of the host's name unless told
// otherwise (PMIX_MCA_pmix_keep_fqdn_hostnames), so there are names without it as well.
std::vector<std::string> rendezvous_names(const std::string &host, const RendezvousServer &server,
                                          const std::string &job_nspace);

// The one in the directory of a desk (server-glue/desk/desk_server.h), which no tool searches for.
inline constexpr auto desk_file = "server";

// Writes one file, which nobody but its user can read, under all these names in a directory of the user's. Whoever
// removes the directory removes them. Fails as open(2), write(2) and link(2) do; no name appears before the text is
// whole.
Result<void> write_rendezvous_files(const std::string &directory, const std::vector<std::string> &names,
                                    const std::string &text);

// The file by which tools find the system's server of a host (PMIX_CONNECT_TO_SYSTEM), "pmix.sys.HOST", with and
// without the host's domain. Everybody may read it. It goes with this object, unless somebody has replaced it.
class SystemFiles {
  public:
    // In place of what an earlier one of this user has left. Fails (exists) where it is another user's.
    static Result<SystemFiles> write(const std::string &directory, const std::string &host, const std::string &text);
    // What removes old files finds a new one; one that was removed is written again. Fails (exists) where there is
    // another one by now, which is left alone.
    Result<void> renew();
    SystemFiles(SystemFiles &&other) noexcept
        : text_(std::move(other.text_)), written_(std::exchange(other.written_, {})) {}
    SystemFiles &operator=(SystemFiles &&) = delete;
    ~SystemFiles();

  private:
    struct Written {
        std::string path;
        dev_t device;
        ino_t inode;
    };
    SystemFiles() = default;
    static Result<Written> write_one(const std::string &path, const std::string &text);

    std::string text_;
    std::vector<Written> written_;
};

} // namespace pmixhost
