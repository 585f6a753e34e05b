// Values of PMIx as text for a terminal or a script. Any thread; calls nothing of libpmix that needs a server.
#pragma once

#include <string>

struct pmix_value;

namespace pmixhost {

// What a name such as "PMIX_JOB_SIZE" stands for; a key itself is given back. Precondition for such a name: libpmix has
// been initialised, or libpmix 5 crashes.
std::string key_of(const std::string &name);
bool may_be_key(const std::string &name);

// Numbers and texts plainly, one line; bytes in hexadecimal digits, at most the first 64 and how many there are; lists
// with commas. What it does not know by its type's name. Control characters are replaced.
std::string value_text(const pmix_value &value);

} // namespace pmixhost
