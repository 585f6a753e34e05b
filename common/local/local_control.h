// The control channel of the local backend: a stream socket pair between `pmixhost run` (the
// launcher) and the pmixhostd of one virtual host. Frames as between daemons (common/wire/frame.h),
// with the messages of this file; fields become bytes as common/wire/codec.h tells. Byte by byte:
//
//   u16 0x5058 | u8 2 | u8 type | u32 length | length bytes, at most 64 KiB
//
//   daemon -> launcher
//     1 TaskStarted      u32 rank | u32 pid
//     2 TaskEnded        u32 rank | u32 wait status, as waitpid(2) gives it
//     3 TaskNotStarted   u32 rank | u8 exit code to report | text why
//     4 EndStep          u8 exit code | text why
//     5 DaemonFailed     text why
//     9 Launched         u32 status | text why: of a spawned job, all programs of this host run (0), or
//                        one could not be started (a PMIx status, two's complement)
//    10 Started          u8 0: of a spawned job, a program of this host runs, and others do not yet
//   both
//     6 Contact          u32 host | bytes, at most 4 KiB. To the launcher: the host it is for;
//                        from the launcher: the host it is of; without bytes: there is no daemon
//                        of that host any more
//   launcher -> daemon
//     7 SignalTasks      u32 signal | u32 count | count times u32 rank; none means all | u8 1: the job is to
//                        end, so that tasks which have not begun yet never will; 0: it goes on
//     8 Terminate        u8 0: kill what is left and end
//
// text and bytes are u32 length | bytes. A side that gets a frame it does not understand closes. When the launcher
// has closed, the daemon ends its tasks and itself; when the daemon has closed before all its tasks have ended, the
// launcher ends the job, unless that shall live on.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/codec.h"

#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace pmixhost::local {

inline constexpr std::uint32_t control_frame_limit = 64u << 10;
inline constexpr std::size_t contact_limit = 4u << 10;

struct TaskStarted {
    static constexpr std::uint8_t type = 1;
    static constexpr const char *name = "TaskStarted";
    Rank rank = 0;
    std::uint32_t pid = 0;
    static constexpr void fields(auto &&field) {
        field(&TaskStarted::rank, "rank", "");
        field(&TaskStarted::pid, "pid", "");
    }
};
struct TaskEnded {
    static constexpr std::uint8_t type = 2;
    static constexpr const char *name = "TaskEnded";
    Rank rank = 0;
    std::uint32_t wait_status = 0;
    static constexpr void fields(auto &&field) {
        field(&TaskEnded::rank, "rank", "");
        field(&TaskEnded::wait_status, "wait_status", "");
    }
};
struct TaskNotStarted {
    static constexpr std::uint8_t type = 3;
    static constexpr const char *name = "TaskNotStarted";
    Rank rank = 0;
    std::uint8_t exit_code = 0;
    Bytes text;
    static constexpr void fields(auto &&field) {
        field(&TaskNotStarted::rank, "rank", "");
        field(&TaskNotStarted::exit_code, "exit_code", "");
        field(&TaskNotStarted::text, "text", "");
    }
};
struct EndStep {
    static constexpr std::uint8_t type = 4;
    static constexpr const char *name = "EndStep";
    std::uint8_t exit_code = 0;
    Bytes text;
    static constexpr void fields(auto &&field) {
        field(&EndStep::exit_code, "exit_code", "");
        field(&EndStep::text, "text", "");
    }
};
struct DaemonFailed {
    static constexpr std::uint8_t type = 5;
    static constexpr const char *name = "DaemonFailed";
    Bytes text;
    static constexpr void fields(auto &&field) { field(&DaemonFailed::text, "text", ""); }
};
struct Contact {
    static constexpr std::uint8_t type = 6;
    static constexpr const char *name = "Contact";
    HostIndex host = 0;
    Bytes message;
    static constexpr void fields(auto &&field) {
        field(&Contact::host, "host", "");
        field(&Contact::message, "message", "");
    }
};
struct SignalTasks {
    static constexpr std::uint8_t type = 7;
    static constexpr const char *name = "SignalTasks";
    std::uint32_t signal = 0;
    std::vector<Rank> ranks;
    std::uint8_t ends = 0;
    static constexpr void fields(auto &&field) {
        field(&SignalTasks::signal, "signal", "");
        field(&SignalTasks::ranks, "ranks", "");
        field(&SignalTasks::ends, "ends", "");
    }
};
struct Terminate {
    static constexpr std::uint8_t type = 8;
    static constexpr const char *name = "Terminate";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&Terminate::reserved, "reserved", ""); }
};

struct Launched {
    static constexpr std::uint8_t type = 9;
    static constexpr const char *name = "Launched";
    std::int32_t status = 0;
    Bytes text;
    static constexpr void fields(auto &&field) {
        field(&Launched::status, "status", "");
        field(&Launched::text, "text", "");
    }
};

struct Started {
    static constexpr std::uint8_t type = 10;
    static constexpr const char *name = "Started";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&Started::reserved, "reserved", ""); }
};

using ControlMessage = std::variant<TaskStarted, TaskEnded, TaskNotStarted, EndStep, DaemonFailed, Contact, SignalTasks,
                                    Terminate, Launched, Started>;

// A whole frame. Texts and contacts over their limit are cut, so that it always fits.
Bytes encode_control(ControlMessage message);

// Bytes in, messages out; holds at most one frame that is not complete.
class ControlDecoder {
  public:
    void add(std::string_view bytes) { pending_.append(bytes); }
    // The next complete message, nothing when there is none yet, or an error (invalid, limit),
    // after which the stream cannot be used.
    Result<std::optional<ControlMessage>> next();

  private:
    Bytes pending_;
};

// One end of the channel, in the event loop's thread. Never blocks.
class ControlChannel {
  public:
    struct Events {
        std::function<void(ControlMessage)> on_message;
        // Called once, and nothing after it. `why` is empty when the other side closed. The channel may be destroyed
        // here.
        std::function<void(std::string why)> on_closed;
    };
    ControlChannel(EventLoop &loop, UniqueFd socket, Events events);
    ControlChannel(const ControlChannel &) = delete;

    // False once the channel is closed. What the other side does not take is queued, up to a
    // limit, beyond which the channel closes.
    bool send(ControlMessage message);
    bool open() const { return static_cast<bool>(socket_); }

  private:
    void on_ready(unsigned ready);
    void flush();
    void close(std::string why);
    void watch_for_writing(bool wanted);

    EventLoop &loop_;
    UniqueFd socket_;
    std::shared_ptr<const Events> events_; // shared with the call under way, which may destroy us
    ControlDecoder decoder_;
    Bytes out_;
    EventLoop::Handle readable_, writable_, closing_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  public:
    ~ControlChannel() { *alive_ = false; }
};

} // namespace pmixhost::local
