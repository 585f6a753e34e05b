// What a process is given of what PMIx_server_setup_fork says. Any thread, once nobody changes the environment any more
// (library_start.h).
#pragma once

#include <string>
#include <vector>

namespace pmixhost {

// The variables from which the shared data store of libpmix before 5 takes its sizes, in a server and in its clients.
inline constexpr const char *data_size_variable = "NS_DATA_SEG_SIZE", *index_size_variable = "NS_META_SEG_SIZE";

// NAME=VALUE each. Clients need not prove with munge what the kernel has said of them already (guard/hello.h), and
// take the store's sizes from what this process has.
std::vector<std::string> given_environment(std::vector<std::string> of_library);

} // namespace pmixhost
