// See app_list.h.
#include "plugins/slurm/base/app_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace pmixhost::slurm {

namespace {

constexpr std::string_view plain_marks = "-_./=+@";

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           plain_marks.find(c) != std::string_view::npos;
}

void append_escaped(std::string &text, std::string_view argument) {
    for (char c : argument) {
        if (is_plain(c))
            text += c;
        else
            text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
}

std::string ranks_text(const std::vector<Rank> &ranks) {
    if (ranks.empty())
        return "*";
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
            ++end;
        text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
        if (end > i + 1)
            text += fmt::format("-{}", ranks[end - 1]);
        i = end;
    }
    return text;
}

Error garbled() {
    return error(ErrorKind::invalid, "task map: apps= is garbled");
}
Error too_many() {
    return error(ErrorKind::limit, "task map: more than {} programs or {} arguments", max_apps, max_app_arguments);
}

// Takes the part before the separator; `text` goes on behind it. None once the text is used up.
std::optional<std::string_view> next_part(std::optional<std::string_view> &text, char separator) {
    if (!text)
        return std::nullopt;
    std::size_t at = text->find(separator);
    std::string_view part = text->substr(0, at);
    if (at == std::string_view::npos)
        text.reset();
    else
        text->remove_prefix(at + 1);
    return part;
}

std::optional<std::string> unescape(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            if (!is_plain(text[i]))
                return std::nullopt;
            plain += text[i];
            continue;
        }
        unsigned byte = 0;
        if (text.size() - i < 3)
            return std::nullopt;
        const char *digits = text.data() + i + 1;
        auto [end, code] = std::from_chars(digits, digits + 2, byte, 16);
        if (code != std::errc() || end != digits + 2 || byte == 0)
            return std::nullopt;
        plain += static_cast<char>(byte);
        i += 2;
    }
    return plain;
}

class AppsReader {
  public:
    explicit AppsReader(std::size_t max_ranks) : max_ranks_(max_ranks) {}

    Result<App> read(std::string_view text, bool alone) {
        App app;
        std::size_t colon = text.find(':');
        std::string_view ranks = text.substr(0, colon);
        if (ranks == "*") {
            if (!alone)
                return garbled();
        } else if (auto ok = read_ranks(ranks, app.ranks); !ok) {
            return ok.failure();
        }
        if (colon == std::string_view::npos)
            return app;
        std::optional<std::string_view> rest = text.substr(colon + 1);
        while (auto part = next_part(rest, ',')) {
            if (++arguments_ > max_app_arguments)
                return too_many();
            auto argument = unescape(*part);
            if (!argument)
                return garbled();
            app.argv.push_back(std::move(*argument));
        }
        return app;
    }

  private:
    Result<void> read_ranks(std::string_view text, std::vector<Rank> &ranks) {
        std::optional<std::string_view> rest = text;
        while (auto part = next_part(rest, ',')) {
            Rank first = 0, last = 0;
            const char *end = part->data() + part->size();
            auto [stop, code] = std::from_chars(part->data(), end, first);
            if (code != std::errc())
                return garbled();
            last = first;
            if (stop != end) {
                auto [after, bad] = std::from_chars(stop + 1, end, last);
                if (*stop != '-' || bad != std::errc() || after != end)
                    return garbled();
            }
            // Ascending, so none is there twice within a program.
            if (last < first || last >= max_ranks_ || (!ranks.empty() && first <= ranks.back()))
                return garbled();
            std::size_t count = std::size_t{last} - first + 1;
            if (count > max_ranks_ - ranks_)
                return garbled();
            ranks_ += count;
            for (Rank rank = first; rank <= last; ++rank)
                ranks.push_back(rank);
        }
        return {};
    }

    std::size_t max_ranks_;
    std::size_t ranks_ = 0, arguments_ = 0;
};

} // namespace

Result<std::string> encode_apps(const std::vector<App> &apps) {
    if (apps.size() > max_apps)
        return error(ErrorKind::limit, "the step has {} programs; pmixhost takes {}", apps.size(), max_apps);
    if (apps.size() == 1 && apps[0].argv.empty() && apps[0].ranks.empty())
        return std::string();
    std::string bare, text;
    std::size_t arguments = 0;
    for (const App &app : apps) {
        std::string ranks = ranks_text(app.ranks);
        bare += fmt::format("{}{}", bare.empty() ? "" : ";", ranks);
        text += fmt::format("{}{}", text.empty() ? "" : ";", ranks);
        arguments += app.argv.size();
        for (std::size_t i = 0; i < app.argv.size() && text.size() - bare.size() <= max_app_text; ++i) {
            text += i ? ',' : ':';
            append_escaped(text, app.argv[i]);
        }
    }
    bool fits = text.size() - bare.size() <= max_app_text && arguments <= max_app_arguments;
    return fits ? text : bare;
}

Result<std::vector<App>> decode_apps(std::string_view text, std::size_t max_ranks) {
    auto count = static_cast<std::size_t>(std::count(text.begin(), text.end(), ';')) + 1;
    if (count > max_apps)
        return too_many();
    std::vector<App> apps;
    AppsReader reader(max_ranks);
    std::optional<std::string_view> rest = text;
    while (auto part = next_part(rest, ';')) {
        auto app = reader.read(*part, count == 1);
        if (!app)
            return app.failure();
        apps.push_back(std::move(*app));
    }
    return apps;
}

bool covers_each_rank(const std::vector<App> &apps, std::size_t count) {
    if (apps.size() == 1 && apps[0].ranks.empty())
        return true;
    std::vector<bool> seen(count, false);
    std::size_t found = 0;
    for (const App &app : apps) {
        for (Rank rank : app.ranks) {
            if (rank >= count || seen[rank])
                return false;
            seen[rank] = true;
            ++found;
        }
    }
    return found == count;
}

} // namespace pmixhost::slurm
