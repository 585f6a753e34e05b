// See frame.h.
#include "common/wire/frame.h"

#include "common/wire/codec.h"

#include <algorithm>

namespace pmixhost::wire {

std::array<char, frame_header_size> encode_header(const FrameHeader &header) {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(frame_magic);
    writer.put(protocol_version);
    writer.put(header.type);
    writer.put(header.length);
    std::array<char, frame_header_size> out;
    std::copy_n(bytes.begin(), frame_header_size, out.begin());
    return out;
}

Result<FrameHeader> decode_header(const char *bytes, std::uint32_t limit) {
    Reader reader(std::string_view(bytes, frame_header_size));
    std::uint16_t magic = 0;
    std::uint8_t version = 0;
    FrameHeader header;
    reader.get(magic);
    reader.get(version);
    reader.get(header.type);
    reader.get(header.length);
    if (magic != frame_magic)
        return error(ErrorKind::invalid, "frame: wrong magic {:04x}", magic);
    if (version != protocol_version)
        return error(ErrorKind::invalid, "frame: protocol version {}, this daemon speaks {}", version,
                     protocol_version);
    if (header.length > limit)
        return error(ErrorKind::limit, "frame: {} bytes, allowed are {}", header.length, limit);
    return header;
}

} // namespace pmixhost::wire
