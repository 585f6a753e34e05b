// pmixhost.conf, and the values that the user's environment may set.
#include "common/config/config_file.h"
#include "common/config/config_values.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;

int fuzz_rounds() {
    return 10'000;
}

std::vector<std::string> fuzz_seeds() {
    return {"[transport]\nradix = 32\nports = \"6000-6100\"\n",
            "[log]\nlevel = \"debug\" # x\n",
            "a = [1, 2, [3]]\nb = {c = 1.5}\n[[d]]\n",
            "30s",
            "64MiB",
            "\xcc\xa2- ",
            "6000-6100",
            "5min"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    auto file = parse_config_file(text, "f");
    fuzz_expect(file.errors.empty() || !file.errors[0].text.empty());
    if (auto duration = parse_duration(text))
        fuzz_expect(parse_duration(format_duration(*duration)).ok());
    if (auto bytes = parse_size(text))
        fuzz_expect(*parse_size(format_size(*bytes)) == *bytes);
    if (auto ports = parse_ports(text))
        fuzz_expect(ports->first <= ports->last);
    (void)parse_number(text);
    return 0;
}
