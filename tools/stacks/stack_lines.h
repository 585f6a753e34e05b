// What a host has found, as lines that go from the hosts of a job to the command. What starts a program on several
// hosts may break long lines and mix the pieces (srun does so beyond 1024 bytes), so a host's word is cut into short
// ones.
#pragma once

#include "tools/stacks/stack_frames.h"

#include <map>
#include <string_view>

namespace pmixhost {

// Each ends with a line break and has less than 1024 bytes.
std::string lines_of_stacks(const std::string &host, const std::vector<ProcessStacks> &processes);

// Puts them together again. Lines of anybody else are left out; the texts are made fit to be shown.
class StackLines {
  public:
    void add(std::string_view line);
    // Of all hosts whose word has come in full.
    std::vector<ProcessStacks> take() const;

  private:
    struct Word {
        std::size_t pieces = 0;
        std::map<std::size_t, std::string> texts;
    };
    std::map<std::string, Word> hosts_;
};

} // namespace pmixhost
