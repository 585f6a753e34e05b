// See memory_map.h.
#include "server-glue/evidence/memory_map.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace pmixhost {

static bool take_hex(std::string_view &text, std::uint64_t &number, char after) {
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (failed != std::errc() || end == text.data() + text.size() || *end != after)
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return true;
}

MemoryMap::MemoryMap(std::string_view maps) {
    // 7f01-7f02 r-xp 00001000 fe:00 1234    /usr/lib/libx.so
    while (!maps.empty()) {
        auto line = take_until(maps, '\n');
        Range range{};
        if (!take_hex(line, range.begin, '-') || !take_hex(line, range.end, ' ') || line.size() < 5)
            continue;
        range.executable = line[2] == 'x';
        line.remove_prefix(5);
        if (!take_hex(line, range.offset, ' '))
            continue;
        for (int field = 0; field < 2; ++field) // device, inode
            take_until(line, ' ');
        line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
        range.file = line.empty() ? "[anonymous]" : std::string(line.substr(line.rfind('/') + 1));
        if (range.begin < range.end)
            ranges_.push_back(std::move(range));
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

const MemoryMap::Range *MemoryMap::find(std::uint64_t address) const {
    auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                  [](std::uint64_t a, const Range &range) { return a < range.begin; });
    if (after == ranges_.begin() || address >= std::prev(after)->end)
        return nullptr;
    return &*std::prev(after);
}

std::string MemoryMap::place(std::uint64_t address) const {
    const Range *range = find(address);
    return range ? fmt::format("{}+{:#x}", range->file, address - range->begin + range->offset) : std::string();
}

bool MemoryMap::executable(std::uint64_t address) const {
    const Range *range = find(address);
    return range && range->executable;
}

} // namespace pmixhost
