// `pmixhost config`: what is in force and where it comes from, or what is wrong with a file.
#include "common/config/config.h"
#include "common/config/config_man.h"
#include "common/config/option_values.h"
#include "common/policy/accounts.h"
#include "common/policy/others_jobs.h"
#include "common/policy/policy_load.h"
#include "common/policy/unreachable.h"
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <unistd.h>

namespace pmixhost {

namespace {

void complain(const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s\n", text.c_str());
}

int check(const std::string &path) {
    Checked checked = check_config(path, {});
    std::vector<Error> errors = std::move(checked.errors);
    // The rules for tools: what is wrong with them keeps tools away, not jobs, so that check_config() leaves it.
    auto site = load_site_policy(checked.loaded, policy::SystemNames());
    errors.insert(errors.end(), site.errors.begin(), site.errors.end());
    std::vector<Error> warnings;
    for (const auto &one : never_matching(site.rules))
        (one.kind == ErrorKind::limit ? warnings : errors).push_back(one); // what was not found out is no mistake
    for (const auto &error : errors)
        std::fprintf(stderr, "%s\n", error.text.c_str());
    if (site.errors.empty()) { // else the rest is another policy
        auto idle = without_effect_on_others(site.rules);
        warnings.insert(warnings.end(), idle.begin(), idle.end());
    }
    for (const auto &one : warnings)
        std::fprintf(stderr, "warning: %s\n", one.text.c_str());
    return errors.empty() ? exit_ok : exit_failure;
}

// Shows the settings as a file that says the same, each line with its origin; on a terminal those stand out that
// somebody has set.
void show_text(const Loaded &loaded) {
    std::size_t width = 0;
    auto options = config_options();
    std::vector<std::string> lines;
    for (const auto &option : options) {
        lines.push_back(fmt::format("{} = {}", option.key, show_option(option, loaded.settings)));
        width = std::max(width, lines.back().size());
    }
    Colours colours(stdout);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        bool is_set = loaded.origins[i].source != Origin::Source::builtin;
        fmt::print("{}{:<{}}{}  # {}\n", is_set ? colours.bold : "", lines[i], std::min<std::size_t>(width, 60),
                   is_set ? colours.off : "", loaded.origins[i].where);
    }
}

nlohmann::ordered_json json_value(const Option &option, const Settings &settings) {
    auto text = show_option(option, settings);
    // The dump's values are numbers, texts and lists of texts, written as JSON writes them.
    auto value = nlohmann::ordered_json::parse(text, nullptr, false);
    return value.is_discarded() ? nlohmann::ordered_json(text) : value;
}

void show_json(const Loaded &loaded, const std::string &path) {
    nlohmann::ordered_json out;
    out["file"] = path.empty() ? default_config_path() : path;
    for (std::size_t i = 0; i < loaded.origins.size(); ++i) {
        const auto &option = config_options()[i];
        const auto &origin = loaded.origins[i];
        static constexpr const char *sources[] = {"default", "file", "environment"};
        nlohmann::ordered_json entry;
        entry["key"] = std::string(option.key);
        entry["value"] = json_value(option, loaded.settings);
        entry["source"] = sources[static_cast<int>(origin.source)];
        entry["where"] = origin.where;
        if (option.user)
            entry["environment"] = environment_name(option);
        out["options"].push_back(std::move(entry));
    }
    out["notes"] = loaded.notes;
    // A path need not be UTF-8.
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int show(const std::string &path, bool json) {
    Checked checked = check_config(path, config_environment(environ));
    for (const auto &error : checked.errors)
        complain(error.text);
    if (!checked.errors.empty())
        return exit_failure;
    for (const auto &note : checked.loaded.notes)
        std::fprintf(stderr, "pmixhost: warning: %s\n", note.c_str());
    if (json)
        show_json(checked.loaded, path);
    else
        show_text(checked.loaded);
    return exit_ok;
}

} // namespace

int config_command(const Words &words) {
    CLI::App parser("Shows the configuration, or checks a file.", "pmixhost config");
    bool show_it = false, json = false, man = false;
    std::string file, checked;
    parser.add_flag("--show", show_it, "Show each option, its value and where it comes from (default)");
    auto *as_json = parser.add_flag("--json", json, "Show it as JSON");
    auto *of_file =
        parser.add_option("--file", file, "Show what this file says instead of the installed one")->type_name("FILE");
    auto *checks =
        parser.add_option("--check", checked, "List all errors of a file; exit code 0 if there is none, else 1")
            ->type_name("FILE")
            ->excludes(as_json)
            ->excludes(of_file);
    parser.add_flag("--man", man, "Write the section OPTIONS of pmixhost.conf(5)")
        ->excludes(as_json)
        ->excludes(of_file)
        ->excludes(checks);
    if (auto over = parse(parser, words))
        return *over;
    if (man) {
        std::fputs(config_man_section().c_str(), stdout);
        return exit_ok;
    }
    if (parser.count("--check") > 0 && checked.empty()) {
        complain("--check needs the name of a file (see pmixhost config --help)");
        return exit_usage;
    }
    if (parser.count("--check") > 0)
        return check(checked);
    return show(file, json);
}

} // namespace pmixhost
