// See config.h.
#include "common/config/config.h"

#include "common/config/config_file.h"
#include "common/config/config_options.h"
#include "common/config/option_values.h"
#include "common/text/nearest_name.h"
#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost {

namespace {

constexpr std::string_view env_prefix = "PMIXHOST_";

// Sets one option and notes where it comes from.
void apply(std::size_t index, const RawValue &value, Origin::Source source, std::string where, const std::string &place,
           Checked &out) {
    const Option &option = config_options()[index];
    if (auto done = set_option(option, value, out.loaded.settings); !done) {
        out.errors.push_back(Error{done.failure().kind, place + ": " + done.failure().text});
        return;
    }
    out.loaded.origins[index].source = source;
    out.loaded.origins[index].where = std::move(where);
}

void apply_file(const std::string &path, const std::string &content, Checked &out) {
    auto file = parse_config_file(content, path);
    out.errors.insert(out.errors.end(), file.errors.begin(), file.errors.end());
    auto options = config_options();
    for (const auto &entry : file.entries) {
        auto option = std::find_if(options.begin(), options.end(), [&](const Option &o) { return o.key == entry.key; });
        if (option == options.end())
            continue; // parse_config_file() has named it
        std::string place = fmt::format("{}:{}", path, entry.line);
        apply(static_cast<std::size_t>(option - options.begin()), entry.value, Origin::Source::file, place, place, out);
    }
}

void apply_variable(std::string_view name, std::string_view value, Checked &out) {
    auto options = config_options();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < options.size(); ++i) {
        std::string known = environment_name(options[i]);
        bool is_free = options[i].user_if_free && out.loaded.origins[i].source == Origin::Source::builtin;
        if (name == known && (options[i].user || is_free)) {
            std::string place = "environment " + known;
            apply(i, RawValue{std::string(value)}, Origin::Source::environment, place, place, out);
            return;
        }
        if (name == known) {
            out.loaded.notes.push_back(fmt::format("{} has no effect: {} is set by the administrator, in pmixhost.conf",
                                                   name, options[i].key));
            return;
        }
        if (options[i].user || is_free)
            names.push_back(std::move(known));
    }
    if (name == "PMIXHOST_START_TIMEOUT") // a plugin reads it, where there is no configuration
        return;
    // Others begin with PMIXHOST_ too; only what looks like a slip is worth a word.
    auto nearest = nearest_name(name.substr(env_prefix.size()), [&] {
        std::vector<std::string> short_names;
        for (const auto &known : names)
            short_names.push_back(known.substr(env_prefix.size()));
        return short_names;
    }());
    if (!nearest.empty())
        out.loaded.notes.push_back(
            fmt::format("{} has no effect; did you mean {}{}?", printable(name), env_prefix, nearest));
}

} // namespace

std::string default_config_path() {
    return PMIXHOST_SYSCONFDIR "/pmixhost.conf";
}

Checked check_config(const std::string &path, std::span<const std::string> environment) {
    Checked out;
    for (const auto &option : config_options())
        out.loaded.origins.push_back({std::string(option.key), Origin::Source::builtin, "default"});

    std::string file = path.empty() ? default_config_path() : path;
    auto content = read_config_file(file);
    if (content)
        apply_file(file, *content, out);
    else if (!path.empty() || content.failure().kind != ErrorKind::not_found)
        out.errors.push_back(content.failure());

    for (const auto &line : environment) {
        auto equals = line.find('=');
        if (line.starts_with(env_prefix) && equals != std::string::npos)
            apply_variable(std::string_view(line).substr(0, equals), std::string_view(line).substr(equals + 1), out);
    }
    return out;
}

Result<Loaded> load_config(const std::string &path, std::span<const std::string> environment) {
    Checked checked = check_config(path, environment);
    if (checked.errors.empty())
        return std::move(checked.loaded);
    Error first = checked.errors.front();
    if (checked.errors.size() > 1)
        first.text += fmt::format(" (and {} more; `pmixhost config --check` lists them)", checked.errors.size() - 1);
    return first;
}

std::vector<std::string> config_environment(char *const *environment) {
    std::vector<std::string> lines;
    for (; environment && *environment; ++environment) {
        if (std::string_view(*environment).starts_with(env_prefix))
            lines.emplace_back(*environment);
    }
    return lines;
}

} // namespace pmixhost
