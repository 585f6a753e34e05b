// The tags of frames: whoever is on the wire between two daemons can neither change, add, repeat,
// reorder nor leave out a frame without being noticed. The one place that uses nettle; why it, and why
// this algorithm: contrib/doc/decisions/frame-tags.md.
//
// A tag is the GMAC (AES-256-GCM over data that is only authenticated, NIST SP 800-38D) with a key of
// its own for each direction of each connection and
//
//   nonce  u32 part (0 header, 1 payload) | u64 number of the frame in this direction, from 0
//
// so a tag is right for one part of one frame in one direction of one connection, and for nothing
// else. No nonce comes twice under a key: keys are of one connection, numbers count up.
#pragma once

#include "common/base/bytes.h"
#include "common/wire/connection_messages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pmixhost {

using FrameKey = std::array<unsigned char, 32>;

struct FrameKeys {
    FrameKey from_dialer;
    FrameKey from_listener;
};

// `hello` and `welcome`: what the two proofs of a handshake vouch for (wire::Introduction, encoded),
// each with a fresh secret of its side. HKDF-SHA256 over both, whole: keys are bound to the step, to
// who dialed whom, to the nonces and to what each side wanted.
FrameKeys frame_keys(const Bytes &hello, const Bytes &welcome);

// Makes the tags of one direction, for its frames in their order. The receiver makes them too and
// compares.
class FrameTags {
  public:
    static constexpr std::size_t size = 16;
    using Tag = std::array<char, size>;

    explicit FrameTags(const FrameKey &key);
    ~FrameTags();
    FrameTags(const FrameTags &) = delete;

    // Begins the next frame.
    Tag of_header(std::string_view header);
    // Its payload, in pieces as they come; then their tag. Not for a frame without payload.
    void add(std::string_view piece);
    Tag of_payload();
    // How many frames have begun.
    std::uint64_t frames() const;

    // Takes as long whether they differ early or late. `bytes` has `size` bytes.
    static bool same(const Tag &tag, const char *bytes);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace pmixhost
