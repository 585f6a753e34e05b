// Stands in for a TCP connection that carries frames (bench_launch): they go over the links of the simulation.
#pragma once

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/transport/frame_tag.h"
#include "common/wire/frame.h"

#include <deque>
#include <string>

namespace pmixhost {

class Link {
  public:
    struct Callbacks {
        std::function<void(std::uint8_t type, Bytes payload)> on_message;
        std::function<void(Error why)> on_closed;
    };
    Link(EventLoop &loop, UniqueFd fd, Duration dead_after, Callbacks callbacks);
    ~Link();
    Link(const Link &) = delete;

    void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }
    void set_limit(std::uint32_t) {}
    void set_keys(const FrameKey &, const FrameKey &) {}
    void hold() { held_ = true; }
    void release();
    void send(std::uint8_t type, SharedBytes payload);
    std::string peer_address() const { return {}; }
    std::size_t queued_bytes() const { return 0; }
    std::size_t unsent_bytes() const { return 0; }
    bool has_unsent() { return false; }

    // For the simulation: a frame is here, or the other end has gone. The link may be destroyed by it.
    void take(std::uint8_t type, Bytes payload);
    void closed();

  private:
    EventLoop &loop_;
    UniqueFd fd_; // no real one: a number of the simulation's
    Callbacks callbacks_;
    std::deque<std::pair<std::uint8_t, Bytes>> waiting_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    bool held_ = false, ended_ = false;
};

} // namespace pmixhost
