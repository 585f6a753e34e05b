// See completion.h.
#include "tools/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace pmixhost {

namespace {

// What can stand where a value of this name is expected.
enum class Completes { nothing, files, directories, jobs, users, hosts, actions, shells, signals };

Completes completes(std::string_view value) {
    static constexpr struct {
        std::string_view value;
        Completes how;
    } table[] = {{"FILE", Completes::files},   {"DIR", Completes::directories}, {"JOB", Completes::jobs},
                 {"USER", Completes::users},   {"HOST", Completes::hosts},      {"ACTION", Completes::actions},
                 {"SHELL", Completes::shells}, {"SIGNAL", Completes::signals}};
    for (const auto &row : table) {
        if (row.value == value)
            return row.how;
    }
    return Completes::nothing;
}

constexpr std::string_view action_words = "observe output input control spawn debug";
constexpr std::string_view shell_words = "bash zsh fish";
constexpr std::string_view signal_words = "HUP INT QUIT USR1 USR2 TERM KILL STOP CONT ALRM";
constexpr std::string_view jobs_command = "pmixhost completion --jobs 2>/dev/null";

// A command with its subcommands, as "policy" and "policy show".
void visit(const CommandShape &command, const std::string &above,
           const std::function<void(const std::string &name, const CommandShape &)> &see) {
    std::string name = above.empty() ? command.name : above + " " + command.name;
    see(name, command);
    for (const auto &one : command.subcommands)
        visit(one, name, see);
}

std::string joined(const std::vector<std::string> &words, std::string_view between) {
    std::string out;
    for (const auto &word : words)
        out += (out.empty() ? "" : std::string(between)) + word;
    return out;
}

std::string names_of(const std::vector<CommandShape> &commands) {
    std::string out;
    for (const auto &one : commands)
        out += (out.empty() ? "" : " ") + one.name;
    return out;
}

// In single quotes of any of the shells; `more` are characters that get a backslash.
std::string in_quotes(std::string_view text, std::string_view more = "") {
    std::string out;
    for (char c : text) {
        if (c == '\'')
            out += "\u2019";
        else if (static_cast<unsigned char>(c) < ' ')
            out += ' ';
        else if (more.find(c) != more.npos)
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

const OptionShape *positional(const CommandShape &command) {
    for (const auto &one : command.options) {
        if (one.names.empty())
            return &one;
    }
    return nullptr;
}

// ------------------------------------------------------------------------------------------------ bash

std::string bash_words(std::string_view value) {
    switch (completes(value)) {
    case Completes::files:
        return "compgen -f";
    case Completes::directories:
        return "compgen -d";
    case Completes::jobs:
        return fmt::format("compgen -W \"$({})\"", jobs_command);
    case Completes::users:
        return "compgen -u";
    case Completes::hosts:
        return "compgen -A hostname";
    case Completes::actions:
        return fmt::format("compgen -W \"{}\"", action_words);
    case Completes::shells:
        return fmt::format("compgen -W \"{}\"", shell_words);
    case Completes::signals:
        return fmt::format("compgen -W \"{}\"", signal_words);
    default:
        return ":";
    }
}

std::string bash_script(const std::vector<CommandShape> &commands) {
    std::string values, options, arguments, pairs;
    for (const auto &command : commands) {
        visit(command, "", [&](const std::string &name, const CommandShape &shape) {
            std::vector<std::string> all;
            for (const auto &one : shape.options) {
                all.insert(all.end(), one.names.begin(), one.names.end());
                if (one.names.empty() || one.value.empty())
                    continue;
                std::string patterns;
                for (const auto &option : one.names)
                    patterns += (patterns.empty() ? "'" : " | '") + name + ":" + option + "'";
                values += fmt::format("        {}) words='{}' ;;\n", patterns, in_quotes(bash_words(one.value)));
            }
            options += fmt::format("        '{}') words='compgen -W \"{}\"' ;;\n", name, joined(all, " "));
            const OptionShape *first = positional(shape);
            for (const auto &below : shape.subcommands)
                pairs += (pairs.empty() ? "'" : " | '") + name + " " + below.name + "'";
            if (!shape.subcommands.empty())
                arguments +=
                    fmt::format("        '{}') words='compgen -W \"{}\"' ;;\n", name, names_of(shape.subcommands));
            else if (first)
                arguments += fmt::format("        '{}') words='{}' ;;\n", name, bash_words(first->value));
        });
    }
    return fmt::format(R"(# Completion of pmixhost for bash; made by `pmixhost completion bash`.
_pmixhost() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]-}} words= i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W '{0} help --help --version' -- "$word")
        return
    fi
    # What is behind -- is another program's.
    for ((i = 2; i < COMP_CWORD; ++i)); do
        if [[ ${{COMP_WORDS[i]}} == -- ]]; then
            if ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            return
        fi
    done
    case "$command ${{COMP_WORDS[2]-}}" in
        {1}) ((COMP_CWORD == 2)) || command+=" ${{COMP_WORDS[2]}}" ;;
    esac
    case $command:$before in
{2}    esac
    if [[ -z $words && $word == -* ]]; then
        case $command in
{3}        esac
    elif [[ -z $words ]]; then
        case $command in
{4}            run) words='compgen -f' ;;
        esac
    fi
    [[ -z $words ]] || mapfile -t COMPREPLY < <(eval "$words -- \"\$word\"")
}}
complete -F _pmixhost -o filenames pmixhost
)",
                       names_of(commands), pairs, values, options, arguments);
}

// ------------------------------------------------------------------------------------------------- zsh

std::string zsh_action(std::string_view value) {
    switch (completes(value)) {
    case Completes::files:
        return "_files";
    case Completes::directories:
        return "_files -/";
    case Completes::jobs:
        return fmt::format("($({}))", jobs_command);
    case Completes::users:
        return "_users";
    case Completes::hosts:
        return "_hosts";
    case Completes::actions:
        return fmt::format("({})", action_words);
    case Completes::shells:
        return fmt::format("({})", shell_words);
    case Completes::signals:
        return fmt::format("({})", signal_words);
    default:
        return " ";
    }
}

// '(-s --signal)'{-s,--signal}'[text]:SIGNAL:(...)'
std::string zsh_option(const OptionShape &option) {
    std::string text = in_quotes(option.text, "[]:\\"), names;
    if (option.names.empty())
        return fmt::format("'{}:{}:{}'", option.many ? "*" : "", in_quotes(option.value, ":"),
                           zsh_action(option.value));
    if (option.names.size() > 1)
        names = fmt::format("'({})'{{{}}}", joined(option.names, " "), joined(option.names, ","));
    else
        names = option.names[0];
    return option.value.empty()
               ? fmt::format("{}'[{}]'", names, text)
               : fmt::format("{}'[{}]:{}:{}'", names, text, in_quotes(option.value, ":"), zsh_action(option.value));
}

std::string zsh_script(const std::vector<CommandShape> &commands) {
    std::string list, cases;
    for (const auto &command : commands) {
        list += fmt::format("        '{}:{}'\n", command.name, in_quotes(command.text, ":\\"));
        visit(command, "", [&](const std::string &name, const CommandShape &shape) {
            cases += fmt::format("        '{}') _arguments -S", name);
            for (const auto &one : shape.options)
                cases += " \\\n            " + zsh_option(one);
            if (!shape.subcommands.empty())
                cases += fmt::format(" \\\n            '1:COMMAND:({})'", names_of(shape.subcommands));
            if (shape.program)
                cases += " \\\n            '*:::PROGRAM:_normal'";
            cases += " ;;\n";
        });
    }
    return fmt::format(R"(#compdef pmixhost
# Completion of pmixhost for zsh; made by `pmixhost completion zsh`.
_pmixhost() {{
    local -a commands
    commands=(
{}    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=${{words[2]}}
    shift words
    ((CURRENT--))
    if [[ $command == policy && CURRENT -gt 2 ]]; then
        command+=" ${{words[2]}}"
        shift words
        ((CURRENT--))
    fi
    case $command in
{}    esac
}}
_pmixhost "$@"
)",
                       list, cases);
}

// ------------------------------------------------------------------------------------------------ fish

std::string fish_arguments(std::string_view value) {
    switch (completes(value)) {
    case Completes::files:
        return "-r -F";
    case Completes::directories:
        return "-x -a '(__fish_complete_directories)'";
    case Completes::jobs:
        return fmt::format("-x -a '({})'", jobs_command);
    case Completes::users:
        return "-x -a '(__fish_complete_users)'";
    case Completes::hosts:
        return "-x -a '(__fish_print_hostnames)'";
    case Completes::actions:
        return fmt::format("-x -a '{}'", action_words);
    case Completes::shells:
        return fmt::format("-x -a '{}'", shell_words);
    case Completes::signals:
        return fmt::format("-x -a '{}'", signal_words);
    default:
        return "-x";
    }
}

std::string fish_script(const std::vector<CommandShape> &commands) {
    std::string out = "# Completion of pmixhost for fish; made by `pmixhost completion fish`.\n"
                      "complete -c pmixhost -f\n";
    for (const auto &command : commands) {
        out += fmt::format("complete -c pmixhost -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                           in_quotes(command.text, "\\"));
        visit(command, "", [&](const std::string &name, const CommandShape &shape) {
            std::string where = "__fish_seen_subcommand_from " + command.name;
            if (name != command.name)
                where += "; and __fish_seen_subcommand_from " + shape.name;
            for (const auto &one : shape.options) {
                out += fmt::format("complete -c pmixhost -n '{}'", where);
                for (const auto &option : one.names)
                    out += option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
                if (!one.value.empty())
                    out += " " + (one.names.empty() && completes(one.value) == Completes::nothing
                                      ? std::string("-f")
                                      : fish_arguments(one.value));
                out += fmt::format(" -d '{}'\n", in_quotes(one.text, "\\"));
            }
            if (!shape.subcommands.empty())
                out += fmt::format("complete -c pmixhost -n '{}' -a '{}'\n", where, names_of(shape.subcommands));
            if (shape.program)
                out += fmt::format("complete -c pmixhost -n '{}; and contains -- -- (commandline -opc)' -F\n", where);
        });
    }
    return out;
}

} // namespace

std::optional<std::string> completion_script(const std::string &shell, const std::vector<CommandShape> &commands) {
    if (shell == "bash")
        return bash_script(commands);
    if (shell == "zsh")
        return zsh_script(commands);
    if (shell == "fish")
        return fish_script(commands);
    return std::nullopt;
}

} // namespace pmixhost
