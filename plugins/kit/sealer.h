// Who said it: a payload that is sealed, so that the other side learns the uid of who sealed it.
#pragma once

#include "common/base/result.h"
#include "common/transport/secret_box.h"

#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost::kit {

// Munge, a step's secret, or a test's stand-in.
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

// With the secret of a step (common/transport/secret_box.h): whoever has it is the user that this process runs as.
// What was opened once is refused by this object from then on, as munge refuses it on this host.
class SecretSealer : public Sealer {
  public:
    explicit SecretSealer(std::string_view secret);
    Result<std::string> seal(std::string_view payload) override;
    Result<Opened> open(const std::string &sealed) override;

  private:
    SecretBox box_;
};

// As a step's daemons and its starter do it: with the step's secret, or where there is none with munge.
std::unique_ptr<Sealer> make_sealer(std::string_view step_secret);

// Whether sealing works on this host; the failure (unreachable) says what munge says.
Result<void> can_seal(Sealer &sealer);

// For a starter: the secret that its step's processes prove with. What PMIx_Spawn's launcher gave (`inherited`: a
// family has one), none where munge answers here, else a new one. Blocks as munge does.
std::string secret_for_step(Sealer &munge, std::string inherited);

} // namespace pmixhost::kit
