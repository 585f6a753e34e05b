// See start_document.h.
#include "common/start/start_document.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <unistd.h>

namespace pmixhost {

static bool valid_key(std::string_view key) {
    if (key.empty() || key.size() > 64)
        return false;
    for (char c : key) {
        bool ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
        if (!ok)
            return false;
    }
    return true;
}

Result<void> StartDocument::add(std::string_view key, std::string_view value) {
    if (!valid_key(key))
        return error(ErrorKind::invalid, "start document: '{}' is no key", key);
    if (value.find_first_of(std::string_view("\n\0", 2)) != std::string_view::npos)
        return error(ErrorKind::invalid, "start document: the value of {} has a line break", key);
    if (pairs_.size() >= max_lines)
        return error(ErrorKind::limit, "start document: over {} lines", max_lines);
    pairs_.emplace_back(key, value);
    return {};
}

std::string StartDocument::encode() const {
    std::string text;
    for (const auto &[key, value] : pairs_) {
        text += key;
        text += ' ';
        text += value;
        text += '\n';
    }
    return text;
}

Result<StartDocument> StartDocument::decode(std::string_view text) {
    if (text.size() > max_bytes)
        return error(ErrorKind::limit, "start document: over {} bytes", max_bytes);
    StartDocument document;
    while (!text.empty()) {
        auto end = text.find('\n');
        if (end == std::string_view::npos)
            return error(ErrorKind::invalid, "start document: the last line is cut off");
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        auto space = line.find(' ');
        if (space == std::string_view::npos)
            return error(ErrorKind::invalid, "start document: a line without a value");
        if (auto added = document.add(line.substr(0, space), line.substr(space + 1)); !added)
            return added.failure();
    }
    return document;
}

Result<StartDocument> StartDocument::read_from(int fd) {
    std::string text;
    char buffer[65536];
    for (;;) {
        ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error("start document", errno);
        if (n == 0)
            return decode(text);
        text.append(buffer, static_cast<std::size_t>(n));
        if (text.size() > max_bytes)
            return error(ErrorKind::limit, "start document: over {} bytes", max_bytes);
    }
}

Result<std::string> StartDocument::text(std::string_view key) const {
    for (const auto &pair : pairs_) {
        if (pair.first == key)
            return pair.second;
    }
    return error(ErrorKind::not_found, "start document: no {}", key);
}

Result<std::uint64_t> StartDocument::number(std::string_view key, std::uint64_t max) const {
    auto value = text(key);
    if (!value)
        return value.failure();
    std::uint64_t number = 0;
    const char *end = value->data() + value->size();
    auto [stop, code] = std::from_chars(value->data(), end, number);
    if (code != std::errc() || stop != end || number > max)
        return error(ErrorKind::invalid, "start document: {} is '{}', not a number up to {}", key, *value, max);
    return number;
}

std::vector<std::string> StartDocument::all(std::string_view key) const {
    std::vector<std::string> values;
    for (const auto &pair : pairs_) {
        if (pair.first == key)
            values.push_back(pair.second);
    }
    return values;
}

bool StartDocument::has(std::string_view key) const {
    return text(key).ok();
}

} // namespace pmixhost
