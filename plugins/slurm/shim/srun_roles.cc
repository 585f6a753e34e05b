// See srun_roles.h.
#include "plugins/slurm/shim/srun_roles.h"

#include "plugins/kit/launcher_start.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/hook_env.h"
#include "plugins/slurm/steps/child_options.h"

#include <filesystem>

#include <unistd.h>

namespace pmixhost::slurm {

namespace {

// The name of an srun's --output or --error for those of its children: slurmstepd takes a name of each task's own from
// the step's directory, and that of theirs is another one.
std::string for_children(const std::string &name, const std::string &directory) {
    bool of_tasks = false;
    for (auto percent = name.find('%'); percent != name.npos; percent = name.find('%', percent + 1)) {
        auto kind = name.find_first_not_of("0123456789", percent + 1);
        of_tasks =
            of_tasks || (kind != name.npos && std::string_view("tnNu").find(name[kind]) != std::string_view::npos);
    }
    std::error_code failed;
    return of_tasks ? (std::filesystem::current_path(failed) / directory / name).string() : name;
}

// Its --output and the like are the launcher's own matter (for_children).
std::vector<std::string> options_of_children() {
    std::vector<std::string> options;
    for (const char *name : options_for_children) {
        if (std::string value = option_of_srun(name); value == "set")
            options.push_back(fmt::format("--{}", name));
        else if (!value.empty() && value != "unset")
            options.push_back(fmt::format("--{}={}", name, value));
    }
    return options;
}

// Leaves out what is empty.
class RoleDocument {
  public:
    void add(std::string_view key, std::string_view value) {
        if (!value.empty())
            lines_.add(key, value);
    }
    void add_user_variables() {
        for (const auto &variable : user_variables(environ))
            add("env", variable);
    }
    Result<StartDocument> finish() { return lines_.finish(); }

  private:
    StartDocumentWriter lines_;
};

struct Launcher {
    std::string host, job, secret;
    // What srun's user has said that holds for the children too.
    std::string output, error, label, container;
    std::vector<std::string> options;

    Result<StartDocument> document() const {
        RoleDocument told;
        told.add("backend", "slurm");
        told.add("host", host);
        told.add("job", job);
        told.add("secret", secret);
        told.add("slurm.job_id", job);
        told.add("slurm.output", output);
        told.add("slurm.error", error);
        told.add("slurm.label", label);
        told.add("slurm.container", container);
        for (const auto &option : options) {
            if (option.find('\n') == std::string::npos)
                told.add("slurm.option", option);
            else
                slurm_error("pmixhost: the value of %s has a line break: it does not hold for what is spawned",
                            option.substr(0, option.find('=')).c_str());
        }
        told.add_user_variables();
        return told.finish();
    }
};

Result<StartDocument> desk_document(const std::string &host, const std::string &step) {
    RoleDocument told;
    told.add("host", host);
    told.add("desk.job", step);
    told.add_user_variables();
    return told.finish();
}

Result<kit::LauncherProcess> start_role(const char *role, int listener, const DaemonPath &daemon,
                                        Result<StartDocument> document) {
    if (!document)
        return document.failure();
    return kit::start_launcher({role, listener, daemon.path, daemon.arguments, std::move(*document)});
}

} // namespace

std::function<Result<kit::LauncherProcess>()> launcher_of_srun(const LaunchContext &context, std::uint32_t job) {
    const std::string directory = option_of_srun("chdir");
    Launcher launcher;
    launcher.host = context.host;
    launcher.job = std::to_string(job);
    launcher.secret = context.secret;
    launcher.output = for_children(option_of_srun("output"), directory);
    launcher.error = for_children(option_of_srun("error"), directory);
    launcher.label = option_of_srun("label");
    launcher.container = option_of_srun("container");
    launcher.options = options_of_children();
    return [launcher = std::move(launcher), daemon = context.daemon, working = context.working_cluster,
            own = context.cluster]() -> Result<kit::LauncherProcess> {
        if (auto here = check_cluster(working, own); !here)
            return here.failure();
        return start_role("launcher", -1, daemon, launcher.document());
    };
}

std::function<Result<kit::LauncherProcess>(int)> desk_of_srun(const LaunchContext &context, std::uint32_t job,
                                                              std::uint32_t step) {
    return [daemon = context.daemon, host = context.host, name = fmt::format("{}.{}", job, step)](int listener) {
        return start_role("desk", listener, daemon, desk_document(host, name));
    };
}

} // namespace pmixhost::slurm
