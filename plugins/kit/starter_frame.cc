// See starter_frame.h.
#include "plugins/kit/starter_frame.h"

namespace pmixhost::kit {

static constexpr std::size_t header_size = 12;

void put_u32(std::string &out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift);
}

std::uint32_t get_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

std::string make_frame(std::uint32_t magic, std::string_view bytes) {
    std::string frame;
    put_u32(frame, magic);
    put_u32(frame, starter_version);
    put_u32(frame, static_cast<std::uint32_t>(bytes.size()));
    return frame.append(bytes);
}

FrameProgress frame_progress(std::string_view bytes) {
    if (bytes.size() < header_size)
        return FrameProgress::more;
    std::uint32_t magic = get_u32(bytes), length = get_u32(bytes.substr(8));
    if ((magic != starter_magic && magic != unproved_magic) || get_u32(bytes.substr(4)) != starter_version ||
        length > max_credential)
        return FrameProgress::bad;
    return bytes.size() >= header_size + length ? FrameProgress::whole : FrameProgress::more;
}

std::size_t frame_size(std::string_view bytes) {
    return header_size + get_u32(bytes.substr(8));
}

std::uint32_t frame_magic(std::string_view bytes) {
    return get_u32(bytes);
}

std::string_view frame_body(std::string_view bytes) {
    return bytes.substr(header_size, get_u32(bytes.substr(8)));
}

} // namespace pmixhost::kit
