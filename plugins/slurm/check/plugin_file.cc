// See plugin_file.h.
#include "plugins/slurm/check/plugin_file.h"

#include "common/base/small_file.h"
#include "common/text/printable.h"

#include <array>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <optional>

namespace pmixhost::slurm {

namespace {

constexpr std::size_t max_plugin_bytes = 64u << 20;

// Copies a structure out of the file; nothing where it reaches beyond its end.
template <typename T> std::optional<T> at(const std::string &file, std::uint64_t offset) {
    T value;
    if (offset > file.size() || file.size() - offset < sizeof value)
        return std::nullopt;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

std::string_view name_at(const std::string &file, std::uint64_t offset) {
    if (offset >= file.size())
        return {};
    std::string_view rest(file.data() + offset, file.size() - offset);
    return rest.substr(0, rest.find('\0'));
}

// The place in the file of what is at `address` when it is loaded.
std::optional<std::uint64_t> offset_of(const std::string &file, const ElfW(Ehdr) & head, std::uint64_t address) {
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        auto segment = at<ElfW(Phdr)>(file, head.e_phoff + std::uint64_t{i} * sizeof(ElfW(Phdr)));
        if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment->p_offset + (address - segment->p_vaddr);
    }
    return std::nullopt;
}

std::optional<std::uint32_t> number_of(const std::string &file, const ElfW(Ehdr) & head, std::string_view name) {
    for (unsigned i = 0; i < head.e_shnum; ++i) {
        auto section = at<ElfW(Shdr)>(file, head.e_shoff + std::uint64_t{i} * sizeof(ElfW(Shdr)));
        if (!section || section->sh_type != SHT_DYNSYM || section->sh_offset > file.size())
            continue;
        auto names = at<ElfW(Shdr)>(file, head.e_shoff + std::uint64_t{section->sh_link} * sizeof(ElfW(Shdr)));
        std::uint64_t count = std::min<std::uint64_t>(section->sh_size, file.size()) / sizeof(ElfW(Sym));
        for (std::uint64_t s = 0; names && s < count; ++s) {
            auto symbol = at<ElfW(Sym)>(file, section->sh_offset + s * sizeof(ElfW(Sym)));
            if (!symbol || name_at(file, names->sh_offset + symbol->st_name) != name)
                continue;
            auto place = offset_of(file, head, symbol->st_value);
            return place ? at<std::uint32_t>(file, *place) : std::nullopt;
        }
    }
    return std::nullopt;
}

} // namespace

Result<std::uint32_t> version_of_plugin(const std::string &path) {
    struct stat status {};
    auto fd = open_regular_file(path, status);
    if (!fd)
        return fd.failure();
    auto file = read_all(fd->get(), path, max_plugin_bytes);
    if (!file)
        return file.failure();
    auto head = at<ElfW(Ehdr)>(*file, 0);
    if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return error(ErrorKind::invalid, "{} is no shared object of this machine", path);
    auto number = number_of(*file, *head, "plugin_version");
    if (!number)
        return error(ErrorKind::invalid, "{} is no Slurm plugin: it has no plugin_version", path);
    return *number;
}

std::string plain_version(std::uint32_t number) {
    return fmt::format("{}.{}.{}", (number >> 16) & 0xff, (number >> 8) & 0xff, number & 0xff);
}

std::string plain_version(std::string_view text) {
    std::size_t begin = text.find_first_of("0123456789");
    std::array<unsigned, 3> parts{};
    const char *at = text.data() + std::min(begin, text.size()), *end = text.data() + text.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto [next, failed] = std::from_chars(at, end, parts[i]);
        if (failed != std::errc() || (i < 2 && (next == end || *next != '.')))
            return {};
        at = next + (i < 2);
    }
    return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

} // namespace pmixhost::slurm
