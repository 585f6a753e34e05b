// See config_file.h.
#include "common/config/config_file.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/config/config.h"
#include "common/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/stat.h>

// toml++ 3.3 has assertions on what a file may get wrong ("[|x]"). That must not end the process, or be left to
// chance where assertions are off.
namespace {
struct NotToml {};
[[noreturn]] bool not_toml() {
    throw NotToml();
}
} // namespace
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>((condition) || not_toml())
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace pmixhost {

namespace {

bool is_section(std::string_view key) {
    return std::any_of(config_options().begin(), config_options().end(), [&](const Option &option) {
        return option.key.size() > key.size() && option.key.starts_with(key) && option.key[key.size()] == '.';
    });
}

const Option *find_option(std::string_view key) {
    for (const auto &option : config_options()) {
        if (option.key == key)
            return &option;
    }
    return nullptr;
}

std::string_view type_name(const toml::node &node) {
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "a list";
    case toml::node_type::string:
        return "a text";
    case toml::node_type::integer:
        return "a whole number";
    case toml::node_type::floating_point:
        return "a number with a fraction";
    case toml::node_type::boolean:
        return "true or false";
    default:
        return "a date or time";
    }
}

class Flattener {
  public:
    Flattener(ConfigFile &out, const std::string &name) : out_(out), name_(name) {}

    void table(const toml::table &table, const std::string &prefix) {
        for (const auto &[name, node] : table) {
            std::string key = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
            std::uint32_t line = name.source().begin.line;
            if (const auto *inner = node.as_table())
                section(*inner, key, line);
            else
                value(node, std::move(key), line);
        }
    }

  private:
    template <typename... Args> void fail(std::uint32_t line, fmt::format_string<Args...> format, Args &&...args) {
        out_.errors.push_back(
            error(ErrorKind::invalid, "{}:{}: {}", name_, line, fmt::format(format, std::forward<Args>(args)...)));
    }

    void section(const toml::table &inner, const std::string &key, std::uint32_t line) {
        if (find_option(key))
            fail(line, "{} is an option, not a section", printable(key));
        else if (inner.empty() && !is_section(key))
            fail(line, "[{}] is no section that pmixhost knows", printable(key));
        else
            table(inner, key);
    }

    void value(const toml::node &node, std::string key, std::uint32_t line) {
        const Option *option = find_option(key);
        if (!option) {
            if (is_section(key)) {
                fail(line, "{} is a section, not an option: write [{}]", key, key);
                return;
            }
            auto nearest = nearest_option(key);
            fail(line, "there is no option {}{}", printable(key),
                 nearest.empty() ? "; pmixhost.conf(5) lists them" : fmt::format("; did you mean {}?", nearest));
            return;
        }
        RawValue raw;
        if (const auto *number = node.as_integer())
            raw.value = number->get();
        else if (const auto *text = node.as_string()) {
            raw.value = text->get();
            raw.places.push_back(place(node));
        } else if (!list(node, raw)) {
            fail(line, "{} is {}; allowed: {}", key, type_name(node), allowed_values(*option));
            return;
        }
        out_.entries.push_back({std::move(key), line, std::move(raw)});
    }

    std::string place(const toml::node &node) const {
        return fmt::format("{}:{}", name_, static_cast<std::uint32_t>(node.source().begin.line));
    }

    bool list(const toml::node &node, RawValue &raw) const {
        const auto *array = node.as_array();
        if (!array)
            return false;
        std::vector<std::string> names;
        for (const auto &item : *array) {
            if (!item.is_string())
                return false;
            names.push_back(item.as_string()->get());
            raw.places.push_back(place(item));
        }
        raw.value = std::move(names);
        return true;
    }

    ConfigFile &out_;
    const std::string &name_;
};

// Line of the first byte that is no UTF-8, or 0. toml++ finds it too, but is vague about the place.
std::uint32_t not_utf8(std::string_view content) {
    std::uint32_t line = 1;
    unsigned missing = 0;
    for (char c : content) {
        auto byte = static_cast<unsigned char>(c);
        bool continues = (byte & 0xc0) == 0x80;
        if (continues != (missing > 0) || byte >= 0xf8)
            return line;
        if (continues)
            --missing;
        else
            missing = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
        line += byte == '\n';
    }
    return missing > 0 ? line : 0;
}

std::optional<toml::parse_result> parse(std::string_view content) {
    try {
        return toml::parse(content);
    } catch (const NotToml &) {
        return std::nullopt;
    }
}

// The first line at whose end the parser gives up in that way: it reads from the front.
std::uint32_t line_not_toml(std::string_view content) {
    std::vector<std::size_t> ends;
    for (std::size_t end = content.find('\n'); end != std::string_view::npos; end = content.find('\n', end + 1))
        ends.push_back(end + 1);
    auto first = std::partition_point(ends.begin(), ends.end(),
                                      [&](std::size_t end) { return parse(content.substr(0, end)).has_value(); });
    return static_cast<std::uint32_t>(first - ends.begin()) + 1;
}

bool is_forbidden_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

} // namespace

// The first character beyond ASCII that is neither in a text nor in a comment; TOML has none there, and
// toml++ 3.3 runs into undefined behaviour over some of them. content.end() when there is none.
static std::string_view::iterator beyond_ascii(std::string_view content) {
    char quote = 0; // that the text we are in began with
    bool comment = false;
    for (auto at = content.begin(); at != content.end(); ++at) {
        if (comment) {
            comment = *at != '\n';
        } else if (quote != 0) {
            if (*at == '\\' && quote == '"' && at + 1 != content.end())
                ++at;
            else if (*at == quote)
                quote = 0;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '#') {
            comment = true;
        } else if (static_cast<unsigned char>(*at) >= 0x80) {
            return at;
        }
    }
    return content.end();
}

ConfigFile parse_config_file(std::string_view content, const std::string &name) {
    ConfigFile file;
    if (auto line = not_utf8(content); line != 0) {
        file.errors.push_back(error(ErrorKind::invalid, "{}:{}: not TOML: not UTF-8", name, line));
        return file;
    }
    // TOML has none, and toml++ 3.3 ends the process over some of them.
    if (auto control = std::find_if(content.begin(), content.end(), is_forbidden_control); control != content.end()) {
        auto line = 1 + std::count(content.begin(), control, '\n');
        file.errors.push_back(error(ErrorKind::invalid, "{}:{}: not TOML: a control character", name, line));
        return file;
    }
    if (auto strange = beyond_ascii(content); strange != content.end()) {
        auto line = 1 + std::count(content.begin(), strange, '\n');
        file.errors.push_back(error(ErrorKind::invalid,
                                    "{}:{}: not TOML: a character that is not ASCII, outside quotes and "
                                    "comments",
                                    name, line));
        return file;
    }
    auto result = parse(content);
    if (!result) {
        file.errors.push_back(error(ErrorKind::invalid,
                                    "{}:{}: not TOML: the name of a key or section is not understood", name,
                                    line_not_toml(content)));
        return file;
    }
    toml::parse_result parsed = std::move(*result);
    if (!parsed) {
        const auto &problem = parsed.error();
        file.errors.push_back(error(ErrorKind::invalid, "{}:{}: not TOML: {}", name, problem.source().begin.line,
                                    printable(problem.description(), 200)));
        return file;
    }
    Flattener(file, name).table(parsed.table(), "");
    // The entries get the order of the file, which toml++ does not keep.
    std::stable_sort(file.entries.begin(), file.entries.end(),
                     [](const auto &a, const auto &b) { return a.line < b.line; });
    return file;
}

Result<std::string> read_config_file(const std::string &path) {
    struct stat status {};
    auto fd = open_regular_file(path, status);
    if (!fd)
        return fd.failure();
    if (status.st_mode & S_IWOTH)
        return error(ErrorKind::denied, "{}: everybody may write this file, so it is not used; run chmod o-w {}", path,
                     path);
    return read_all(fd->get(), path, max_config_bytes);
}

} // namespace pmixhost
