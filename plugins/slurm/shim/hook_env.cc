// See hook_env.h.
#include "plugins/slurm/shim/hook_env.h"

#include "common/job/debug_stops.h"
#include "common/job/process_set.h"
#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/start/task_spec.h"
#include "plugins/kit/indirect_launch.h"
#include "plugins/kit/launcher_file.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"

#include <algorithm>
#include <charconv>

namespace pmixhost::slurm {

namespace {

constexpr std::string_view own_prefix = "PMIXHOST_";
constexpr std::size_t max_user_variables = 256;
constexpr std::size_t max_user_bytes = 64u << 10;

bool is_own(std::string_view name) {
    return name == report_variable || name == live_on_variable || name == bad_exit_variable ||
           name == pmix_use_variable || name == launcher_file_awaited || name == launch_awaited ||
           name == ends_awaited || name.starts_with(task_map_prefix) || name.starts_with(of_srun_prefix) ||
           name == parent_variable || name == step_secret_variable || name == process_sets_variable ||
           name == kit::indirect_fd_variable || name == kit::own_allocation_variable || name == spawn_fd_variable ||
           name == spawn_stderr_variable || name == task_container_variable;
}

} // namespace

std::string_view find_variable(char *const *environment, std::string_view name) {
    for (; environment && *environment; ++environment) {
        std::string_view entry = *environment;
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
            return entry.substr(name.size() + 1);
    }
    return {};
}

bool has_variable(char *const *environment, std::string_view name) {
    for (; environment && *environment; ++environment) {
        std::string_view entry = *environment;
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
            return true;
    }
    return false;
}

Result<std::string> collect_task_map(char *const *environment) {
    std::vector<std::string_view> pieces;
    for (; environment && *environment; ++environment) {
        std::string_view entry = *environment;
        if (!entry.starts_with(task_map_prefix))
            continue;
        entry.remove_prefix(task_map_prefix.size());
        std::size_t index = 0;
        const char *end = entry.data() + entry.size();
        auto [stop, code] = std::from_chars(entry.data(), end, index);
        if (code != std::errc() || stop == end || *stop != '=' || index >= max_environment_pieces)
            continue;
        if (pieces.size() <= index)
            pieces.resize(index + 1);
        pieces[index] = std::string_view(stop + 1, static_cast<std::size_t>(end - stop - 1));
    }
    if (pieces.empty() || pieces.front().empty())
        return error(ErrorKind::not_found, "srun sent no task map; is pmixhost installed where srun runs?");
    std::size_t count = 0;
    std::string_view &first = pieces.front();
    auto [space, code] = std::from_chars(first.data(), first.data() + first.size(), count);
    auto digits = static_cast<std::size_t>(space - first.data());
    bool counted = code == std::errc() && digits < first.size() && *space == ' ' && count > 0;
    std::string text;
    if (counted && count <= pieces.size()) {
        first.remove_prefix(digits + 1);
        pieces.resize(count);
        for (auto piece : pieces) {
            counted = counted && !piece.empty() && text.size() + piece.size() <= TaskMap::max_text;
            if (counted)
                text += piece;
        }
    }
    if (!counted || text.empty())
        return error(ErrorKind::invalid, "the step's task map is cut off or too long");
    return text;
}

std::string of_srun_variable(std::string_view name) {
    return std::string(of_srun_prefix) += name.substr(own_prefix.size());
}

std::vector<std::string> user_variables(char *const *environment) {
    std::vector<std::string> variables;
    std::size_t bytes = 0;
    auto is_there = [&variables](std::string_view name_and_equals) {
        return std::any_of(variables.begin(), variables.end(),
                           [=](const std::string &each) { return each.starts_with(name_and_equals); });
    };
    for (bool of_srun : {false, true}) {
        for (char *const *each = environment; each && *each; ++each) {
            std::string_view entry = *each;
            if (!entry.starts_with(own_prefix) || entry.starts_with(of_srun_prefix) != of_srun)
                continue;
            std::string variable(entry);
            if (of_srun)
                variable.replace(0, of_srun_prefix.size(), own_prefix);
            std::size_t equals = variable.find('=');
            std::string_view name = std::string_view(variable).substr(0, equals);
            if (equals == std::string::npos || is_own(name) || name.starts_with(task_spec_prefix) ||
                variable.find('\n') != std::string::npos ||
                (of_srun && is_there(std::string_view(variable).substr(0, equals + 1))))
                continue;
            bytes += variable.size();
            if (variables.size() == max_user_variables || bytes > max_user_bytes)
                return variables;
            variables.push_back(std::move(variable));
        }
    }
    return variables;
}

std::string_view find_user_variable(char *const *environment, std::string_view name) {
    return find_variable(environment, has_variable(environment, name) ? std::string(name) : of_srun_variable(name));
}

std::string take_secret(char **environment) {
    std::string secret(find_variable(environment, step_secret_variable));
    if (!has_variable(environment, step_secret_variable))
        return secret;
    for (char **entry = environment; *entry; ++entry) {
        std::string_view text = *entry;
        if (text.substr(0, text.find('=')) == step_secret_variable)
            blank_value(*entry);
    }
    slurm_unsetenvp(environment, std::string(step_secret_variable).c_str());
    return secret;
}

static void remove_variables(char **environment, bool (*removed)(std::string_view name)) {
    std::vector<std::string> names;
    for (char **entry = environment; entry && *entry; ++entry) {
        std::string_view text = *entry;
        std::string_view name = text.substr(0, text.find('='));
        if (removed(name))
            names.emplace_back(name);
    }
    for (const auto &name : names)
        slurm_unsetenvp(environment, name.c_str());
}

void remove_own_variables(char **environment) {
    remove_variables(environment, [](std::string_view name) {
        return is_own(name) || name == kit::launcher_file_variable || name == debug_stop_variable;
    });
}

void remove_debuggers_variables(char **environment) {
    remove_variables(environment, kit::is_debuggers);
}

Result<void> set_variable(char ***environment, const std::string &name, const std::string &value) {
    if (slurm_env_array_overwrite(environment, name.c_str(), value.c_str()) != 1)
        return error(ErrorKind::limit, "the variable {} cannot be set ({} bytes)", name, value.size());
    return {};
}

} // namespace pmixhost::slurm
