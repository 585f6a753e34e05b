// See linker_names.h.
#include "tools/stacks/linker_names.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pmixhost {

namespace {

// A process may hold anything.
constexpr unsigned most_parts = 256, most_entries = 4096, most_libraries = 16384;

class ProcessMemory {
  public:
    explicit ProcessMemory(pid_t pid) : file_(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)) {}

    template <typename Part> bool read(std::uint64_t at, Part &part) const {
        return bytes(at, &part, sizeof part) == static_cast<ssize_t>(sizeof part);
    }
    // Empty where it has no end within PATH_MAX.
    std::string text(std::uint64_t at) const {
        char out[PATH_MAX];
        ssize_t got = bytes(at, out, sizeof out); // less where the memory ends behind it
        const void *end = got > 0 ? std::memchr(out, '\0', static_cast<std::size_t>(got)) : nullptr;
        return end ? std::string(out) : std::string();
    }

  private:
    ssize_t bytes(std::uint64_t at, void *out, std::size_t size) const {
        return at < std::uint64_t{1} << 62 ? ::pread(file_.get(), out, size, static_cast<off_t>(at)) : -1;
    }
    UniqueFd file_;
};

// Where its program's table of parts is, as the kernel has told it.
struct ProgramParts {
    std::uint64_t at = 0, size = 0, count = 0;
};
ProgramParts program_parts(pid_t pid) {
    ProgramParts out;
    auto text = read_small_file(fmt::format("/proc/{}/auxv", pid));
    ElfW(auxv_t) word;
    for (std::size_t i = 0; text && text->size() - i >= sizeof word; i += sizeof word) {
        std::memcpy(&word, text->data() + i, sizeof word);
        if (word.a_type == AT_PHDR)
            out.at = word.a_un.a_val;
        if (word.a_type == AT_PHENT)
            out.size = word.a_un.a_val;
        if (word.a_type == AT_PHNUM)
            out.count = word.a_un.a_val;
    }
    return out;
}

// The linker's list, which debuggers find by the program's DT_DEBUG.
std::optional<r_debug> linker_list(pid_t pid, const ProcessMemory &memory) {
    ProgramParts parts = program_parts(pid);
    std::optional<ElfW(Phdr)> table, dynamic;
    for (std::uint64_t i = 0; parts.size == sizeof *table && i < parts.count && i < most_parts; ++i) {
        ElfW(Phdr) part;
        if (!memory.read(parts.at + i * sizeof part, part))
            return std::nullopt;
        if (part.p_type == PT_PHDR)
            table = part;
        if (part.p_type == PT_DYNAMIC)
            dynamic = part;
    }
    if (!table || !dynamic)
        return std::nullopt;
    std::uint64_t at = parts.at - table->p_vaddr + dynamic->p_vaddr;
    for (unsigned i = 0; i < most_entries; ++i) {
        ElfW(Dyn) entry;
        r_debug list;
        if (!memory.read(at + i * sizeof entry, entry) || entry.d_tag == DT_NULL)
            return std::nullopt;
        if (entry.d_tag == DT_DEBUG)
            return memory.read(entry.d_un.d_ptr, list) ? std::optional(list) : std::nullopt;
    }
    return std::nullopt;
}

struct MappedFile {
    std::uint64_t begin = 0, end = 0;
    std::string name;
};
std::vector<MappedFile> mapped_files(pid_t pid) {
    std::vector<MappedFile> out;
    auto text = read_small_file(fmt::format("/proc/{}/maps", pid));
    for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
        // "7f42-7f43 r-xp 0000 fe:01 12   /usr/lib/libc.so.6"
        auto line = take_until(rest, '\n');
        auto path = line.find('/');
        if (path == line.npos)
            continue;
        MappedFile file;
        const char *end = line.data() + line.size();
        auto begin_read = std::from_chars(line.data(), end, file.begin, 16);
        if (begin_read.ptr == end || *begin_read.ptr != '-')
            continue;
        std::from_chars(begin_read.ptr + 1, end, file.end, 16);
        file.name = line.substr(path);
        out.push_back(std::move(file));
    }
    return out;
}

} // namespace

std::map<std::string, std::string> linker_names(pid_t pid) {
    std::map<std::string, std::string> out;
    ProcessMemory memory(pid);
    auto list = linker_list(pid, memory);
    if (!list)
        return out;
    const auto files = mapped_files(pid);
    auto next = reinterpret_cast<std::uintptr_t>(list->r_map);
    for (unsigned i = 0; next != 0 && i < most_libraries; ++i) {
        link_map one;
        if (!memory.read(next, one))
            break;
        next = reinterpret_cast<std::uintptr_t>(one.l_next);
        // Each of them has its own table for the linker in memory.
        const auto table = reinterpret_cast<std::uintptr_t>(one.l_ld);
        auto file = std::find_if(files.begin(), files.end(), [table](const MappedFile &mapped) {
            return mapped.begin <= table && table < mapped.end;
        });
        std::string name = memory.text(reinterpret_cast<std::uintptr_t>(one.l_name));
        if (file != files.end() && name.starts_with('/')) // not the program itself
            out.emplace(file->name, std::move(name));
    }
    return out;
}

} // namespace pmixhost
