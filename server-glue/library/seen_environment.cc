// See seen_environment.h.
#include "server-glue/library/seen_environment.h"

namespace pmixhost {

const SeenEnvironment &seen_environment() {
    static const SeenEnvironment all = [] {
        SeenEnvironment seen;
#include "server-glue/library/seen_environment.inc"
        return seen;
    }();
    return all;
}

} // namespace pmixhost
