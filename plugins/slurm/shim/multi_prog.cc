// See multi_prog.h.
#include "plugins/slurm/shim/multi_prog.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>

namespace pmixhost::slurm {

namespace {

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view skip_spaces(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    return text;
}

// The next line, with those that a backslash at the end appends to it. Empty lines do not count,
// not even between a line and its continuation.
bool next_line(std::string_view &text, std::string &line) {
    line.clear();
    bool found = false;
    while (!text.empty()) {
        std::string_view part = take_until(text, '\n');
        if (part.empty())
            continue;
        found = true;
        bool goes_on = part.back() == '\\';
        if (goes_on)
            part.remove_suffix(1);
        line += part;
        if (!goes_on)
            break;
    }
    return found;
}

Error invalid(std::string_view what) {
    return error(ErrorKind::invalid, "--multi-prog: {} is not understood", what.substr(0, 80));
}

// Words apart by white space; a backslash takes the next character as it is, single quotes what is
// between them.
Result<std::vector<std::string>> arguments_of(std::string_view text) {
    std::vector<std::string> arguments;
    std::string word;
    bool in_word = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (is_space(c)) {
            if (in_word)
                arguments.push_back(std::exchange(word, {}));
            in_word = false;
            continue;
        }
        in_word = true;
        if (c == '\\' && i + 1 < text.size()) {
            word += text[++i];
        } else if (c == '\'') {
            std::size_t end = text.find('\'', i + 1);
            if (end == std::string_view::npos)
                return invalid(text);
            word += text.substr(i + 1, end - i - 1);
            i = end;
        } else if (c == '%' && i + 1 < text.size()) {
            // Slurm puts in numbers for %t and %o, and nothing for anything else.
            char kind = text[++i];
            if (kind == 't' || kind == 'o')
                word += {c, kind};
        } else {
            word += c;
        }
    }
    if (in_word)
        arguments.push_back(std::move(word));
    return arguments;
}

// Hands out the ranks, each once.
class Ranks {
  public:
    explicit Ranks(Rank tasks) : taken_(tasks, false) {}

    Result<std::vector<Rank>> take(std::string_view spec) {
        std::vector<Rank> mine;
        if (spec == "*") {
            take(0, static_cast<Rank>(taken_.size()), mine);
            return mine;
        }
        std::string_view rest = spec;
        while (!rest.empty()) {
            std::string_view part = take_until(rest, ',');
            if (part.empty())
                continue;
            Rank first = 0, last = 0;
            const char *end = part.data() + part.size();
            auto [stop, code] = std::from_chars(part.data(), end, first);
            if (code != std::errc())
                return invalid(spec);
            last = first;
            if (stop != end) {
                auto [after, bad] = std::from_chars(stop + 1, end, last);
                if (*stop != '-' || bad != std::errc() || after != end || last < first)
                    return invalid(spec);
            }
            take(first, std::max(last, last + 1), mine);
        }
        std::sort(mine.begin(), mine.end());
        return mine;
    }
    bool all_taken() const { return std::find(taken_.begin(), taken_.end(), false) == taken_.end(); }

  private:
    void take(Rank first, Rank end, std::vector<Rank> &mine) {
        end = std::min(end, static_cast<Rank>(taken_.size()));
        for (Rank rank = first; rank < end; ++rank) {
            if (taken_[rank])
                continue;
            taken_[rank] = true;
            mine.push_back(rank);
        }
    }
    std::vector<bool> taken_;
};

} // namespace

Result<std::vector<App>> parse_multi_prog(std::string_view text, Rank tasks,
                                          const std::vector<std::string> &more_arguments) {
    std::vector<App> apps;
    Ranks ranks(tasks);
    std::string line;
    text = text.substr(0, text.find('\0')); // where Slurm stops reading
    while (next_line(text, line)) {
        std::string_view rest = skip_spaces(line);
        if (rest.empty() || rest.front() == '#')
            continue;
        auto space = std::find_if(rest.begin(), rest.end(), is_space);
        std::string_view spec = rest.substr(0, static_cast<std::size_t>(space - rest.begin()));
        auto mine = ranks.take(spec);
        auto argv = arguments_of(rest.substr(spec.size()));
        if (!mine || !argv)
            return mine ? argv.failure() : mine.failure();
        if (argv->empty())
            return invalid(line);
        if (mine->empty())
            continue;
        argv->insert(argv->end(), more_arguments.begin(), more_arguments.end());
        apps.push_back({std::move(*argv), std::move(*mine)});
    }
    if (apps.empty() || !ranks.all_taken())
        return error(ErrorKind::invalid, "--multi-prog: a task has no program");
    return apps;
}

} // namespace pmixhost::slurm
