// The OPTIONS section of pmixhost.conf(5), made from the table of config_options.h.
#pragma once

#include <string>

namespace pmixhost {

// man(7) source, from the ".SH OPTIONS" line on.
std::string config_man_section();

} // namespace pmixhost
