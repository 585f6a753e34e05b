// See mapped_code.h.
#include "tools/stacks/mapped_code.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/text/take_until.h"
#include "tools/stacks/shown_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view word) {
    if (word.starts_with("0x"))
        word.remove_prefix(2);
    std::uint64_t out = 0;
    auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out, 16);
    if (word.empty() || failed != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return out;
}

std::string_view take_word(std::string_view &rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return take_until(rest, ' ');
}

// A file that anybody may have written.
class ElfFile {
  public:
    explicit ElfFile(const std::string &path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        Elf64_Ehdr head;
        if (!file_ || !read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
            head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
            return;
        bool has_code = false;
        for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, 256); ++i) {
            Elf64_Phdr part;
            if (!read(head.e_phoff + i * sizeof part, part))
                return;
            if (part.p_type == PT_LOAD && !std::exchange(has_code, true))
                first_ = part.p_vaddr & ~std::uint64_t{4095};
            if (part.p_type == PT_GNU_EH_FRAME)
                table_ = part;
        }
    }

    // From the first byte in memory: where the function begins in which this is.
    std::optional<std::uint64_t> function_of(std::uint64_t offset) const {
        struct {
            std::uint8_t version, frame, count, table;
            std::int32_t frames;
            std::uint32_t entries;
        } head;
        // The forms that linkers write; DW_EH_PE_pcrel|sdata4, _udata4, _datarel|sdata4.
        if (!table_ || !read(table_->p_offset, head) || head.version != 1 || head.frame != 0x1b || head.count != 0x03 ||
            head.table != 0x3b)
            return std::nullopt;
        struct {
            std::int32_t function, frame; // both from the table's beginning
        } entry;
        auto at = [&](std::uint64_t index) {
            return read(table_->p_offset + sizeof head + index * sizeof entry, entry);
        };
        const std::int64_t wanted = static_cast<std::int64_t>(offset + first_ - table_->p_vaddr);
        std::uint64_t low = 0, high = head.entries; // the last one that does not begin behind it
        while (low < high) {
            std::uint64_t middle = low + (high - low) / 2;
            if (!at(middle))
                return std::nullopt;
            if (entry.function <= wanted)
                low = middle + 1;
            else
                high = middle;
        }
        struct {
            std::uint32_t length, common;
            std::int32_t begin; // from here
            std::uint32_t size;
        } frame;
        if (low == 0 || !at(low - 1) ||
            !read(table_->p_offset + static_cast<std::uint64_t>(std::int64_t{entry.frame}), frame))
            return std::nullopt;
        // What has no frame stands behind the end of another one.
        if (std::int64_t{entry.frame} + 8 + frame.begin != entry.function || wanted - entry.function >= frame.size)
            return std::nullopt;
        return table_->p_vaddr - first_ + static_cast<std::uint64_t>(std::int64_t{entry.function});
    }

  private:
    template <typename Part> bool read(std::uint64_t at, Part &part) const {
        return at < std::uint64_t{1} << 62 &&
               ::pread(file_.get(), &part, sizeof part, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof part);
    }
    UniqueFd file_;
    std::uint64_t first_ = 0;
    std::optional<Elf64_Phdr> table_;
};

} // namespace

MappedCode MappedCode::of_maps(std::string_view text, std::string root) {
    MappedCode out;
    out.root_ = std::move(root);
    while (!text.empty()) {
        // "7f42-7f43 r-xp 0000 fe:01 12   /usr/lib/libc.so.6"
        auto line = take_until(text, '\n');
        auto path = line.find('/');
        if (path == line.npos)
            continue;
        auto begin = hexadecimal(take_until(line, '-'));
        path = line.find('/');
        auto end = path == line.npos ? std::nullopt : hexadecimal(line.substr(0, line.find(' ')));
        if (begin && end)
            out.mappings_.push_back({*begin, *end, std::string(line.substr(path))});
    }
    return out;
}

MappedCode MappedCode::of_process(pid_t pid) {
    auto text = read_small_file(fmt::format("/proc/{}/maps", pid));
    return of_maps(text ? std::string_view(*text) : std::string_view(), fmt::format("/proc/{}/root", pid));
}

MappedCode MappedCode::of_gdb(std::string_view text) {
    MappedCode out;
    while (!text.empty()) {
        // "  0x555555554000     0x555555555000     0x1000        0x0  /home/me/hang"
        auto line = take_until(text, '\n');
        auto path = line.find('/');
        if (path == line.npos)
            continue;
        auto words = line.substr(0, path);
        auto begin = hexadecimal(take_word(words)), end = hexadecimal(take_word(words));
        if (begin && end)
            out.mappings_.push_back({*begin, *end, std::string(line.substr(path))});
    }
    return out;
}

void MappedCode::name_nameless(std::vector<StackFrame> &frames) {
    bool innermost = true;
    for (StackFrame &frame : frames) {
        std::uint64_t address = std::exchange(frame.address, 0);
        // Where a call returns to may be another function's, if this one has no end.
        std::uint64_t inside = std::exchange(innermost, false) || address == 0 ? address : address - 1;
        auto mapping = std::find_if(mappings_.begin(), mappings_.end(),
                                    [inside](const Mapping &one) { return one.begin <= inside && inside < one.end; });
        if (!frame.function.empty() || address == 0 || mapping == mappings_.end())
            continue;
        const std::string &file = mapping->file;
        auto first =
            std::find_if(mappings_.begin(), mappings_.end(), [&file](const Mapping &one) { return one.file == file; });
        auto [function, is_new] = functions_.try_emplace(inside);
        if (is_new)
            function->second = ElfFile(root_ + file).function_of(inside - first->begin);
        frame.module = shown_text(file, max_frame_text);
        frame.function = shown_text(fmt::format("{}+{:#x}", file.substr(file.rfind('/') + 1),
                                                function->second.value_or(address - first->begin)),
                                    max_frame_text);
    }
}

} // namespace pmixhost
