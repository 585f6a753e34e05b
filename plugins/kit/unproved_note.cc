// See unproved_note.h.
#include "plugins/kit/unproved_note.h"

#include "common/text/printable.h"
#include "common/transport/secret_box.h"
#include "plugins/kit/starter_message.h"

#include <algorithm>

namespace pmixhost::kit {

static SecretBox box_of(const Cookie &cookie) {
    return SecretBox({reinterpret_cast<const char *>(cookie.data()), cookie.size()}, "unproved note for the starter");
}

bool is_unproved_note(std::string_view frame) {
    return frame_magic(frame) == unproved_magic;
}

Result<std::string> seal_unproved_note(const Cookie &cookie, std::string_view text) {
    auto sealed = box_of(cookie).seal(one_line(text, max_report_text));
    if (!sealed)
        return sealed.failure();
    return make_frame(unproved_magic, *sealed);
}

Result<std::string> open_unproved_note(std::string_view frame, const Cookie &cookie) {
    auto text = box_of(cookie).open(frame_body(frame));
    if (!text)
        return text.failure();
    // Bytes of other alphabets may be controls of a terminal as well.
    std::string line = one_line(*text, max_report_text);
    std::replace_if(
        line.begin(), line.end(), [](unsigned char byte) { return byte >= 0x80; }, '?');
    return line;
}

} // namespace pmixhost::kit
