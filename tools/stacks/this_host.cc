// See this_host.h.
#include "tools/stacks/this_host.h"

#include <climits>
#include <unistd.h>

namespace pmixhost {

std::string name_of_this_host() {
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    return host;
}

bool is_name_of_this_host(std::string_view name) {
    auto plain = [](std::string_view host) { return host.substr(0, host.find('.')); };
    return plain(name) == plain(name_of_this_host());
}

} // namespace pmixhost
