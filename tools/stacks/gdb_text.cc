// See gdb_text.h.
#include "tools/stacks/gdb_text.h"

#include "tools/stacks/shown_text.h"

#include <algorithm>
#include <charconv>

namespace pmixhost {

namespace {

using GdbJson = nlohmann::json;

struct Malformed {};

class GdbParser {
  public:
    explicit GdbParser(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    bool take(char c) {
        if (rest_.empty() || rest_[0] != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string word(std::string_view ends) {
        auto end = std::min(rest_.find_first_of(ends), rest_.size());
        std::string out(rest_.substr(0, end));
        rest_.remove_prefix(end);
        return out;
    }
    std::string text() {
        if (!take('"'))
            throw Malformed{};
        std::string out;
        while (!take('"')) {
            if (rest_.empty())
                throw Malformed{};
            out += rest_[0] == '\\' ? escaped() : rest_[0];
            rest_.remove_prefix(1);
        }
        return out;
    }
    // NAME=VALUE,NAME=VALUE up to `end`, or to the end of the line.
    GdbJson results(char end, unsigned depth) {
        GdbJson out = GdbJson::object();
        while (!at_end() && rest_[0] != end) {
            // gdb's mi2 has the places of a breakpoint that has several behind it, without names.
            if (rest_[0] == '{') {
                value(depth);
                if (!take(','))
                    break;
                continue;
            }
            std::string name = word("=,{}[]\"");
            if (!take('='))
                throw Malformed{};
            out[shown_text(name, 100)] = value(depth);
            if (!take(','))
                break;
        }
        if (end != '\0' && !take(end))
            throw Malformed{};
        return out;
    }

  private:
    // Leaves the last character of the escape.
    char escaped() {
        rest_.remove_prefix(1);
        if (rest_.empty())
            throw Malformed{};
        unsigned code = 0, digits = 0;
        while (digits < 3 && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '7')
            code = code * 8 + static_cast<unsigned>(rest_[digits++] - '0');
        if (digits > 0) {
            rest_.remove_prefix(digits - 1);
            return static_cast<char>(code);
        }
        switch (rest_[0]) {
        case 'n':
            return '\n';
        case 't':
            return '\t';
        case 'r':
            return '\r';
        case 'e':
            return '\033';
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'a':
            return '\a';
        case 'v':
            return '\v';
        default:
            return rest_[0];
        }
    }
    GdbJson value(unsigned depth) {
        if (depth > 32 || rest_.empty())
            throw Malformed{};
        if (take('{'))
            return results('}', depth + 1);
        if (take('['))
            return list(depth + 1);
        return text();
    }
    GdbJson list(unsigned depth) {
        GdbJson out = GdbJson::array();
        while (!take(']')) {
            if (!out.empty() && !take(','))
                throw Malformed{};
            if (rest_.empty())
                throw Malformed{};
            if (rest_[0] != '{' && rest_[0] != '[' && rest_[0] != '"') {
                word("=,{}[]\"");
                if (!take('='))
                    throw Malformed{};
            }
            out.push_back(value(depth));
        }
        return out;
    }
    std::string_view rest_;
};

template <typename Number> Number number_in(std::string_view text) {
    Number number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// "Thread 0x7f (LWP 12)", "LWP 12", "process 12"
long kernel_id(std::string_view target) {
    for (std::string_view word : {"LWP ", "process "}) {
        if (auto at = target.rfind(word); at != target.npos)
            return number_in<long>(target.substr(at + word.size()));
    }
    return 0;
}

} // namespace

Result<GdbRecord> parse_gdb_line(std::string_view line) {
    GdbRecord record;
    if (line.starts_with("(gdb)")) {
        record.kind = '(';
        return record;
    }
    auto digits = std::min(line.find_first_not_of("0123456789"), line.size());
    record.token = std::string(line.substr(0, digits));
    line.remove_prefix(digits);
    if (line.empty() || std::string_view("^*=+~@&").find(line[0]) == std::string_view::npos)
        return error(ErrorKind::invalid, "it is not gdb's");
    record.kind = line[0];
    GdbParser parser(line.substr(1));
    try {
        if (std::string_view("~@&").find(record.kind) != std::string_view::npos) {
            record.word = parser.text();
        } else {
            record.word = parser.word(",");
            record.values = parser.take(',') ? parser.results('\0', 0) : GdbJson::object();
        }
        if (!parser.at_end())
            throw Malformed{};
    } catch (const Malformed &) {
        return error(ErrorKind::invalid, "it is not as gdb writes it");
    }
    return record;
}

std::string gdb_word(const nlohmann::json &values, const char *name) {
    if (!values.is_object())
        return {};
    auto found = values.find(name);
    return found != values.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const nlohmann::json &gdb_list(const nlohmann::json &values, const char *name) {
    static const GdbJson none = GdbJson::array();
    if (!values.is_object())
        return none;
    auto found = values.find(name);
    return found != values.end() && found->is_array() ? *found : none;
}

std::vector<GdbThread> threads_of_gdb(const nlohmann::json &values) {
    std::vector<GdbThread> out;
    for (const auto &thread : gdb_list(values, "threads")) {
        GdbThread one;
        one.gdb_id = gdb_word(thread, "id");
        if (one.gdb_id.empty() || one.gdb_id.find_first_not_of("0123456789.") != std::string::npos)
            continue;
        one.id = kernel_id(gdb_word(thread, "target-id"));
        one.name = shown_text(gdb_word(thread, "name"), 64);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<StackFrame> frames_of_gdb(const nlohmann::json &values) {
    std::vector<StackFrame> out;
    for (const auto &frame : gdb_list(values, "stack")) {
        if (out.size() > max_frames)
            break;
        StackFrame one;
        one.function = shown_text(gdb_word(frame, "func"), max_frame_text);
        if (one.function == "??")
            one.function.clear();
        one.file = shown_text(gdb_word(frame, "file"), max_frame_text);
        one.line = number_in<unsigned>(gdb_word(frame, "line"));
        one.module = shown_text(gdb_word(frame, "from"), max_frame_text);
        if (std::string address = gdb_word(frame, "addr"); address.starts_with("0x"))
            std::from_chars(address.data() + 2, address.data() + address.size(), one.address, 16);
        out.push_back(std::move(one));
    }
    return out;
}

bool is_gdb_word(std::string_view text) {
    return !text.empty() && std::none_of(text.begin(), text.end(), [](unsigned char c) {
        return c <= ' ' || c == 0x7f || c == '"' || c == '\'' || c == '\\';
    });
}

std::string gdb_quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
        else
            out += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
    }
    return out + '"';
}

} // namespace pmixhost
