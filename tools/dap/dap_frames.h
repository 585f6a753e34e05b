// How messages of the Debug Adapter Protocol (DAP 1.65, "Base Protocol") stand in a stream of bytes: a header with
// Content-Length, an empty line, and so many bytes of JSON. Pure. What comes is bounded.
#pragma once

#include "common/base/result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

inline constexpr std::size_t longest_dap_message = 1u << 20; // bytes of a client's; an editor's are a few thousand

class DapInput {
  public:
    // The messages that are complete with these bytes; each is an object. Fails (invalid) where it is no such stream;
    // nothing can be read from it any more, then.
    Result<std::vector<nlohmann::json>> add(std::string_view bytes);

  private:
    std::string begun_;
};

std::string dap_frame(const nlohmann::json &message);

} // namespace pmixhost
