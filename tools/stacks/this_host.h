// What this host is called, and whether a name is its own.
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

// As gethostname(2) has it.
std::string name_of_this_host();
// With a domain or without: resource managers and hosts themselves do not agree on that. False says nothing: a host may
// have been given another name in the job (a virtual one, say).
bool is_name_of_this_host(std::string_view name);

} // namespace pmixhost
