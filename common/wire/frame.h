// The frame: 8 bytes before each message on a connection between two daemons, big-endian. Who the
// sender is follows from the connection, never from the message.
//
//   0  u16 magic 0x5058 ("PX")
//   2  u8  version of the protocol, 2
//   3  u8  type, see all_messages.h
//   4  u32 length of the message that follows, bounded as below
//
// Once a connection is open its frames have tags (transport/frame_tag.h), unless both sides do without:
//
//   header | 16 bytes, tag of the header | message | 16 bytes, tag of the message; none if it is empty
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

#include <array>

namespace pmixhost::wire {

inline constexpr std::uint16_t frame_magic = 0x5058;
inline constexpr std::uint8_t protocol_version = 2;
inline constexpr std::size_t frame_header_size = 8;
// A peer that has not yet proved who it is may send no more than this.
inline constexpr std::uint32_t unauthenticated_limit = 8192;
inline constexpr std::uint32_t frame_limit = 0x7fffffff;

struct FrameHeader {
    std::uint8_t type = 0;
    std::uint32_t length = 0;
};

std::array<char, frame_header_size> encode_header(const FrameHeader &header);
// `bytes` has frame_header_size bytes. Fails (invalid) on a wrong magic or version, (limit) on a
// length over `limit`.
Result<FrameHeader> decode_header(const char *bytes, std::uint32_t limit);

} // namespace pmixhost::wire
