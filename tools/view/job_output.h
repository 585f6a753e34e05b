// Follows what processes of a job write, and gives them input, as a PMIx tool in a process of its own
// (tool_process.h): libpmix may wait for ever, and nobody else waits with it.
#pragma once

#include "common/base/result.h"
#include "tools/view/tool_process.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct OutputRequest {
    std::string server;               // the server's own namespace
    std::string job;                  // its namespace
    std::vector<std::uint32_t> ranks; // empty: all
    bool out = true, err = true;
    bool take_over = false;                         // srun gets it no more
    std::optional<std::chrono::seconds> since = {}; // of what was written before, only what was written since then
};

struct OutputFrame {
    enum class Kind : std::uint8_t {
        bytes,
        ended,
        size,         // of the job, in `rank`; first of all
        listening,    // the pull was granted
        failed,       // what comes of this stream is not all, and nothing more comes (PMIX_ERR_IOF_FAILURE)
        nothing,      // there is no output to be had, but input may be given; why
        undated,      // what was written before has no times, and comes all the same; only with `since`
        cut,          // what comes first of this stream is the end of what its process wrote: older is kept no more
        missing,      // of this stream, here: so many bytes (a number as text), for this one was too slow
        left,         // what came before leave_message has been pushed, and nothing is pulled any more
        input_closed, // it is no longer taken; why
        error,        // why
        over          // the server has gone
    };
    Kind kind = Kind::bytes;
    bool is_err = false; // of standard error
    std::uint32_t rank = 0;
    std::string_view bytes; // valid until the next call
};
// Blocks. False: nobody reads it any more. Those of one call are written at once.
bool write_output_frames(int to, const std::vector<OutputFrame> &frames);

// What shall be done comes as messages of a socket (SOCK_SEQPACKET), which begin with one of these bytes.
constexpr char typed_message = 'i', // what follows it shall be pushed
    end_message = 'e',              // alone: the input of the processes ends
    leave_message = 'l';            // alone, the last one: what was taken over is srun's again
constexpr std::size_t most_in_message = 16u << 10;
struct InputRequest {
    int from = -1;                    // the socket
    std::vector<std::uint32_t> ranks; // empty: all
    bool wanted = false;              // the input goes on where there is no output to be had
};
// In the tool's process: writes what comes to `to`, as frames, until the server has gone or nobody reads them. What it
// returns is an error as ListeningTool has it.
std::string follow_output(int to, const OutputRequest &request, const InputRequest &input);

// The other side of `to`.
class OutputFrames {
  public:
    // Bytes that have been read. Then next() until there is none.
    void add(std::string_view bytes);
    std::optional<OutputFrame> next();
    // What is no whole frame: the text of a tool that could not connect, when it has ended.
    std::string_view left() const { return std::string_view(bytes_).substr(used_); }

  private:
    std::string bytes_;
    std::size_t used_ = 0;
};

} // namespace pmixhost
