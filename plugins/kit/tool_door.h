// Tools on the starter's host (srun's), where the site lets launchers be found (tools.launchers): the first daemon of
// the step offers it, then there are rendezvous files and a listening socket, and with the first tool that connects a
// desk is started (server-glue/desk/desk_server.h), which takes the socket over. So a job that no tool visits costs
// two system calls' worth of files.
//
// The files are in BASE/pmixhost-starters-UID/PID. They go with this object; those of starters that were killed are
// removed by the next one of the user.
//
// One thread: that of the listener (launch_listener.h).
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/rendezvous/tool_offer.h"
#include "plugins/kit/launcher_file.h"

#include <functional>
#include <string>
#include <sys/types.h>

namespace pmixhost::kit {

class ToolDoor {
  public:
    struct Desk {
        pid_t pid = -1;
        UniqueFd channel; // its life; what it tells: common/rendezvous/desk_word.h
    };
    using StartDesk = std::function<Result<Desk>(int listener)>;
    // `own_name_only`: the files tell of the starter's process alone, because a daemon of the job may have some for the
    // job on this host. Without a base in the offer there are none for those who search. Fails as making directories
    // and sockets does, and (denied) where the directory is not the user's.
    static Result<ToolDoor> open(const ToolOffer &offer, bool own_name_only, StartDesk start_desk);
    // A file more, for the tool that has started the starter. Fails as LauncherFile::write() does.
    Result<void> tell(const std::string &file);
    ToolDoor(ToolDoor &&) = default; // as long as there is no desk
    ToolDoor &operator=(ToolDoor &&) = delete;
    // A desk that serves is left alone: it hands on what the job's daemon says last (DeskServer::leave()).
    ~ToolDoor() { close(); }

    // For poll(2), to read; -1: nothing more happens.
    int fd() const { return desk_.channel ? desk_.channel.get() : listener_.get(); }
    // Fails with what the user should know. Does not wait.
    Result<void> on_readable();

  private:
    ToolDoor() = default;
    void close();
    void end_desk();

    UniqueFd listener_;
    Desk desk_;
    StartDesk start_desk_;
    std::string directory_; // empty: nobody searches
    std::string text_;      // of the files
    LauncherFile file_;
    bool serves_ = false; // tools have been let in
};

} // namespace pmixhost::kit
