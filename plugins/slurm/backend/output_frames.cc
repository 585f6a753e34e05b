// See output_frames.h.
#include "plugins/slurm/backend/output_frames.h"

namespace pmixhost::slurm {

namespace {

constexpr std::size_t header_bytes = 10;
enum Type : std::uint16_t { out = 1, err = 2, connection_test = 4 };

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
        number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

} // namespace

Result<void> OutputFrames::add(std::string_view bytes, const std::function<void(const Frame &)> &on_frame) {
    if (!pending_.empty()) {
        pending_ += bytes;
        bytes = pending_;
    }
    while (bytes.size() >= header_bytes) {
        const std::uint32_t type = number_at(bytes, 0, 2), length = number_at(bytes, 6, 4);
        if ((type != out && type != err && type != connection_test) || length > longest)
            return error(ErrorKind::invalid, "slurmstepd's output has a frame of type {} and {} bytes", type, length);
        if (bytes.size() - header_bytes < length)
            break;
        if (type != connection_test)
            on_frame(
                {type == err, static_cast<std::uint16_t>(number_at(bytes, 4, 2)), bytes.substr(header_bytes, length)});
        bytes.remove_prefix(header_bytes + length);
    }
    pending_ = Bytes(bytes);
    return {};
}

} // namespace pmixhost::slurm
