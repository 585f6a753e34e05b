// `pmixhost version`.
#include "tools/commands.h"

#include <config.h>
#include <pmix_version.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

namespace pmixhost {

// Built is not installed: a package may leave a backend out.
static void show_backend(const char *name) {
    std::string path = std::string(PMIXHOST_LIBDIR "/backend_") + name + ".so";
    std::printf("backend %-6s %s\n", name,
                ::access(path.c_str(), R_OK) == 0 ? path.c_str() : "(built, not installed)");
}

int version_command(const Words &words) {
    for (const auto &word : words) {
        bool help = word == "--help" || word == "-h";
        std::fputs("Usage: pmixhost version\n", help ? stdout : stderr);
        return help ? exit_ok : exit_usage;
    }
    std::printf("pmixhost %s\n", PACKAGE_VERSION);
    std::printf("PMIx library %ld.%ld.%ld (of the build)\n", long{PMIX_VERSION_MAJOR},
                long{PMIX_VERSION_MINOR}, long{PMIX_VERSION_RELEASE});
    show_backend("local");
#ifdef PMIXHOST_HAVE_SLURM
    show_backend("slurm");
#endif
    return exit_ok;
}

} // namespace pmixhost
