// What slurmstepd sends to a reader of its tasks' output, after the greeting: a header of 10 bytes in big-endian order,
//     u16 type | u16 task of the step | u16 task of the host | u32 length
// and `length` bytes; none mean that the stream has ended. (io_hdr_pack in Slurm's src/common/io_hdr.c; the same from
// 20.11 to 26.05.) The step's task has too few bits for a large step, so the host's counts.
//
// Pure.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace pmixhost::slurm {

class OutputFrames {
  public:
    static constexpr std::uint32_t longest = 1u << 20; // slurmstepd's own have at most 1024 bytes
    struct Frame {
        bool is_err = false;
        std::uint16_t task = 0; // of this host
        std::string_view bytes; // none: the stream has ended
    };
    // Takes the bytes of a stream, in pieces as they come; `bytes` of a frame is valid in the call. Fails (invalid)
    // where they are no such frames; nothing after that can be read.
    Result<void> add(std::string_view bytes, const std::function<void(const Frame &)> &on_frame);

  private:
    Bytes pending_; // less than one frame
};

} // namespace pmixhost::slurm
