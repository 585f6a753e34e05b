// See task_spec.h.
#include "common/start/task_spec.h"

#include "common/local/local_text.h"
#include "common/start/start_document.h"
#include "common/text/take_number.h"

#include <algorithm>

namespace pmixhost {

namespace {

constexpr std::size_t piece_bytes = 100u << 10;

constexpr std::pair<std::string_view, EnvironmentChange::Kind> change_words[] = {
    {"set", EnvironmentChange::Kind::set},       {"add", EnvironmentChange::Kind::add},
    {"unset", EnvironmentChange::Kind::unset},   {"prepend", EnvironmentChange::Kind::prepend},
    {"append", EnvironmentChange::Kind::append}, {"first", EnvironmentChange::Kind::first},
};

constexpr std::pair<std::string_view, TaskOutput::Place> output_words[] = {
    {"output_file", TaskOutput::Place::file},
    {"output_pattern", TaskOutput::Place::pattern},
    {"output_directory", TaskOutput::Place::directory},
};

bool has_separator(EnvironmentChange::Kind kind) {
    return kind == EnvironmentChange::Kind::prepend || kind == EnvironmentChange::Kind::append ||
           kind == EnvironmentChange::Kind::first;
}

Error garbled(std::string_view what) {
    return error(ErrorKind::invalid, "the description of the spawned programs is garbled ({})", what);
}

Result<EnvironmentChange> parse_change(EnvironmentChange::Kind kind, std::string_view text) {
    EnvironmentChange change;
    change.kind = kind;
    if (has_separator(kind)) {
        unsigned separator = 0;
        if (!take_number(text, separator) || separator > 255 || text.empty() || text.front() != ' ')
            return garbled("separator");
        change.separator = static_cast<char>(separator);
        text.remove_prefix(1);
    }
    auto plain = local::unescape_line(text);
    if (!plain)
        return plain.failure();
    std::size_t equals = plain->find('=');
    change.name = plain->substr(0, equals);
    if (equals != std::string::npos)
        change.value = plain->substr(equals + 1);
    else if (kind != EnvironmentChange::Kind::unset)
        return garbled("variable");
    return change;
}

} // namespace

Result<std::string> encode_task_spec(const std::vector<TaskApp> &apps) {
    StartDocument document;
    Result<void> added;
    auto add = [&](std::string_view key, std::string_view value) {
        if (added)
            added = document.add(key, value);
    };
    auto text = [&](std::string_view key, std::string_view value) { add(key, local::escape_line(value)); };
    for (const auto &app : apps) {
        add("app", fmt::format("{} {}", app.first, app.count));
        text("program", app.program);
        for (const auto &argument : app.argv)
            text("arg", argument);
        for (const auto &word : app.prefix)
            text("prefix", word);
        if (!app.directory.empty())
            text("cwd", app.directory);
        if (app.index_argv)
            add("index_argv", "1");
        if (app.merge)
            add("merge", "1");
        if (app.no_input)
            add("no_input", "1");
        for (const auto &[word, place] : output_words) {
            if (app.output.place == place)
                text(word, app.output.path);
        }
        if (app.output.only)
            add("output_only", "1");
        for (auto [first, last] : app.stop_on_exec)
            add("stop", fmt::format("{} {}", first, last));
        if (!app.fork_agent.empty())
            text("fork_agent", app.fork_agent);
        for (const auto &change : app.changes) {
            auto word = std::find_if(std::begin(change_words), std::end(change_words),
                                     [&](const auto &entry) { return entry.second == change.kind; });
            std::string line = local::escape_line(
                change.kind == EnvironmentChange::Kind::unset ? change.name : change.name + "=" + change.value);
            if (has_separator(change.kind))
                line.insert(0, fmt::format("{} ", static_cast<unsigned char>(change.separator)));
            add(word->first, line);
        }
    }
    if (!added)
        return added.failure();
    std::string encoded = document.encode();
    if (encoded.size() > max_task_spec)
        return error(ErrorKind::limit,
                     "the arguments and variables of the programs to spawn have {} "
                     "KiB; at most {} are taken",
                     encoded.size() >> 10, max_task_spec >> 10);
    return encoded;
}

Result<std::vector<TaskApp>> decode_task_spec(std::string_view text) {
    auto document = StartDocument::decode(text);
    if (!document)
        return document.failure();
    std::vector<TaskApp> apps;
    for (const auto &[key, value] : document->pairs()) {
        if (key == "app") {
            TaskApp app;
            std::string_view rest = value;
            if (!take_number(rest, app.first) || rest.empty() || rest.front() != ' ')
                return garbled("app");
            rest.remove_prefix(1);
            if (!take_number(rest, app.count) || !rest.empty())
                return garbled("app");
            apps.push_back(std::move(app));
            continue;
        }
        if (apps.empty())
            return garbled("no app");
        TaskApp &app = apps.back();
        auto word = std::find_if(std::begin(change_words), std::end(change_words),
                                 [&key = key](const auto &entry) { return entry.first == key; });
        if (word != std::end(change_words)) {
            auto change = parse_change(word->second, value);
            if (!change)
                return change.failure();
            app.changes.push_back(std::move(*change));
            continue;
        }
        if (auto output = std::find_if(std::begin(output_words), std::end(output_words),
                                       [&key = key](const auto &entry) { return entry.first == key; });
            output != std::end(output_words)) {
            auto path = local::unescape_line(value);
            if (!path)
                return path.failure();
            app.output.place = output->second;
            app.output.path = std::move(*path);
            continue;
        }
        if (key == "stop") {
            std::string_view rest = value;
            std::uint32_t first = 0, last = 0;
            bool good = take_number(rest, first) && rest.starts_with(' ');
            rest.remove_prefix(good ? 1 : 0);
            if (!good || !take_number(rest, last) || !rest.empty())
                return garbled(key);
            app.stop_on_exec.emplace_back(first, last);
            continue;
        }
        auto plain = local::unescape_line(value);
        if (!plain)
            return plain.failure();
        if (key == "program")
            app.program = std::move(*plain);
        else if (key == "arg")
            app.argv.push_back(std::move(*plain));
        else if (key == "fork_agent")
            app.fork_agent = std::move(*plain);
        else if (key == "prefix")
            app.prefix.push_back(std::move(*plain));
        else if (key == "cwd")
            app.directory = std::move(*plain);
        else if (key == "index_argv")
            app.index_argv = true;
        else if (key == "merge")
            app.merge = true;
        else if (key == "no_input")
            app.no_input = true;
        else if (key == "output_only")
            app.output.only = true;
        else
            return garbled(key);
    }
    return apps;
}

std::vector<std::string> task_spec_variables(std::string_view text) {
    std::vector<std::string> out;
    // An escaped text holds no NUL, the one byte that an environment cannot carry. Line breaks it can.
    std::size_t count = (text.size() + piece_bytes - 1) / piece_bytes;
    for (std::size_t i = 0; i < count; ++i)
        out.push_back(fmt::format("{}{}={}{}", task_spec_prefix, i, i == 0 ? fmt::format("{} ", count) : std::string(),
                                  text.substr(i * piece_bytes, piece_bytes)));
    return out;
}

Result<std::string> collect_task_spec(char *const *environment) {
    std::vector<std::string_view> pieces;
    for (; environment && *environment; ++environment) {
        std::string_view entry = *environment;
        if (!entry.starts_with(task_spec_prefix))
            continue;
        entry.remove_prefix(task_spec_prefix.size());
        std::size_t index = 0;
        if (!take_number(entry, index) || entry.empty() || entry.front() != '=' || index > max_task_spec / piece_bytes)
            continue;
        if (pieces.size() <= index)
            pieces.resize(index + 1);
        pieces[index] = entry.substr(1);
    }
    if (pieces.empty() || pieces.front().empty())
        return error(ErrorKind::not_found, "there is no description of a spawned program here");
    std::size_t count = 0;
    if (!take_number(pieces.front(), count) || pieces.front().empty() || pieces.front().front() != ' ' || count == 0 ||
        count > pieces.size())
        return garbled("pieces");
    pieces.front().remove_prefix(1);
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        if (pieces[i].empty())
            return garbled("a piece is missing");
        text += pieces[i];
    }
    return text;
}

void apply_changes(const std::vector<EnvironmentChange> &changes, std::vector<std::string> &environment) {
    for (const auto &change : changes) {
        auto found = std::find_if(environment.begin(), environment.end(), [&](const std::string &entry) {
            return entry.size() > change.name.size() && entry[change.name.size()] == '=' &&
                   entry.starts_with(change.name);
        });
        bool there = found != environment.end();
        std::string old = there ? found->substr(change.name.size() + 1) : std::string();
        std::string value = change.value;
        using Kind = EnvironmentChange::Kind;
        switch (change.kind) {
        case Kind::set:
            break;
        case Kind::add:
            if (there)
                continue;
            break;
        case Kind::unset:
            if (there)
                environment.erase(found);
            continue;
        case Kind::prepend:
            if (there && !old.empty())
                value += change.separator + old;
            break;
        case Kind::first:
            // First, and nowhere else.
            for (std::size_t at = 0; there && at <= old.size();) {
                std::size_t end = std::min(old.find(change.separator, at), old.size());
                std::string part = old.substr(at, end - at);
                if (!part.empty() && part != change.value)
                    value += change.separator + part;
                at = end + 1;
            }
            break;
        case Kind::append:
            if (there && !old.empty())
                value = old + change.separator + value;
            break;
        }
        std::string entry = change.name + "=" + value;
        if (there)
            *found = std::move(entry);
        else
            environment.push_back(std::move(entry));
    }
}

TaskStartReport parse_start_report(std::string_view said) {
    TaskStartReport report;
    if (said == "+" || said == "+=") {
        report.running = true;
        report.stops = said.size() > 1;
        return report;
    }
    std::size_t minus = said.starts_with("+=-") ? 2 : 1;
    if (!said.starts_with('+') || said.size() < minus + 4 || said[minus] != '-') {
        report.failure.text = "it ended before its program was executed";
        return report;
    }
    report.failure.stage = said[minus + 1];
    std::string_view rest = said.substr(minus + 2);
    if (take_number(rest, report.failure.error_number) && !rest.empty())
        report.failure.text = rest.substr(1);
    return report;
}

} // namespace pmixhost
