// The values of options, whose types and bounds the table has (config_options.h): read as they stand in the file or in
// the environment, what is allowed, and written as in the file. Quantities with their units are config_values.h.
#pragma once

#include "common/base/result.h"
#include "common/config/config_options.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pmixhost {

// A value as it stands in the file (or, always text, in the environment).
struct RawValue {
    std::variant<std::int64_t, std::string, std::vector<std::string>> value;
    std::vector<std::string> places = {}; // "FILE:LINE" of the text or of each of the list; empty: not known
};

// The text of a failure is "KEY is VALUE; allowed: ...".
Result<void> set_option(const Option &option, const RawValue &value, Settings &settings);
// What is allowed, for people: "a whole number from 2 to 256".
std::string allowed_values(const Option &option);
// The value as it would be written in the file: 32, "30s", ["eth0"].
std::string show_option(const Option &option, const Settings &settings);

} // namespace pmixhost
