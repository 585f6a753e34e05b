// One pmixhost.conf as a flat list of keys and values. The only user of toml++.
#pragma once

#include "common/base/result.h"
#include "common/config/option_values.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct ConfigEntry {
    std::string key; // with its section: "transport.radix"
    std::uint32_t line = 0;
    RawValue value;
};

struct ConfigFile {
    std::vector<ConfigEntry> entries;
    std::vector<Error> errors; // each text begins with "NAME:LINE: "
};

// `name` is for messages. After a syntax error there are no entries.
ConfigFile parse_config_file(std::string_view content, const std::string &name);

// Reads the file, with the rules of check_config() in config.h. Fails with not_found when there is
// none.
Result<std::string> read_config_file(const std::string &path);

} // namespace pmixhost
