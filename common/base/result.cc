// See result.h.
#include "common/base/result.h"

#include <cerrno>
#include <system_error>

namespace pmixhost {

Error system_error(std::string_view what, int error_number) {
    ErrorKind kind = ErrorKind::system;
    if (error_number == ENOENT)
        kind = ErrorKind::not_found;
    else if (error_number == EACCES || error_number == EPERM)
        kind = ErrorKind::denied;
    return Error{kind, fmt::format("{}: {}", what, std::generic_category().message(error_number))};
}

} // namespace pmixhost
