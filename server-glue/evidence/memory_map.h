// Says which file an address of a process belongs to, from the text of /proc/PID/maps: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

class MemoryMap {
  public:
    // Lines that are not as proc(5) has them are passed over.
    explicit MemoryMap(std::string_view maps);
    // "libpmix.so.2+0x1234" (the offset is the file's), "[anonymous]+0x10"; empty when nothing is there.
    std::string place(std::uint64_t address) const;
    bool executable(std::uint64_t address) const;

  private:
    struct Range {
        std::uint64_t begin, end, offset;
        bool executable;
        std::string file; // without its directory
    };
    const Range *find(std::uint64_t address) const;
    std::vector<Range> ranges_; // in order
};

} // namespace pmixhost
