// What processes of a job have written, as people want to see it: as it came, or in whole lines, each with the rank in
// front, as `srun -l` has it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace pmixhost {

// For the terminal of somebody else than whoever has written it: without what a terminal takes for commands. Whole
// characters of UTF-8 stay.
std::string harmless(std::string_view text);

class OutputLines {
  public:
    static constexpr std::size_t longest_line = 64u << 10; // more is shown in parts
    static constexpr std::size_t most_begun = 64u << 20;   // of all streams: beyond, lines are shown before they end

    // `width`: of the largest rank, in digits; 0: without labels, as it came. `colours`: each rank has its own.
    OutputLines(unsigned width, bool colours) : width_(width), colours_(colours) {}

    // What is to be shown now. `channel`: 1 is standard error.
    std::string add(std::uint32_t rank, int channel, std::string_view bytes);
    // What comes next of the stream begins within a line, or may: its first line is marked so where there are labels.
    void begin_cut(std::uint32_t rank, int channel);
    // The stream has ended: a last line without its newline gets one.
    std::string end(std::uint32_t rank, int channel);
    // So has everything: the lines that have begun on that channel.
    std::string end_all(int channel);

  private:
    std::string label(std::uint32_t rank) const;

    unsigned width_;
    bool colours_;
    std::map<std::pair<std::uint32_t, int>, std::string> begun_;
    std::size_t begun_bytes_ = 0;
};

} // namespace pmixhost
