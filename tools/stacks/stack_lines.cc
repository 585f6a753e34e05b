// See stack_lines.h.
#include "tools/stacks/stack_lines.h"

#include "common/text/take_until.h"
#include "tools/stacks/shown_text.h"

#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pmixhost {

namespace {

using LineJson = nlohmann::json;
constexpr std::string_view mark = "pmixhost-stacks";
constexpr std::size_t piece_size = 800;
constexpr std::size_t most_pieces = 1u << 16;

// Each different call is told once; stacks have their numbers.
class FrameTable {
  public:
    std::size_t index(const StackFrame &frame) {
        auto [place, is_new] = index_.try_emplace(frame, index_.size());
        if (is_new)
            list_.push_back({frame.function, frame.file, frame.line, frame.module});
        return place->second;
    }
    LineJson take() { return std::move(list_); }

  private:
    std::map<StackFrame, std::size_t> index_;
    LineJson list_ = LineJson::array();
};

std::string said_text(const LineJson &value, std::size_t max = max_frame_text) {
    return value.is_string() ? shown_text(value.get_ref<const std::string &>(), max) : std::string();
}
template <typename Number> Number said_number(const LineJson &value) {
    return value.is_number_integer() ? static_cast<Number>(value.get<std::int64_t>()) : Number{};
}
const LineJson &part(const LineJson &object, const char *name) {
    static const LineJson none;
    auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
}

std::vector<StackFrame> frames_in(const LineJson &list) {
    std::vector<StackFrame> out;
    for (const auto &frame : list.is_array() ? list : LineJson::array()) {
        StackFrame one;
        if (frame.is_array() && frame.size() == 4) {
            one.function = said_text(frame[0]);
            one.file = said_text(frame[1]);
            one.line = said_number<unsigned>(frame[2]);
            one.module = said_text(frame[3]);
        }
        out.push_back(std::move(one));
    }
    return out;
}

ThreadStack thread_in(const LineJson &said, const std::vector<StackFrame> &frames) {
    ThreadStack out;
    out.id = said_number<long>(part(said, "id"));
    out.name = said_text(part(said, "name"), 64);
    out.cut = part(said, "cut") == true;
    const auto &list = part(said, "frames");
    for (const auto &index : list.is_array() ? list : LineJson::array()) {
        if (index.is_number_unsigned() && index.get<std::uint64_t>() < frames.size() && out.frames.size() < max_frames)
            out.frames.push_back(frames[index.get<std::size_t>()]);
    }
    return out;
}

} // namespace

std::string lines_of_stacks(const std::string &host, const std::vector<ProcessStacks> &processes) {
    FrameTable frames;
    LineJson list = LineJson::array();
    for (const auto &process : processes) {
        LineJson one = {{"rank", process.rank},      {"host", process.host},       {"pid", process.pid},
                        {"exe", process.executable}, {"stopped", process.stopped}, {"why", process.why}};
        one["threads"] = LineJson::array();
        for (const auto &thread : process.threads) {
            LineJson stack = {{"id", thread.id}, {"name", thread.name}, {"cut", thread.cut}};
            stack["frames"] = LineJson::array();
            for (const auto &frame : thread.frames)
                stack["frames"].push_back(frames.index(frame));
            one["threads"].push_back(std::move(stack));
        }
        list.push_back(std::move(one));
    }
    LineJson all = {{"processes", std::move(list)}};
    all["frames"] = frames.take();
    // ASCII without line breaks
    std::string text = all.dump(-1, ' ', true, LineJson::error_handler_t::replace), out;
    std::size_t pieces = (text.size() + piece_size - 1) / piece_size;
    for (std::size_t i = 0; i < pieces; ++i)
        out += fmt::format("{} {} {} {} {}\n", mark, host.substr(0, 100), i, pieces,
                           std::string_view(text).substr(i * piece_size, piece_size));
    return out;
}

void StackLines::add(std::string_view line) {
    if (take_until(line, ' ') != mark)
        return;
    std::string host(take_until(line, ' '));
    auto number = [&line] {
        auto word = take_until(line, ' ');
        std::size_t out = most_pieces;
        std::from_chars(word.data(), word.data() + word.size(), out);
        return out;
    };
    std::size_t index = number(), pieces = number();
    if (index >= pieces || pieces >= most_pieces)
        return;
    Word &word = hosts_[host];
    word.pieces = pieces;
    word.texts[index] = line;
}

std::vector<ProcessStacks> StackLines::take() const {
    std::vector<ProcessStacks> out;
    for (const auto &[host, word] : hosts_) {
        if (word.texts.size() != word.pieces)
            continue;
        std::string text;
        for (const auto &entry : word.texts)
            text += entry.second;
        auto said = LineJson::parse(text, nullptr, false);
        auto frames = frames_in(part(said, "frames"));
        const auto &list = part(said, "processes");
        for (const auto &one : list.is_array() ? list : LineJson::array()) {
            ProcessStacks process;
            process.rank = said_number<Rank>(part(one, "rank"));
            process.host = said_text(part(one, "host"), 256);
            process.pid = said_number<pid_t>(part(one, "pid"));
            process.executable = said_text(part(one, "exe"), max_frame_text);
            process.stopped = part(one, "stopped") == true;
            process.why = said_text(part(one, "why"), 600);
            const auto &threads = part(one, "threads");
            for (const auto &thread : threads.is_array() ? threads : LineJson::array())
                process.threads.push_back(thread_in(thread, frames));
            out.push_back(std::move(process));
        }
    }
    return out;
}

} // namespace pmixhost
