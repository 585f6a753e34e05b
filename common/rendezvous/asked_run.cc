// See asked_run.h.
#include "common/rendezvous/asked_run.h"

#include "common/text/printable.h"
#include "common/text/time_back.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>

namespace pmixhost {

namespace {

using policy::Action;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool all_of(std::string_view text, bool (*fits)(char)) {
    return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

// As the commands have them.
bool is_seconds(std::string_view text, unsigned least, unsigned most) {
    unsigned seconds = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return all_of(text, is_digit) && failed == std::errc() && end == text.data() + text.size() && seconds >= least &&
           seconds <= most;
}
bool is_timeout(std::string_view text) {
    return is_seconds(text, 1, 3600);
}
bool is_wait(std::string_view text) {
    return is_seconds(text, 0, 31u * 86400);
}
bool is_list_of_ranks(std::string_view text) {
    return all_of(text, [](char c) { return is_digit(c) || c == ',' || c == '-'; });
}
bool is_list_of_names(std::string_view text) {
    return all_of(text, [](char c) { return is_digit(c) || is_letter(c) || c == ',' || c == '-' || c == '_'; });
}
bool is_signal(std::string_view text) {
    return all_of(text, [](char c) { return is_digit(c) || is_letter(c); });
}
bool is_time_back(std::string_view text) {
    return time_back_in_words(text).has_value();
}
bool is_rank(std::string_view text) {
    return text == "*" || all_of(text, is_digit);
}
bool is_key(std::string_view text) {
    return !text.starts_with('-') && all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

struct Option {
    std::string_view name;
    bool (*fits)(std::string_view) = nullptr; // its value; null: it has none
};
struct Command {
    std::string_view name;
    Action action;
    std::span<const Option> options;
    std::span<const Option> behind_job; // all of them, in order
};

constexpr Option timeout{"--timeout", is_timeout}, ranks{"--ranks", is_list_of_ranks}, json{"--json"};
constexpr std::array of_ps{json, timeout};
constexpr std::array of_events{json, Option{"--kind", is_list_of_names}};
constexpr std::array of_get{timeout};
constexpr std::array behind_get{Option{"RANK", is_rank}, Option{"KEY", is_key}};
constexpr std::array of_output{
    Option{"--rank", is_list_of_ranks}, Option{"--label"},        Option{"--stdout"}, Option{"--stderr"},
    Option{"--since", is_time_back},    Option{"--wait", is_wait}};
constexpr std::array of_signal{ranks, timeout, Option{"--signal", is_signal}};
constexpr std::array of_control{ranks, timeout};

constexpr std::array<Command, 8> asked_commands{{{"ps", Action::observe, of_ps, {}},
                                                 {"events", Action::observe, of_events, {}},
                                                 {"get", Action::observe, of_get, behind_get},
                                                 {"output", Action::output, of_output, {}},
                                                 {"signal", Action::control, of_signal, {}},
                                                 {"kill", Action::control, of_control, {}},
                                                 {"pause", Action::control, of_control, {}},
                                                 {"resume", Action::control, of_control, {}}}};

Result<const Command *> find(const AskedRun &run) {
    std::string names;
    for (const auto &each : asked_commands) {
        if (each.name == run.command)
            return &each;
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    return error(ErrorKind::unsupported, "'{}' is not run for other users; those that are: {}", printable(run.command),
                 names);
}

Result<void> check_option(const Command &command, std::string_view word) {
    auto equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    auto option = std::find_if(command.options.begin(), command.options.end(),
                               [name](const Option &each) { return each.name == name; });
    if (option == command.options.end())
        return error(ErrorKind::unsupported, "{} is run for other users without the option '{}'", command.name,
                     printable(name));
    bool has_value = equals != word.npos;
    if (has_value != (option->fits != nullptr) || (has_value && !option->fits(word.substr(equals + 1))))
        return error(ErrorKind::invalid, "'{}' is no {} of {} as it is run for other users", printable(word), name,
                     command.name);
    return {};
}

std::size_t options_of(const AskedRun &run) {
    auto is_option = [](const std::string &word) { return word.starts_with('-'); };
    return static_cast<std::size_t>(std::find_if_not(run.words.begin(), run.words.end(), is_option) -
                                    run.words.begin());
}

} // namespace

Result<Action> action_of(const AskedRun &run) {
    auto command = find(run);
    if (!command)
        return command.failure();
    return (*command)->action;
}

Result<void> check_run(const AskedRun &run) {
    auto command = find(run);
    if (!command)
        return command.failure();
    if (run.words.size() > AskedRun::most_words)
        return error(ErrorKind::invalid, "{} words; allowed: {}", run.words.size(), AskedRun::most_words);
    std::size_t options = options_of(run);
    for (std::size_t i = 0; i < run.words.size(); ++i) {
        const std::string &word = run.words[i];
        if (word.size() > AskedRun::longest_word)
            return error(ErrorKind::invalid, "a word of {} bytes; allowed: {}", word.size(), AskedRun::longest_word);
        if (i >= options)
            continue;
        if (auto checked = check_option(**command, word); !checked)
            return checked;
    }
    auto behind = (*command)->behind_job;
    if (run.words.size() - options != behind.size())
        return error(ErrorKind::invalid, "{} has {} words behind its job; allowed: {}", run.command,
                     run.words.size() - options, behind.size());
    for (std::size_t i = 0; i < behind.size(); ++i) {
        if (!behind[i].fits(run.words[options + i]))
            return error(ErrorKind::invalid, "'{}' is no {} of {}", printable(run.words[options + i]), behind[i].name,
                         (*command)->name);
    }
    return {};
}

std::vector<std::string> command_line(const AskedRun &run, const std::string &job) {
    auto behind = run.words.begin() + static_cast<std::ptrdiff_t>(options_of(run));
    std::vector<std::string> out{run.command};
    out.insert(out.end(), run.words.begin(), behind);
    out.insert(out.end(), {"--", job});
    out.insert(out.end(), behind, run.words.end());
    return out;
}

std::string text_of(const AskedRun &run, const std::string &job) {
    std::string out = fmt::format("pmixhost {} {}", run.command, job); // the job first: a long line is cut
    for (const auto &each : run.words)
        out += fmt::format(" '{}'", each);
    return printable(out, 400);
}

std::string asked_by_text(const AskedBy &by) {
    return fmt::format("{} {}", by.user, policy::name_of(by.action));
}

Result<AskedBy> parse_asked_by(std::string_view text) {
    AskedBy by;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), by.user);
    std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (failed != std::errc() || !rest.starts_with(' '))
        return error(ErrorKind::invalid, "{} is '{}'", asked_by_variable, printable(text));
    auto action = policy::parse_action(rest.substr(1));
    if (!action)
        return action.failure();
    by.action = *action;
    return by;
}

} // namespace pmixhost
