// See given_environment.h.
#include "server-glue/library/given_environment.h"

#include <cstdlib>

namespace pmixhost {

std::vector<std::string> given_environment(std::vector<std::string> of_library) {
    const std::string security_modules = "PMIX_SECURITY_MODE=";
    std::erase_if(of_library, [&](const std::string &entry) { return entry.starts_with(security_modules); });
    of_library.push_back(security_modules + "native");
    for (const char *variable : {data_size_variable, index_size_variable}) {
        if (const char *size = std::getenv(variable))
            of_library.push_back(std::string(variable) + "=" + size);
    }
    return of_library;
}

} // namespace pmixhost
