// What anybody may send to srun's port, and where reports go, which the user's environment says.
// The first byte chooses.
#include "plugins/kit/starter_message.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;
using namespace pmixhost::kit;

namespace {

// Takes everything for genuine, so that what is behind the seal is reached.
class OpenSealer : public Sealer {
  public:
    Result<std::string> seal(std::string_view payload) override { return std::string(payload); }
    Result<Opened> open(const std::string &sealed) override { return Opened{sealed, 1000}; }
};

constexpr Cookie cookie{1, 2, 3};

} // namespace

int fuzz_rounds() {
    return 100'000;
}

std::vector<std::string> fuzz_seeds() {
    OpenSealer sealer;
    StarterAddress target{4711, cookie, {"10.0.0.1", "fd00::1"}};
    return {"f" + *seal_message(cookie, ExitReport{3, "n1: why"}.message(), sealer),
            "f" + *seal_message(cookie, ExitReport{}.message(), sealer), "t" + target.text()};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
    if (data[0] == 't') {
        if (auto target = StarterAddress::parse(text))
            fuzz_expect(target->addresses.size() <= max_addresses && StarterAddress::parse(target->text()).ok());
        return 0;
    }
    OpenSealer sealer;
    auto message = open_message(text, cookie, 1000, sealer);
    if (message)
        fuzz_expect(message->body.size() <= std::max(max_report_text, max_invitation));
    if (auto report = message ? ExitReport::of(*message) : message.failure())
        fuzz_expect(report->exit_status >= 0 && report->exit_status <= 255 && report->text.size() <= max_report_text &&
                    report->text.find('\n') == std::string::npos);
    return 0;
}
