// The report channel: what the daemons of a step (or a task's hook) tell the *starter*, the command with which the
// user started the step (srun): why the step was ended and what the starter should return (the exit report); that
// the programs of a spawned step run, or why not; and invitations to the launcher beside the starter, which
// listens from before the launch on (launch_listener.h).
//
// Where to send it travels in the step's environment and in the start document (report_variable and `slurm.report`
// under Slurm): "PORT COOKIE ADDRESS [ADDRESS ...]", the cookie as 32 hex digits, the numeric
// addresses of the starter's host, at most max_addresses. A sender cannot know which of them leads to
// it, so it sends to each that takes the connection; the starter uses the first report that is genuine.
//
// One message per connection, then the sender closes; only a message of kind 5 has others behind it.
// Big-endian:
//     u32 magic 0x504d5852 ("PMXR") | u32 version 3 | u32 length | length bytes
// The bytes (at most max_credential) are a munge credential that only the sender's own uid may
// open, whose payload is
//     16 bytes cookie | u32 kind | i32 status | u32 length | body
//     kind 1  exit report: status 0..255, body a text of at most max_report_text
//     kind 2  the programs of a spawned step run on a host (status 0, body the host's index), or one
//             could not be started (a PMIx status, and a text)
//     kind 3  an invitation (common/transport/invitation.h), at most max_invitation bytes
//     kind 4  a line for the user; the step goes on (status 0)
//     kind 5  this connection is kept for what comes later (status 0): others that are silent are closed
// The starter takes it when munge names its own uid or root as the sender and the cookie is its own.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/config/settings.h"
#include "common/peer/peer_address.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace pmixhost::kit {

inline constexpr std::uint32_t exit_report_magic = 0x504d5852;
inline constexpr std::uint32_t exit_report_version = 3;
inline constexpr std::size_t max_report_text = 1024;
inline constexpr std::size_t max_invitation = 4096;
inline constexpr std::size_t max_credential = 8192;
inline constexpr std::size_t max_addresses = 8;

using Cookie = std::array<unsigned char, 16>;

struct ExitReport {
    int exit_status = 1;
    std::string text; // one line
};

struct StarterMessage {
    enum class Kind : std::uint32_t { exit_report = 1, launched = 2, invitation = 3, note = 4, kept = 5 };
    Kind kind = Kind::exit_report;
    int status = 0;
    std::string body;
};

// Seals a payload so that the other side learns who sealed it. Munge, or a test's stand-in.
class Sealer {
  public:
    struct Opened {
        std::string payload;
        uid_t uid;
    };
    virtual ~Sealer() = default;
    virtual Result<std::string> seal(std::string_view payload) = 0;
    virtual Result<Opened> open(const std::string &sealed) = 0;
};
// With munge; blocks for as long as munged takes.
class MungeSealer : public Sealer {
  public:
    Result<std::string> seal(std::string_view payload) override;
    Result<Opened> open(const std::string &sealed) override;
};

// Where to send reports.
struct ReportTarget {
    std::uint16_t port = 0;
    Cookie cookie{};
    std::vector<std::string> addresses;

    std::string text() const;
    static Result<ReportTarget> parse(std::string_view text);
};

// Sends to every address, in parallel, within `limit`. Fails (unreachable) when none took it.
// Blocking: for a worker thread or a process that has nothing else to do.
Result<void> send_exit_report(const ReportTarget &target, const ExitReport &report, Sealer &sealer,
                              std::chrono::milliseconds limit);

Result<void> send_to_starter(const ReportTarget &target, const StarterMessage &message, Sealer &sealer,
                             std::chrono::milliseconds limit);

// A message that is sealed and has its connections, so that to send it takes no time: what must be out
// before the RM ends this process is prepared before. On each connection it is said at once who keeps it.
class ReadyMessage {
  public:
    // Blocking, like send_to_starter.
    static Result<ReadyMessage> prepare(const ReportTarget &target, const StarterMessage &message, Sealer &sealer,
                                        std::chrono::milliseconds limit);
    // Once. Fails (unreachable) when the starter has closed all connections.
    Result<void> send();

  private:
    std::string frame_;
    std::vector<UniqueFd> connections_;
};

// One connection that the starter has taken.
class StarterConnection {
  public:
    enum class Progress { more, whole, bad };
    explicit StarterConnection(UniqueFd fd, PeerAddress from = {}) : fd_(std::move(fd)), from_(from) {}
    int fd() const { return fd_.get(); }
    const PeerAddress &from() const { return from_; }
    // Reads until there is a whole frame, which may be there already, or nothing more to read.
    Progress receive();
    // The first whole frame, which is then no longer there.
    std::string take_frame();

  private:
    UniqueFd fd_;
    PeerAddress from_;
    std::string bytes_;
};

// The starter's side.
class ExitReportListener {
  public:
    // Listens on all addresses, v4 and v6, on a port in `range` if it says so.
    static Result<ExitReportListener> open(PortRange range);
    // For the environment of the step.
    ReportTarget target() const;
    // The first genuine report among the connections that are waiting now. Takes at most `limit`,
    // and no time when there are none.
    std::optional<ExitReport> collect(Sealer &sealer, std::chrono::milliseconds limit);
    // For who waits in poll(2) itself.
    int fd() const { return socket_.get(); }
    std::optional<StarterConnection> accept(); // errno tells why there is none
    const Cookie &cookie() const { return cookie_; }

  private:
    UniqueFd socket_;
    std::uint16_t port_ = 0;
    Cookie cookie_{};
};

// The parts, for tests. `frame` is what goes over the wire.
Result<std::string> make_frame(const Cookie &cookie, const ExitReport &report, Sealer &sealer);
Result<std::string> make_message(const Cookie &cookie, const StarterMessage &message, Sealer &sealer);
Result<StarterMessage> open_message(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer);
// Fails (invalid) on a message that is no exit report.
Result<ExitReport> open_frame(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer);

} // namespace pmixhost::kit
