// How a message for the starter (starter_message.h, unproved_note.h) lies in the stream, big-endian:
//     u32 magic | u32 version 3 | u32 length | length bytes, at most max_credential
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pmixhost::kit {

inline constexpr std::uint32_t starter_magic = 0x504d5852;  // "PMXR", a message that proves who sent it
inline constexpr std::uint32_t unproved_magic = 0x504d5855; // "PMXU", one that cannot
inline constexpr std::uint32_t starter_version = 3;
inline constexpr std::size_t max_credential = 8192;

void put_u32(std::string &out, std::uint32_t value);
// Precondition: four bytes are there.
std::uint32_t get_u32(std::string_view bytes);

std::string make_frame(std::uint32_t magic, std::string_view bytes);

// How much of the frame that begins `bytes` is there.
enum class FrameProgress { more, whole, bad };
FrameProgress frame_progress(std::string_view bytes);
// Of the frame that begins `bytes`. Precondition for all of them: it is whole.
std::size_t frame_size(std::string_view bytes); // bytes, with its header
std::uint32_t frame_magic(std::string_view bytes);
std::string_view frame_body(std::string_view bytes);

} // namespace pmixhost::kit
