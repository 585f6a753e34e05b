// Who said it: a payload that is sealed, so that the other side learns the uid of who sealed it.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost::kit {

// Munge, or a test's stand-in.
class Sealer {
  public:
    struct Opened {
        std::string payload;
        uid_t uid;
    };
    virtual ~Sealer() = default;
    virtual Result<std::string> seal(std::string_view payload) = 0;
    virtual Result<Opened> open(const std::string &sealed) = 0;
};
// With munge; blocks for as long as munged takes.
class MungeSealer : public Sealer {
  public:
    Result<std::string> seal(std::string_view payload) override;
    Result<Opened> open(const std::string &sealed) override;
};

} // namespace pmixhost::kit
