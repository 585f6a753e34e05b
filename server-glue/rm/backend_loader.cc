// See backend_loader.h.
#include "server-glue/rm/backend_loader.h"

#include <dlfcn.h>
#include <filesystem>
#include <set>

namespace pmixhost {

// BUILD/plugins for a pmixhostd that runs from its build tree (BUILD/server-glue/pmixhostd); else empty.
static std::filesystem::path build_tree() {
    std::error_code failed;
    auto directory = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    if (failed || directory == std::filesystem::path(PMIXHOST_LIBEXECDIR))
        return {};
    auto plugins = directory.parent_path() / "plugins";
    return std::filesystem::exists(plugins, failed) ? plugins : std::filesystem::path();
}

// The library directory, and before it the place where the build puts modules.
static std::vector<std::string> places(const std::string &name) {
    std::string file = "backend_" + name + ".so";
    std::vector<std::string> out;
    std::error_code failed;
    if (auto tree = build_tree(); !tree.empty()) {
        auto built = tree / name / ".libs" / file;
        if (std::filesystem::exists(built, failed))
            out.push_back(built.string());
    }
    out.push_back(std::string(PMIXHOST_LIBDIR) + "/" + file);
    return out;
}

struct LoadedModule {
    const BackendModule *module;
    std::string path;
};

static Result<LoadedModule> load(const std::string &name) {
    if (name.empty() || name.size() > 32 ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
        return error(ErrorKind::invalid, "'{}' is no name of a backend", name);
    std::string why;
    for (const auto &path : places(name)) {
        // Global, because an RM's library that the backend brings along may load plugins of its own
        // that expect to see it. The backend itself exports one symbol.
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
        if (!module->create_lobby != !module->give_back)
            return error(ErrorKind::invalid, "{} has only one of the functions create_lobby and give_back", path);
        return LoadedModule{module, path};
    }
    return error(ErrorKind::not_found, "no backend '{}': {}", name, why);
}

Result<const BackendModule *> load_backend(const StartDocument &document) {
    auto name = document.text("backend");
    if (!name)
        return name.failure();
    auto loaded = load(*name);
    if (!loaded)
        return loaded.failure();
    return loaded->module;
}

static Facets if_there(bool there, Facet which) {
    return there ? facets(which) : 0u;
}

Facets facets_of(RmBackend &backend) {
    return if_there(backend.questions(), Facet::questions) | if_there(backend.allocations(), Facet::allocations) |
           if_there(backend.job_record(), Facet::job_record) | if_there(backend.user_notes(), Facet::user_notes) |
           if_there(backend.roles(), Facet::roles) | if_there(backend.spawned_step(), Facet::spawned_step) |
           if_there(backend.step_output(), Facet::step_output) | if_there(backend.spawn_places(), Facet::lobby);
}

Facets facets_of(const BackendModule &module) {
    return if_there(module.session_invitations, Facet::session_invitations) |
           if_there(module.create_starter, Facet::starter) | if_there(module.call_step, Facet::call_step) |
           if_there(module.own_steps, Facet::own_steps) | if_there(module.owner_of, Facet::owner_of) |
           if_there(module.create_lobby, Facet::lobby);
}

static std::string names_of(Facets facets) {
    std::string out;
    for (const auto &row : facet_table) {
        if (has(facets, row.facet))
            out += std::string(out.empty() ? "" : ", ") + row.name;
    }
    return out.empty() ? "none" : out;
}

Result<std::unique_ptr<RmBackend>> create_backend(BackendContext context) {
    auto module = load_backend(context.document);
    if (!module)
        return module.failure();
    auto backend = (*module)->create(context);
    if (backend && facets_of(**backend) != (*module)->facets)
        return error(ErrorKind::invalid, "the backend {} says that it has the facets {}, but has {}", (*module)->name,
                     names_of((*module)->facets), names_of(facets_of(**backend)));
    if (backend && ((*backend)->step().parent || (*backend)->step().tells_launch) && !(*backend)->spawned_step())
        return error(
            ErrorKind::invalid,
            "the backend {} says that its step was spawned, or tells of its launch, but has not the facet spawn",
            (*module)->name);
    return backend;
}

Result<std::unique_ptr<RmBackend>> create_lobby(BackendContext context) {
    auto module = load_backend(context.document);
    if (!module)
        return module.failure();
    if (!(*module)->create_lobby)
        return error(ErrorKind::unsupported, "the backend {} starts no jobs for tools alone", (*module)->name);
    auto backend = (*module)->create_lobby(context);
    const Facets offered = (*module)->facets | facets(Facet::lobby);
    if (backend && (!(*backend)->spawn_places() || (facets_of(**backend) & ~offered) != 0))
        return error(ErrorKind::invalid,
                     "the backend {} says that its lobbies have the facet lobby and some of {}, but this one has {}",
                     (*module)->name, names_of((*module)->facets), names_of(facets_of(**backend)));
    return backend;
}

static std::set<std::string> installed_names() {
    std::set<std::string> names;
    auto look_in = [&](const std::filesystem::path &directory) {
        std::error_code failed;
        for (const auto &entry : std::filesystem::directory_iterator(directory, failed)) {
            std::string file = entry.path().filename().string();
            if (file.starts_with("backend_") && file.ends_with(".so"))
                names.insert(file.substr(8, file.size() - 11));
        }
    };
    look_in(PMIXHOST_LIBDIR);
    if (auto tree = build_tree(); !tree.empty()) {
        std::error_code failed;
        for (const auto &plugin : std::filesystem::directory_iterator(tree, failed))
            look_in(plugin.path() / ".libs");
    }
    return names;
}

Result<const BackendModule *> backend_that_calls_steps() {
    std::string wrong;
    for (const auto &name : installed_names()) {
        auto loaded = load(name);
        if (loaded && loaded->module->call_step)
            return loaded->module;
        if (!loaded)
            wrong += "; " + loaded.failure().text;
    }
    return error(ErrorKind::unsupported,
                 "no backend that is installed here finds jobs of other hosts: run this on a host of the job{}", wrong);
}

std::string describe_backends() {
    std::string out;
    for (const auto &name : installed_names()) {
        auto loaded = load(name);
        out += loaded ? fmt::format("backend {:6} {}: {}\n", name, loaded->path,
                                    names_of(loaded->module->facets | facets_of(*loaded->module)))
                      : fmt::format("backend {:6} cannot be used: {}\n", name, loaded.failure().text);
    }
    return out;
}

} // namespace pmixhost
