// See process_set.h.
#include "common/job/process_set.h"

#include "common/text/trimmed.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace pmixhost {

namespace {

// The part of a user's text that a message needs, without what a terminal might act on.
std::string shown(std::string_view text) {
    std::string out(text.substr(0, 60));
    for (char &c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    return out;
}

std::string_view next_part(std::string_view &text, char separator) {
    std::size_t at = text.find(separator);
    std::string_view part = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return part;
}

bool number_of(std::string_view text, Rank &value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

Result<std::vector<Rank>> parse_ranks(std::string_view name, std::string_view text, Rank tasks) {
    std::vector<bool> wanted(tasks, false);
    while (!text.empty()) {
        std::string_view part = trimmed(next_part(text, ','));
        if (part == "*") {
            wanted.assign(tasks, true);
            continue;
        }
        std::string_view rest = part;
        bool range = part.find('-') != std::string_view::npos;
        Rank first = 0, last = 0;
        bool good = number_of(next_part(rest, '-'), first);
        last = first;
        if (range)
            good = good && number_of(rest, last);
        if (!good || last < first)
            return error(ErrorKind::invalid, "process set '{}': '{}' is not a rank or a range of ranks such as 0-3",
                         shown(name), shown(part));
        if (last >= tasks)
            return error(ErrorKind::invalid, "process set '{}': there is no rank {}; the job has the ranks 0 to {}",
                         shown(name), last, tasks - 1);
        std::fill(wanted.begin() + first, wanted.begin() + last + 1, true);
    }
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < tasks; ++rank) {
        if (wanted[rank])
            ranks.push_back(rank);
    }
    if (ranks.empty())
        return error(ErrorKind::invalid, "process set '{}' has no ranks; say which: {}=0-3", shown(name), shown(name));
    return ranks;
}

std::string base_name(const App &app) {
    if (app.argv.empty())
        return "app";
    std::string name = app.argv.front().substr(app.argv.front().rfind('/') + 1);
    return check_process_set_name(name) ? name : "app";
}

} // namespace

Result<void> check_process_set_name(std::string_view name) {
    if (name.empty())
        return error(ErrorKind::invalid, "a process set has no name");
    if (name.size() > max_process_set_name)
        return error(ErrorKind::invalid, "process set '{}...': a name has at most {} characters", shown(name),
                     max_process_set_name);
    for (char c : name) {
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == ',' || c == ';' || c == '=')
            return error(ErrorKind::invalid, "process set '{}': a name has no space, comma, semicolon or equals sign",
                         shown(name));
    }
    return {};
}

Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, Rank tasks) {
    std::vector<ProcessSet> sets;
    std::set<std::string, std::less<>> names;
    while (!text.empty()) {
        std::string_view part = trimmed(next_part(text, ';'));
        if (part.empty())
            continue;
        std::size_t equals = part.find('=');
        if (equals == std::string_view::npos)
            return error(ErrorKind::invalid, "process set '{}' has no ranks; say which: {}=0-3", shown(part),
                         shown(part));
        std::string_view name = trimmed(part.substr(0, equals));
        if (auto good = check_process_set_name(name); !good)
            return good.failure();
        if (!names.emplace(name).second)
            return error(ErrorKind::invalid, "process set '{}' is defined twice", shown(name));
        if (sets.size() == max_process_sets)
            return error(ErrorKind::limit, "more than {} process sets", max_process_sets);
        auto ranks = parse_ranks(name, part.substr(equals + 1), tasks);
        if (!ranks)
            return ranks.failure();
        sets.push_back({std::string(name), std::move(*ranks)});
    }
    return sets;
}

std::string format_process_sets(const std::vector<ProcessSet> &sets) {
    std::string text;
    for (const auto &set : sets) {
        text += fmt::format("{}{}=", text.empty() ? "" : ";", set.name);
        const auto &ranks = set.ranks;
        for (std::size_t i = 0; i < ranks.size();) {
            std::size_t last = i;
            while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
                ++last;
            text += fmt::format("{}{}", i ? "," : "", ranks[i]);
            if (last > i)
                text += fmt::format("-{}", ranks[last]);
            i = last + 1;
        }
    }
    return text;
}

void add_program_sets(std::vector<ProcessSet> &sets, const std::vector<App> &apps) {
    if (apps.size() < 2)
        return;
    std::map<std::string, std::size_t> count;
    for (const auto &app : apps)
        ++count[base_name(app)];
    std::set<std::string> names;
    std::set<std::vector<Rank>> members;
    for (const auto &set : sets) {
        names.insert(set.name);
        members.insert(set.ranks);
    }
    for (std::size_t number = 0; number < apps.size(); ++number) {
        const App &app = apps[number];
        std::string name = base_name(app);
        if (count[name] > 1 || name == "app")
            name += fmt::format(".{}", number);
        if (app.ranks.empty() || members.contains(app.ranks) || sets.size() == max_process_sets ||
            !check_process_set_name(name) || !names.insert(name).second)
            continue;
        sets.push_back({std::move(name), app.ranks});
    }
}

} // namespace pmixhost
