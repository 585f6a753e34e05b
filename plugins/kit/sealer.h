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

// Whether sealing works on this host. Where it does not, a step of several hosts would fail late, and in words
// that name anything but munge; the failure (unreachable) says what to do.
Result<void> can_seal(Sealer &sealer);

} // namespace pmixhost::kit
