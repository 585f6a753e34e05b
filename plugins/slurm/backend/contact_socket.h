// Where slurmd delivers the contact messages of the other hosts (slurm_forward_data): an AF_UNIX
// stream socket under a path that the sender can work out and nobody but the user can take:
//
//     BASE/.pmixhost-UID/JOB.STEP.HOST
//     BASE/.pmixhost-UID/JOB.STEP.HOST.FAMILY     of a step with a secret
//
// JOB is the step's leading job, HOST the receiver's index in the step's list of hosts, FAMILY the public name of the
// secret: only those with one secret, or with none, can prove anything to each other. Hosts of one machine, and
// components that share a host, do not collide. The directory is made on first use with mode 0700; the socket goes
// when the daemon ends, and the directory with the last socket. What a killed daemon left behind the next ones of this
// user remove: each looks at a few names. Whoever makes, replaces or removes a name holds the lock of the directory
// (flock), so that nobody removes the socket of another one.
//
// slurmd connects as the sending user (which munge has told it) and writes
//     u32be uid of the sender | u32be length | bytes
// Wrong uids and anything over max_contact are dropped. At most 64 visitors are held, the oldest goes first.
//
// Lives in the event-loop thread.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <list>
#include <memory>
#include <string>

#include <sys/types.h>

namespace pmixhost::slurm {

inline constexpr std::size_t max_contact = 4096;

// Where the session of an allocation listens: BASE/.pmixhost-UID/JOB.session, of a family with a secret
// JOB.session.FAMILY. Fails as contact_path() does.
Result<std::string> session_path(const std::string &base, uid_t uid, std::uint32_t job, const std::string &family);
std::string contact_directory(const std::string &base, uid_t uid);
// Fails (limit) where the path is longer than a socket's name may be.
Result<std::string> contact_path(const std::string &base, uid_t uid, std::uint32_t job, std::uint32_t step,
                                 std::uint32_t host, const std::string &family);
// Of a step with that secret; empty where there is none.
std::string family_of(std::string_view secret);

class ContactSocket {
  public:
    // What open() does where somebody listens at that path: fail (exists), or take the place.
    enum class Sharing { take_over, first_only };
    // Listens at `path`, which contact_path() or session_path() has given; `loop` and `log` outlive this.
    // `on_message` gets each message, in the loop's thread. With first_only it fails (exists) where somebody listens,
    // and (timeout) where another process keeps the lock. Fails (denied) where the directory is not the user's own,
    // (limit) on a path that is too long, and as system_error() says.
    static Result<std::unique_ptr<ContactSocket>> open(EventLoop &loop, Log &log, const std::string &path,
                                                       std::function<void(std::string message)> on_message,
                                                       Sharing sharing = Sharing::take_over);
    ~ContactSocket();
    ContactSocket(const ContactSocket &) = delete;

  private:
    struct Visitor;
    struct Socket { // that listens, and what it is in the file system
        UniqueFd fd;
        dev_t device = 0;
        ino_t inode = 0;
    };
    ContactSocket(EventLoop &loop, Log &log, std::string path, Socket socket,
                  std::function<void(std::string)> on_message);
    static Result<Socket> listen_in(const std::string &directory, const std::string &name, const std::string &path,
                                    Sharing sharing);
    void watch();
    void accept();
    void drop(Visitor *visitor);

    EventLoop &loop_;
    Log &log_;
    std::string path_;
    Socket socket_;
    std::function<void(std::string)> on_message_;
    std::list<std::unique_ptr<Visitor>> visitors_; // oldest first
    EventLoop::Handle watch_;
    RateLimit refused_, garbled_;
};

} // namespace pmixhost::slurm
