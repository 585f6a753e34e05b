// One TCP connection that carries frames. Knows nothing of who the peer is: Mesh decides that and
// what the frames mean. All in the loop's thread.
#pragma once

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/transport/frame_tag.h"
#include "common/wire/frame.h"

#include <deque>
#include <optional>

namespace pmixhost {

class Link {
  public:
    struct Callbacks {
        // A whole message. The link may be destroyed from within.
        std::function<void(std::uint8_t type, Bytes payload)> on_message;
        // The peer closed, the connection broke, or what came is no frame; `denied`: a frame came
        // without its tag. Called once; no further call of any kind follows. The link may be
        // destroyed from within.
        std::function<void(Error why)> on_closed;
    };
    // `fd`: a connected (or connecting, with `connecting`) non-blocking stream socket.
    // `dead_after`: silence of the peer's kernel that means it is gone.
    Link(EventLoop &loop, UniqueFd fd, Duration dead_after, Callbacks callbacks);
    ~Link();
    Link(const Link &) = delete;

    // From the next frame on. Allowed from within a callback.
    void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }
    // Frames longer than this are refused; starts at wire::unauthenticated_limit.
    void set_limit(std::uint32_t bytes) { limit_ = bytes; }
    // From the next frame on, in each direction, frames have tags. Once; allowed from within on_message.
    void set_keys(const FrameKey &sending, const FrameKey &receiving);
    // Reads nothing and hands over nothing until release(): what the peer sends stays with the
    // kernel. For a handshake whose verdict is still being looked for.
    void hold() {
        held_ = true;
        watch();
    }
    // Hands over what was held, from within; the link may be destroyed by it.
    void release();
    // Writes at once what the kernel takes, queues the rest.
    void send(std::uint8_t type, SharedBytes payload);
    // Numeric, without a port; empty where it cannot be told.
    std::string peer_address() const;
    std::size_t queued_bytes() const { return queued_bytes_; }
    // With what the kernel has taken and not sent: a process that ends then takes that with it, where something of the
    // other side's is still unread.
    std::size_t unsent_bytes() const;
    // Are there any? As long as there are, the loop wakes when the last of them goes, which it is not told otherwise:
    // whoever waits for it asks again before the loop waits.
    bool has_unsent();

  private:
    struct Outgoing {
        std::array<char, wire::frame_header_size + FrameTags::size> head{}; // the header, its tag
        std::size_t head_size = 0;
        SharedBytes payload;
        FrameTags::Tag tail{}; // the tag of the payload
        std::size_t tail_size = 0;
        std::size_t ready = 0; // bytes of the payload that may go out: they are in the tag
        bool begun = false;
        std::size_t size() const { return head_size + payload->size() + tail_size; }
        bool complete() const { return begun && ready == payload->size(); }
    };
    struct Incoming {
        wire::FrameHeader header;
        Bytes payload;          // has room for more than has come, and at the end for all of it
        std::size_t come = 0;   // bytes of it
        std::size_t in_tag = 0; // and of these, that are in the tag
        std::size_t missing() const { return header.length - come; }
        std::size_t room() const { return payload.size() - come; }
        void make_room();
        void take(std::string_view bytes);
    };
    void prepare(Outgoing &frame, std::size_t bytes);
    Result<void> begin_incoming();
    void on_ready(unsigned ready);
    void write_some();
    void read_some();
    ssize_t receive(std::size_t &wanted);
    void hand_over();
    void fail(Error why);
    void watch();
    void look_for_life();

    EventLoop &loop_;
    UniqueFd fd_;
    const Duration dead_after_;
    EventLoop::Handle look_; // while something that was sent may not have been acknowledged
    TimePoint owes_since_;   // what was sent first since there was none
    Callbacks callbacks_;
    EventLoop::Handle watch_;
    unsigned interest_ = 0;
    std::uint32_t limit_ = wire::unauthenticated_limit;

    std::deque<Outgoing> queue_;
    std::size_t sent_of_first_ = 0; // bytes of queue_.front() that are out
    std::unique_ptr<FrameTags> tags_out_, tags_in_;
    std::size_t queued_bytes_ = 0;
    bool is_waited_for_ = false; // by who has asked has_unsent()
    bool tells_drained_ = false; // the socket is writable only when the kernel has sent all

    Bytes input_; // bytes read and not yet consumed; none while some of a payload are missing, but in hand_over()
    std::size_t consumed_ = 0;
    std::optional<Incoming> incoming_; // the frame whose header is consumed
    // Set by the destructor: tells a method on the stack that its object is gone.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    bool failed_ = false;
    bool held_ = false;
};

} // namespace pmixhost
