// See backend_loader.h.
#include "server-glue/rm/backend_loader.h"

#include <dlfcn.h>
#include <filesystem>

namespace pmixhost {

// The library directory; for a pmixhostd that runs from its build tree (BUILD/server-glue/pmixhostd)
// the place where the build puts modules first.
static std::vector<std::string> places(const std::string &name) {
    std::string file = "backend_" + name + ".so";
    std::vector<std::string> out;
    std::error_code failed;
    auto directory = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    if (!failed && directory != std::filesystem::path(PMIXHOST_LIBEXECDIR)) {
        auto built = directory.parent_path() / "plugins" / name / ".libs" / file;
        if (std::filesystem::exists(built, failed))
            out.push_back(built.string());
    }
    out.push_back(std::string(PMIXHOST_LIBDIR) + "/" + file);
    return out;
}

static Result<const BackendModule *> load(const std::string &name) {
    if (name.empty() || name.size() > 32 ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
        return error(ErrorKind::invalid, "'{}' is no name of a backend", name);
    std::string why;
    for (const auto &path : places(name)) {
        // Global, because an RM's library that the backend brings along may load plugins of its own
        // that expect to see it (Slurm's do). The backend itself exports one symbol.
        void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (!handle) {
            why += (why.empty() ? "" : "; ") + std::string(dlerror());
            continue;
        }
        auto *module = static_cast<const BackendModule *>(dlsym(handle, "pmixhost_backend"));
        if (!module)
            return error(ErrorKind::invalid, "{} is no backend: it exports no pmixhost_backend", path);
        if (module->abi != BackendModule::current_abi)
            return error(ErrorKind::invalid,
                         "{} is of interface version {}, this pmixhostd wants {}; install both from "
                         "the same build",
                         path, module->abi, BackendModule::current_abi);
        return module;
    }
    return error(ErrorKind::not_found, "no backend '{}': {}", name, why);
}

Result<const BackendModule *> load_backend(const StartDocument &document) {
    auto name = document.text("backend");
    if (!name)
        return name.failure();
    return load(*name);
}

} // namespace pmixhost
