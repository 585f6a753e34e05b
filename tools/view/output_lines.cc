// See output_lines.h.
#include "tools/view/output_lines.h"

#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <fmt/format.h>

#include <vector>

namespace pmixhost {

std::string harmless(std::string_view text) {
    std::string out(text);
    for (std::size_t i = 0; i < out.size(); ++i) {
        auto byte = static_cast<unsigned char>(out[i]);
        bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
        if (is_control || long_control_begins(out, i))
            out[i] = '?';
    }
    return out;
}

std::string OutputLines::label(std::uint32_t rank) const {
    constexpr int colours = 6; // without black and white
    std::string text = fmt::format("{:>{}}: ", rank, width_);
    return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", 31 + rank % colours, text) : text;
}

std::string OutputLines::add(std::uint32_t rank, int channel, std::string_view bytes) {
    if (width_ == 0)
        return std::string(bytes);
    std::string &begun = begun_[{rank, channel}];
    begun_bytes_ -= begun.size();
    std::string out;
    for (auto end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
        out += label(rank);
        out += begun;
        out += take_until(bytes, '\n');
        out += '\n';
        begun.clear();
    }
    begun += bytes;
    for (; begun.size() > longest_line; begun.erase(0, longest_line))
        out += label(rank) + begun.substr(0, longest_line) + '\n';
    if (begun_bytes_ + begun.size() > most_begun) {
        out += label(rank) + begun + '\n';
        begun.clear();
    }
    begun_bytes_ += begun.size();
    return out;
}

void OutputLines::begin_cut(std::uint32_t rank, int channel) {
    constexpr std::string_view mark = "...";
    std::string &begun = begun_[{rank, channel}];
    if (width_ == 0 || !begun.empty())
        return;
    begun = mark;
    begun_bytes_ += mark.size();
}

std::string OutputLines::end(std::uint32_t rank, int channel) {
    auto begun = begun_.find({rank, channel});
    if (begun == begun_.end())
        return {};
    std::string last = begun->second.empty() ? std::string() : label(rank) + begun->second + '\n';
    begun_bytes_ -= begun->second.size();
    begun_.erase(begun);
    return last;
}

std::string OutputLines::end_all(int channel) {
    std::string out;
    std::vector<std::uint32_t> ranks;
    for (const auto &[stream, begun] : begun_) {
        if (stream.second == channel)
            ranks.push_back(stream.first);
    }
    for (std::uint32_t rank : ranks)
        out += end(rank, channel);
    return out;
}

} // namespace pmixhost
