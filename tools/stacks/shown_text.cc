// See shown_text.h.
#include "tools/stacks/shown_text.h"

#include <fmt/format.h>

namespace pmixhost {

namespace {

// The length of the UTF-8 character that begins here and may be shown; 0: there is none.
std::size_t shown_character(std::string_view text) {
    auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80)
        return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
    std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length)
        return 0;
    char32_t code = byte(0) & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    bool overlong = (length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff));
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    bool control = code < 0xa0 || code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
                   (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
    return overlong || surrogate || control ? 0 : length;
}

} // namespace

std::string shown_text(std::string_view text, std::size_t max) {
    std::string out;
    while (!text.empty()) {
        std::size_t length = shown_character(text);
        std::string piece(text.substr(0, length));
        if (length == 0)
            piece = fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
        if (out.size() + piece.size() > max)
            return out + "...";
        out += piece;
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

std::string markup_text(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        case '\'':
            out += "&#39;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

} // namespace pmixhost
