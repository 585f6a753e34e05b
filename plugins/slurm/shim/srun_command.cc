// See srun_command.h.
#include "plugins/slurm/shim/srun_command.h"

#include "common/base/unique_fd.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "plugins/slurm/base/app_list.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/multi_prog.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/ranges.h>
#include <numeric>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::slurm {

namespace {

constexpr std::size_t max_command_line = 4u << 20;
constexpr std::size_t max_multi_prog_file = 1u << 20; // Slurm itself takes 60,000 bytes
constexpr std::size_t max_components = 1024;

// Finds an option by its full name, or an abbreviation of one option only. The same option may be in the table under
// several names.
const option *find_long(const option *options, std::string_view name) {
    const option *found = nullptr;
    for (const option *each = options; each->name; ++each) {
        std::string_view full = each->name;
        if (full == name)
            return each;
        if (!full.starts_with(name))
            continue;
        if (found && (found->has_arg != each->has_arg || found->val != each->val))
            return nullptr;
        found = each;
    }
    return found;
}

// Walks over the options of one part.
class OptionWalk {
  public:
    OptionWalk(std::span<const std::string> words, const option *options, std::string_view letters)
        : words_(words), options_(options), letters_(letters) {}

    // The number of the first word that is no option; none when an option is not known.
    std::optional<std::size_t> run(std::string &het_groups) {
        std::size_t at = 1; // behind "srun" or ":"
        for (; at < words_.size(); ++at) {
            std::string_view word = words_[at];
            if (word == "--")
                return at + 1;
            if (word.size() < 2 || word.front() != '-')
                return at;
            bool long_option = word.starts_with("--");
            if (!(long_option ? read_long(word.substr(2), at, het_groups) : read_letters(word.substr(1), at)))
                return std::nullopt;
        }
        return std::min(at, words_.size());
    }

  private:
    bool read_long(std::string_view word, std::size_t &at, std::string &het_groups) {
        std::size_t equals = word.find('=');
        const option *found = find_long(options_, word.substr(0, equals));
        if (!found)
            return false;
        std::string_view value;
        if (equals != std::string_view::npos)
            value = word.substr(equals + 1);
        else if (found->has_arg == required_argument && ++at < words_.size())
            value = words_[at];
        std::string_view name = found->name;
        if (name == "het-group" || name == "pack-group")
            het_groups = value;
        return true;
    }
    bool read_letters(std::string_view word, std::size_t &at) {
        for (std::size_t i = 0; i < word.size(); ++i) {
            std::size_t place = word[i] == ':' || word[i] == '+' ? std::string_view::npos : letters_.find(word[i]);
            if (place == std::string_view::npos)
                return false;
            if (letters_.substr(place + 1, 1) != ":")
                continue;
            bool optional = letters_.substr(place + 2, 1) == ":";
            if (!optional && i + 1 == word.size())
                ++at;
            break; // the rest of the word, if any, is the value
        }
        return true;
    }

    std::span<const std::string> words_;
    const option *options_;
    std::string_view letters_;
};

std::string read_file(const char *path, std::size_t limit, bool regular) {
    UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || (regular && !S_ISREG(status.st_mode)))
        return {};
    std::string text;
    char buffer[16384];
    for (;;) {
        ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
        if (count < 0)
            return {};
        if (count == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(count));
        if (text.size() > limit)
            return {};
    }
}

std::vector<std::string> own_command_line() {
    std::string text = read_file("/proc/self/cmdline", max_command_line, false);
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find('\0', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

// The options of the components, of a het step only. srun keeps `ntasks` in step with what it has
// created.
std::vector<std::uint32_t> component_tasks() {
    std::vector<std::uint32_t> tasks;
    if (!&srun_option_list || !srun_option_list)
        return tasks;
    auto *iterator = slurm_list_iterator_create(srun_option_list);
    while (void *component = slurm_list_next(iterator)) {
        char *text = slurm_option_get(component, "ntasks");
        std::uint32_t number = 0;
        if (text)
            std::from_chars(text, text + std::string_view(text).size(), number);
        slurm_xfree(reinterpret_cast<void **>(&text));
        tasks.push_back(number);
    }
    slurm_list_iterator_destroy(iterator);
    return tasks;
}

// How many components "0-2,5" selects; 0 for what cannot be read.
std::size_t count_groups(std::string_view text) {
    std::size_t count = 0;
    if (text.starts_with('[') && text.ends_with(']'))
        text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        std::string_view part = take_until(text, ',');
        unsigned first = 0, last = 0;
        const char *end = part.data() + part.size();
        auto [stop, code] = std::from_chars(part.data(), end, first);
        if (code != std::errc())
            return 0;
        last = first;
        if (stop != end) {
            auto [after, bad] = std::from_chars(stop + 1, end, last);
            if (*stop != '-' || bad != std::errc() || after != end || last < first)
                return 0;
        }
        count += std::size_t{last} - first + 1;
        if (count > max_components)
            return 0;
    }
    return count;
}

// The command line of each of `components` components; empty when that is not clear.
std::vector<std::vector<std::string>> component_commands(const std::vector<CommandPart> &parts,
                                                         std::size_t components) {
    std::vector<std::vector<std::string>> commands;
    bool one_each = parts.size() == components;
    for (const CommandPart &part : parts) {
        std::size_t times = one_each || part.het_groups.empty() ? 1 : count_groups(part.het_groups);
        if (!one_each && parts.size() == 1)
            times = components;
        if (times > max_components)
            return {};
        commands.insert(commands.end(), times, part.argv);
    }
    if (commands.size() != components)
        return {};
    // Where a component has no program, the next one that has gives it its own.
    for (std::size_t i = commands.size(); i-- > 1;) {
        if (commands[i - 1].empty())
            commands[i - 1] = commands[i];
    }
    return commands;
}

} // namespace

std::vector<CommandPart> split_command_line(std::span<const std::string> line, const option *options,
                                            std::string_view short_options) {
    std::vector<CommandPart> parts;
    while (!line.empty()) {
        CommandPart part;
        auto program = OptionWalk(line, options, short_options).run(part.het_groups);
        if (!program || parts.size() == max_components)
            return {};
        auto begin = line.begin() + static_cast<std::ptrdiff_t>(std::min(*program, line.size()));
        auto colon = std::find(begin, line.end(), ":");
        part.argv.assign(begin, colon);
        parts.push_back(std::move(part));
        line = line.subspan(static_cast<std::size_t>(colon - line.begin()));
    }
    return parts;
}

bool in_srun() {
    return &srun_options && &srun_only_options;
}

SrunPrograms programs_of_srun() {
    SrunPrograms programs;
    if (!&srun_options || !&srun_only_options || !&slurm_option_table_create || !&slurm_option_table_destroy ||
        !&slurm_option_isset || !&slurm_option_get)
        return programs;
    char *letters = nullptr;
    option *table = slurm_option_table_create(&srun_options, &letters);
    if (table && letters)
        programs.parts = split_command_line(own_command_line(), table, letters);
    if (table)
        slurm_option_table_destroy(table);
    slurm_xfree(reinterpret_cast<void **>(&letters));
    programs.tasks = component_tasks();
    programs.multi_prog = programs.tasks.empty() && slurm_option_isset(&srun_options, "multi-prog");
    if (programs.multi_prog && programs.parts.size() == 1 && !programs.parts[0].argv.empty())
        programs.multi_prog_text = read_file(programs.parts[0].argv[0].c_str(), max_multi_prog_file, true);
    return programs;
}

Result<void> check_holder(const SrunPrograms &programs, std::string_view holder) {
    if (programs.parts.empty())
        return {};
    const auto &words = programs.parts.front().argv;
    if (programs.parts.size() == 1 && fmt::format("{}", fmt::join(words, " ")) == holder)
        return {};
    return error(ErrorKind::invalid,
                 "pmixhost launcher takes options of srun, and '{}' is none: its debugger says which programs run",
                 words.empty() ? ":" : printable(words.front()));
}

Result<void> check_cluster(std::string_view working, std::string_view own) {
    std::string_view name = working.substr(0, working.find(':'));
    if (name.empty() || own.empty() || name == own)
        return {};
    return error(
        ErrorKind::unsupported,
        "the job runs on cluster {}, and srun was called on {}, where nobody knows it; next: call srun on a host of "
        "{}, as in sbatch -M {}",
        printable(name), own, printable(name), printable(name));
}

std::string option_of_srun(const char *name) {
    if (!&srun_options || !&slurm_option_isset || !&slurm_option_get || !slurm_option_isset(&srun_options, name))
        return {};
    char *value = slurm_option_get(&srun_options, name);
    std::string text = value ? value : "";
    slurm_xfree(reinterpret_cast<void **>(&value));
    return text;
}

std::vector<App> apps_of_step(const SrunPrograms &programs, Rank tasks, Rank first_rank) {
    const auto &parts = programs.parts;
    if (programs.multi_prog) {
        if (parts.size() != 1 || parts[0].argv.empty())
            return {};
        std::vector<std::string> more(parts[0].argv.begin() + 1, parts[0].argv.end());
        auto apps = parse_multi_prog(programs.multi_prog_text, tasks, more);
        return apps && apps->size() <= max_apps ? std::move(*apps) : std::vector<App>();
    }
    if (programs.tasks.empty()) {
        if (parts.size() != 1)
            return {};
        return {App{parts[0].argv, {}}};
    }
    // A component that this map is made for begins with a program of its own, and all tasks have
    // one.
    auto commands = component_commands(parts, programs.tasks.size());
    std::vector<App> apps;
    std::uint64_t next = 0;
    bool begins_here = false;
    for (std::size_t i = 0; i < programs.tasks.size(); ++i) {
        begins_here |= next == first_rank;
        std::uint64_t end = next + programs.tasks[i];
        if (programs.tasks[i] == 0 || end > tasks)
            return {};
        App app;
        if (!commands.empty())
            app.argv = commands[i];
        app.ranks.resize(programs.tasks[i]);
        std::iota(app.ranks.begin(), app.ranks.end(), static_cast<Rank>(next));
        apps.push_back(std::move(app));
        next = end;
    }
    return begins_here && next == tasks ? apps : std::vector<App>();
}

} // namespace pmixhost::slurm
