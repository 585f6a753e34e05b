// See dap_frames.h.
#include "tools/dap/dap_frames.h"

#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <charconv>
#include <optional>
#include <strings.h>

namespace pmixhost {

namespace {

constexpr std::size_t longest_header = 4096;
constexpr int deepest = 64;
constexpr std::string_view end_of_header = "\r\n\r\n";

// Nothing: it has no such field.
std::optional<std::size_t> content_length(std::string_view header) {
    constexpr std::string_view name = "Content-Length:";
    while (!header.empty()) {
        std::string_view line = take_until(header, '\n');
        if (line.size() < name.size() || ::strncasecmp(line.data(), name.data(), name.size()) != 0)
            continue;
        line.remove_prefix(name.size());
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        std::size_t out = 0;
        auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), out);
        bool whole = end == line.data() + line.size() || *end == '\r' || *end == ' ';
        return failed == std::errc() && whole ? std::optional(out) : std::nullopt;
    }
    return std::nullopt;
}

// What is done with a message calls itself for each level.
bool is_too_deep(std::string_view json) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (quoted && json[i] == '\\')
            ++i;
        else if (json[i] == '"')
            quoted = !quoted;
        else if (!quoted && (json[i] == '[' || json[i] == '{') && ++depth > deepest)
            return true;
        else if (!quoted && (json[i] == ']' || json[i] == '}'))
            --depth;
    }
    return false;
}

} // namespace

Result<std::vector<nlohmann::json>> DapInput::add(std::string_view bytes) {
    begun_ += bytes;
    std::vector<nlohmann::json> out;
    for (;;) {
        auto end = begun_.find(end_of_header);
        if (end == begun_.npos && begun_.size() <= longest_header)
            return out;
        auto length = end != begun_.npos && end <= longest_header
                          ? content_length(std::string_view(begun_).substr(0, end))
                          : std::nullopt;
        if (!length)
            return error(ErrorKind::invalid,
                         "the input is no Debug Adapter Protocol: '{}' is no header with Content-Length",
                         printable(std::string_view(begun_).substr(0, 60), 100));
        if (*length > longest_dap_message)
            return error(ErrorKind::limit, "a message of {} bytes; allowed: {}", *length, longest_dap_message);
        std::size_t begin = end + end_of_header.size();
        if (begun_.size() - begin < *length)
            return out;
        if (is_too_deep(std::string_view(begun_).substr(begin, *length)))
            return error(ErrorKind::limit, "a message is nested more than {} deep", deepest);
        auto message = nlohmann::json::parse(std::string_view(begun_).substr(begin, *length), nullptr, false);
        if (!message.is_object())
            return error(ErrorKind::invalid, "a message is no JSON object: '{}'",
                         printable(std::string_view(begun_).substr(begin, std::min<std::size_t>(*length, 60)), 100));
        out.push_back(std::move(message));
        begun_.erase(0, begin + *length);
    }
}

std::string dap_frame(const nlohmann::json &message) {
    std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text);
}

} // namespace pmixhost
