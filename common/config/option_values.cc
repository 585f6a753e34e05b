// See option_values.h.
#include "common/config/option_values.h"

#include "common/config/config_values.h"
#include "common/job/debug_stops.h"
#include "common/text/printable.h"
#include "common/text/shell_words.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <iterator>

namespace pmixhost {

namespace {

constexpr std::uint16_t first_user_port = 1024;
constexpr std::size_t max_names = 64;

template <typename... Cases> struct Overloaded : Cases... { using Cases::operator()...; };
template <typename... Cases> Overloaded(Cases...) -> Overloaded<Cases...>; // clang 14 wants it said

std::string join(std::span<const std::string_view> words) {
    std::string text;
    for (auto word : words)
        text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

// The value as it stood in the file, or nearly.
std::string show_raw(const RawValue &raw) {
    if (auto *number = std::get_if<std::int64_t>(&raw.value))
        return std::to_string(*number);
    if (auto *text = std::get_if<std::string>(&raw.value))
        return "\"" + printable(*text) + "\"";
    return "a list";
}

// The text of an option that holds one quantity; an integer becomes text, so that both go the same way.
Result<std::string> scalar(const RawValue &raw) {
    if (auto *number = std::get_if<std::int64_t>(&raw.value)) {
        if (*number < 0)
            return error(ErrorKind::invalid, "negative");
        return std::to_string(*number);
    }
    if (auto *text = std::get_if<std::string>(&raw.value))
        return *text;
    return error(ErrorKind::invalid, "a list");
}

Result<void> in_range(const Option &option, std::uint64_t value) {
    if (value == 0 && option.zero)
        return {};
    if (value < option.min || value > option.max)
        return error(ErrorKind::invalid, "out of range");
    return {};
}

template <typename Value, typename Parse, typename Number>
Result<Value> quantity(const Option &option, const RawValue &raw, Parse parse, Number number) {
    auto text = scalar(raw);
    if (!text)
        return text.failure();
    auto value = parse(*text);
    if (!value)
        return value.failure();
    if (auto ok = in_range(option, number(*value)); !ok)
        return ok.failure();
    return static_cast<Value>(*value);
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Result<std::string> word_or_path(const Option &option, const RawValue &raw) {
    auto *text = std::get_if<std::string>(&raw.value);
    if (!text)
        return error(ErrorKind::invalid, "not a text");
    if (option.path == Option::Path::none) {
        if (std::find(option.words.begin(), option.words.end(), *text) == option.words.end())
            return error(ErrorKind::invalid, "not an allowed word");
        return *text;
    }
    if (text->empty() && option.path != Option::Path::directory)
        return *text;
    if (option.path == Option::Path::debug_stops)
        return DebugStops::parse(*text) ? Result<std::string>(*text) : error(ErrorKind::invalid, "no such places");
    if (option.path == Option::Path::command) {
        auto words = split_shell_words(*text);
        return words ? Result<std::string>(*text) : words.failure();
    }
    if (text->empty() || text->front() != '/' || has_control(*text) || text->size() > 1024)
        return error(ErrorKind::invalid, "not an absolute path");
    for (std::size_t i = 0; option.path == Option::Path::log_pattern && i < text->size(); ++i) {
        if ((*text)[i] != '%')
            continue;
        ++i;
        if (i == text->size() || std::string_view("jsnu%").find((*text)[i]) == std::string_view::npos)
            return error(ErrorKind::invalid, "an unknown % sequence");
    }
    return *text;
}

bool valid_interface(std::string_view name) {
    auto allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view("._:-@").find(c) != std::string_view::npos;
    };
    return !name.empty() && name.size() <= 15 && std::all_of(name.begin(), name.end(), allowed);
}

// Splits a list as a variable of the environment has it.
std::vector<std::string> split_at_commas(std::string_view text) {
    std::vector<std::string> list;
    while (!text.empty())
        list.emplace_back(take_until(text, ','));
    return list;
}

Result<std::vector<std::string>> names(const Option &option, const RawValue &raw) {
    std::vector<std::string> list;
    if (auto *text = std::get_if<std::string>(&raw.value))
        list = option.words.empty() ? std::vector{*text} : split_at_commas(*text);
    else if (auto *many = std::get_if<std::vector<std::string>>(&raw.value))
        list = *many;
    else
        return error(ErrorKind::invalid, "a number");
    if (list.size() > max_names)
        return error(ErrorKind::invalid, "too long");
    auto is_word = [&](std::string_view name) {
        return std::find(option.words.begin(), option.words.end(), name) != option.words.end();
    };
    if (option.words.empty() ? !std::all_of(list.begin(), list.end(), valid_interface)
                             : !std::all_of(list.begin(), list.end(), is_word))
        return error(ErrorKind::invalid, "not a list of names");
    return list;
}

// What a rule means is not looked at here: a wrong one keeps tools away, not jobs (common/policy/policy_load.h).
Result<std::vector<PlacedText>> placed_texts(const RawValue &raw) {
    std::vector<PlacedText> list;
    if (auto *text = std::get_if<std::string>(&raw.value))
        list.push_back({*text, ""});
    else if (auto *many = std::get_if<std::vector<std::string>>(&raw.value))
        std::transform(many->begin(), many->end(), std::back_inserter(list), [](const std::string &one) {
            return PlacedText{one, ""};
        });
    else
        return error(ErrorKind::invalid, "a number");
    for (std::size_t i = 0; i < std::min(list.size(), raw.places.size()); ++i)
        list[i].place = raw.places[i];
    return list;
}

Result<PortRange> ports(const RawValue &raw) {
    auto text = scalar(raw);
    if (!text)
        return text.failure();
    auto range = parse_ports(*text);
    if (!range)
        return range;
    bool any = range->first == 0 && range->last == 0;
    if (!any && range->first < first_user_port)
        return error(ErrorKind::invalid, "a privileged port");
    return range;
}

// Sets what `value` has, or passes its failure on.
template <typename T> Result<void> assign(T &target, Result<T> value) {
    if (!value)
        return value.failure();
    target = std::move(*value);
    return {};
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (has_control(std::string_view(&c, 1)))
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + "\"";
}

} // namespace

Result<void> set_option(const Option &option, const RawValue &raw, Settings &settings) {
    Result<void> done = std::visit(
        Overloaded{
            [&](std::uint32_t Settings::*m) {
                auto parse = [](std::string_view text) { return parse_number(text, UINT32_MAX); };
                return assign(settings.*m, quantity<std::uint32_t>(option, raw, parse, [](auto v) { return v; }));
            },
            [&](std::uint64_t Settings::*m) {
                return assign(settings.*m, quantity<std::uint64_t>(option, raw, parse_size, [](auto v) { return v; }));
            },
            [&](std::chrono::milliseconds Settings::*m) {
                auto number = [](auto v) { return static_cast<std::uint64_t>(v.count()); };
                return assign(settings.*m, quantity<std::chrono::milliseconds>(option, raw, parse_duration, number));
            },
            [&](std::string Settings::*m) { return assign(settings.*m, word_or_path(option, raw)); },
            [&](OfPlugin) {
                auto text = word_or_path(option, raw);
                return text ? assign(settings.of_plugins[std::string(option.key)], std::move(text))
                            : Result<void>(text.failure());
            },
            [&](std::vector<std::string> Settings::*m) { return assign(settings.*m, names(option, raw)); },
            [&](std::vector<PlacedText> Settings::*m) { return assign(settings.*m, placed_texts(raw)); },
            [&](PortRange Settings::*m) { return assign(settings.*m, ports(raw)); },
        },
        option.member);
    bool explained = option.path == Option::Path::command; // what is allowed does not tell what is wrong
    if (!done)
        return error(ErrorKind::invalid, "{} is {}{}; allowed: {}", option.key, show_raw(raw),
                     explained ? ": " + done.failure().text : "", allowed_values(option));
    return {};
}

static std::string allowed_texts(const Option &option) {
    switch (option.path) {
    case Option::Path::directory:
        return "an absolute path";
    case Option::Path::log_pattern:
        return "an absolute path, in which %j, %s, %n, %u and %% have a meaning, or \"\"";
    case Option::Path::directory_or_empty:
    case Option::Path::program:
        return "an absolute path, or empty";
    case Option::Path::command:
        return "a command, or empty: words as for a shell, which blanks separate and quotes join; nothing is "
               "expanded, and $ ` ; | & < > ( ) must be quoted";
    case Option::Path::debug_stops:
        return "exec, init or app, or several with ; between them, each for all ranks or, as in \"exec=0-3,7;init\", "
               "for some; or empty";
    case Option::Path::none:
        break;
    }
    return join(option.words);
}

std::string allowed_values(const Option &option) {
    auto zero = [&] { return option.zero ? "0 or " : ""; };
    return std::visit(Overloaded{
                          [&](std::uint32_t Settings::*) {
                              return fmt::format("{}a whole number from {} to {}", zero(), option.min, option.max);
                          },
                          [&](std::uint64_t Settings::*) {
                              return fmt::format("{}a size from {} to {}: a number of bytes, or text such as "
                                                 "\"64KiB\", \"64MiB\", \"1GiB\"",
                                                 zero(), format_size(option.min), format_size(option.max));
                          },
                          [&](std::chrono::milliseconds Settings::*) {
                              auto ms = [](std::uint64_t v) { return format_duration(std::chrono::milliseconds(v)); };
                              return fmt::format("{}a duration from {} to {}: a number of seconds, or text such "
                                                 "as \"500ms\", \"30s\", \"5min\", \"2h\"",
                                                 zero(), ms(option.min), ms(option.max));
                          },
                          [&](std::string Settings::*) { return allowed_texts(option); },
                          [&](OfPlugin) { return allowed_texts(option); },
                          [&](std::vector<std::string> Settings::*) {
                              if (!option.words.empty())
                                  return "a list, which may be empty, of: " + join(option.words);
                              return fmt::format("a list of at most {} interface names, such as "
                                                 "[\"ib0\", \"eth0\"]",
                                                 max_names);
                          },
                          [&](std::vector<PlacedText> Settings::*) {
                              return std::string(
                                  "a list, which may be empty, of rules such as "
                                  "[\"allow everything by @support to jobs of anyone from 10.0.0.0/8\"]");
                          },
                          [&](PortRange Settings::*) {
                              return fmt::format("0, a port, or a range of ports such as \"6000-6100\", all from "
                                                 "{} to 65535",
                                                 first_user_port);
                          },
                      },
                      option.member);
}

std::string show_option(const Option &option, const Settings &settings) {
    auto unit = [](std::string text) { return text == "0" ? text : in_quotes(text); };
    return std::visit(Overloaded{
                          [&](std::uint32_t Settings::*m) { return std::to_string(settings.*m); },
                          [&](std::uint64_t Settings::*m) { return unit(format_size(settings.*m)); },
                          [&](std::chrono::milliseconds Settings::*m) { return unit(format_duration(settings.*m)); },
                          [&](std::string Settings::*m) { return in_quotes(settings.*m); },
                          [&](OfPlugin) { return in_quotes(settings.of_plugin(option.key)); },
                          [&](std::vector<std::string> Settings::*m) {
                              std::string text;
                              for (const auto &name : settings.*m)
                                  text += (text.empty() ? "" : ", ") + in_quotes(name);
                              return "[" + text + "]";
                          },
                          [&](std::vector<PlacedText> Settings::*m) {
                              std::string text;
                              for (const auto &one : settings.*m)
                                  text += (text.empty() ? "" : ", ") + in_quotes(one.text);
                              return "[" + text + "]";
                          },
                          [&](PortRange Settings::*m) {
                              const auto &range = settings.*m;
                              return range.first == range.last ? std::to_string(range.first)
                                                               : fmt::format("\"{}-{}\"", range.first, range.last);
                          },
                      },
                      option.member);
}

} // namespace pmixhost
