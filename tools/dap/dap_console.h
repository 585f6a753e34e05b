// The debug console of a client of the Debug Adapter Protocol: the prompt of `pmixhost debug` in an editor, with its
// words (tools/debug/prompt_words.h), and gdb's for all ranks of the focus. Pure.
#pragma once

#include "tools/dap/dap_look.h"
#include "tools/dap/dap_motion.h"
#include "tools/debug/prompt_words.h"

namespace pmixhost {

class DapConsole {
  public:
    // `quit`: what `quit` and `quit kill` (true) do. `give`: what `input TEXT` and `eof` do.
    DapConsole(DapRanks &ranks, DapMotion &motion, DapLook &look, std::function<void(bool)> quit,
               std::function<Result<void>(const PromptInput &)> give)
        : ranks_(&ranks), motion_(&motion), look_(&look), quit_(std::move(quit)), give_(std::move(give)) {}
    // evaluate, completions.
    void add_to(DapHandlers &handlers);
    // The client's number of the first column of a line: 1, unless it says that it counts from 0.
    void set_first_column(int number) { first_column_ = number; }

  private:
    void obey(const DapRequest &request);
    void say(const DapRequest &request, const std::string &command);
    void complete(const DapRequest &request);
    std::string states() const;

    DapRanks *ranks_;
    DapMotion *motion_;
    DapLook *look_;
    std::function<void(bool)> quit_;
    std::function<Result<void>(const PromptInput &)> give_;
    int first_column_ = 1;
};

} // namespace pmixhost
