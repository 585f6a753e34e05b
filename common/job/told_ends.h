// Of which ends of a job's processes a debugger that has started the job's starter (srun) is to hear from the job's
// hosts; on its way there a word.
#pragma once

#include <cstdint>
#include <string_view>

namespace pmixhost {

enum class ToldEnds : std::uint8_t {
    none,
    bad, // a host without any says nothing
    all, // each host also says when none of its processes is left
};

// Empty: none.
inline std::string_view word_of(ToldEnds ends) {
    return ends == ToldEnds::all ? "all" : ends == ToldEnds::bad ? "bad" : "";
}
// None where it is no such word.
inline ToldEnds told_ends_of(std::string_view word) {
    return word == "all" ? ToldEnds::all : word == "bad" ? ToldEnds::bad : ToldEnds::none;
}

} // namespace pmixhost
