// Which PMIx libraries the processes of this host have, where it is another version than the daemon's (a container
// brings its own), and the line for the user when something cannot work for that reason. A step's user reads one line
// of each subject, whatever the number of hosts and processes; the daemon's log has one line for each host.
//
// What is known of a process is what it said in its first message (guard/hello.h), of which only the three numbers
// of the version come here. In the loop's thread; costs nothing where the versions are the same.
#pragma once

#include "common/base/log.h"
#include "common/job/job_map.h"
#include "server-glue/library/library_version.h"
#include "server-glue/rm/user_notes.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pmixhost {

class ClientLibraries {
  public:
    // `notes` may be null. Both outlive this.
    ClientLibraries(Log &log, RmUserNotes *notes, std::string host, LibraryVersion own);

    // A process of this step connects; perhaps another program of the same task did before.
    void let_in(Rank rank, const LibraryVersion &version);
    // It may not: `why`, in words for people. Its program only gets an error.
    void turned_away(Rank rank, const std::string &why);

    // The first process that writes about groups in another way than the daemon (group_writing()), of those for which
    // `asked` is true.
    std::optional<Rank> first_with_other_groups(const std::function<bool(Rank)> &asked) const;
    // Says that PMIx_Group_construct cannot work for it.
    void tell_of_groups(Rank rank);

  private:
    void tell(UserNote note);

    Log &log_;
    RmUserNotes *notes_;
    const std::string host_;
    const LibraryVersion own_;
    std::map<Rank, LibraryVersion> others_; // of those with another version
    std::set<UserNote::Subject> told_;
};

} // namespace pmixhost
