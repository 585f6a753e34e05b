// See host_ends.h.
#include "server-glue/events/host_ends.h"

#include "common/text/take_until.h"

#include <charconv>
#include <fmt/format.h>

namespace pmixhost {

namespace {

template <typename Number> bool read_number(std::string_view text, Number &number) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && end == text.data() + text.size();
}

bool read_bad(std::string_view text, wire::EndedProcess &ended) {
    return read_number(take_until(text, ':'), ended.rank) && read_number(take_until(text, ':'), ended.code) &&
           read_number(take_until(text, ':'), ended.term_status) &&
           read_number(take_until(text, ':'), ended.exit_code) && read_number(text, ended.ends_job);
}

bool read_well(std::string_view text, wire::RankRange &range) {
    return read_number(take_until(text, '-'), range.first) && read_number(text, range.last) &&
           range.first <= range.last;
}

template <typename Item>
bool read_list(std::string_view text, bool (*read)(std::string_view, Item &), std::vector<Item> &items) {
    if (text == "-")
        return true;
    if (text.empty())
        return false;
    while (!text.empty()) {
        Item item;
        if (!read(take_until(text, ','), item))
            return false;
        items.push_back(item);
    }
    return true;
}

} // namespace

HostEndLines lines_of(const HostEnds &ends) {
    HostEndLines out;
    const std::string head = fmt::format("{} {} {} ", ends.host, ends.name, ends.time);
    std::string bad, well;
    auto finish_line = [&] {
        out.lines.push_back(fmt::format("{}{} {} {}", head, ends.index + out.lines.size(), bad.empty() ? "-" : bad,
                                        well.empty() ? "-" : well));
        bad.clear();
        well.clear();
    };
    auto add = [&](std::string &list, const std::string &item) {
        constexpr std::size_t signs = 16; // between them, and the index
        if (head.size() + bad.size() + well.size() + item.size() + signs > longest_host_ends) {
            if (out.lines.size() + 1 == most_host_ends) {
                ++out.left_out;
                return;
            }
            finish_line();
        }
        list += list.empty() ? item : "," + item;
    };
    for (const auto &one : ends.bad)
        add(bad, fmt::format("{}:{}:{}:{}:{}", one.rank, one.code, one.term_status, one.exit_code, one.ends_job));
    for (const auto &range : ends.well)
        add(well, fmt::format("{}-{}", range.first, range.last));
    finish_line();
    return out;
}

std::optional<HostEnds> parse_host_ends(std::string_view line) {
    HostEnds ends;
    if (!read_number(take_until(line, ' '), ends.host))
        return std::nullopt;
    ends.name = take_until(line, ' ');
    if (ends.name.empty() || !read_number(take_until(line, ' '), ends.time) ||
        !read_number(take_until(line, ' '), ends.index) || !read_list(take_until(line, ' '), read_bad, ends.bad) ||
        !read_list(line, read_well, ends.well))
        return std::nullopt;
    return ends;
}

} // namespace pmixhost
