// See starter_message.h.
#include "plugins/kit/starter_message.h"

#include "common/text/printable.h"

namespace pmixhost::kit {

namespace {

using Kind = StarterMessage::Kind;

// Compares in a time that does not depend on where they differ.
bool same_cookie(std::string_view bytes, const Cookie &cookie) {
    unsigned char difference = 0;
    for (std::size_t i = 0; i < cookie.size(); ++i)
        difference |= static_cast<unsigned char>(bytes[i]) ^ cookie[i];
    return difference == 0;
}

std::size_t most_bytes(Kind kind) {
    return kind == Kind::invitation ? max_invitation : kind == Kind::ended ? max_ends_text : max_report_text;
}

bool makes_sense(const StarterMessage &message) {
    switch (message.kind) {
    case Kind::exit_report:
    case Kind::note:
        return message.status >= 0 && message.status <= 255;
    case Kind::launched:
    case Kind::invitation:
        return true;
    case Kind::tools:
    case Kind::kept:
    case Kind::started:
        return message.status == 0;
    case Kind::ended:
        return message.status == 0 || message.status == 1;
    }
    return false;
}

} // namespace

StarterMessage ExitReport::message() const {
    return {Kind::exit_report, exit_status & 0xff, text};
}

Result<ExitReport> ExitReport::of(StarterMessage message) {
    if (message.kind != Kind::exit_report)
        return error(ErrorKind::invalid, "a message for the starter is no exit report");
    return ExitReport{message.status, std::move(message.body)};
}

Result<std::string> seal_message(const Cookie &cookie, const StarterMessage &message, Sealer &sealer) {
    bool bytes = message.kind == Kind::invitation;
    if (bytes && message.body.size() > max_invitation)
        return error(ErrorKind::limit, "an invitation of {} bytes", message.body.size());
    std::string body = bytes ? message.body : one_line(message.body, most_bytes(message.kind));
    std::string payload(reinterpret_cast<const char *>(cookie.data()), cookie.size());
    put_u32(payload, static_cast<std::uint32_t>(message.kind));
    put_u32(payload, static_cast<std::uint32_t>(message.status));
    put_u32(payload, static_cast<std::uint32_t>(body.size()));
    payload += body;
    auto sealed = sealer.seal(payload);
    if (!sealed)
        return sealed.failure();
    if (sealed->size() > max_credential)
        return error(ErrorKind::limit, "a message for the starter: the credential has {} bytes", sealed->size());
    return make_frame(starter_magic, *sealed);
}

Result<StarterMessage> open_message(std::string_view frame, const Cookie &cookie, uid_t own_uid, Sealer &sealer) {
    if (frame_progress(frame) != FrameProgress::whole || frame_magic(frame) != starter_magic)
        return error(ErrorKind::invalid, "a message for the starter is garbled");
    auto opened = sealer.open(std::string(frame_body(frame)));
    if (!opened)
        return opened.failure();
    std::string_view payload = opened->payload;
    constexpr std::size_t fixed = std::tuple_size_v<Cookie> + 12;
    if (opened->uid != own_uid && opened->uid != 0)
        return error(ErrorKind::denied, "a message for the starter comes from uid {}", opened->uid);
    if (payload.size() < fixed || !same_cookie(payload, cookie))
        return error(ErrorKind::denied, "a message for the starter is of another step");
    StarterMessage message;
    message.kind = static_cast<StarterMessage::Kind>(get_u32(payload.substr(16)));
    message.status = static_cast<int>(get_u32(payload.substr(20)));
    std::uint32_t length = get_u32(payload.substr(24));
    if (!makes_sense(message) || length > most_bytes(message.kind) || payload.size() != fixed + length)
        return error(ErrorKind::invalid, "a message for the starter is garbled");
    message.body = payload.substr(fixed);
    if (message.kind != Kind::invitation)
        message.body = one_line(message.body, most_bytes(message.kind));
    return message;
}

} // namespace pmixhost::kit
