// See fault.h.
#include "plugins/local/fault.h"

#include "common/config/config_values.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"

namespace pmixhost::local {

static std::string_view next_part(std::string_view &rest) {
    return take_until(rest, ',');
}

// One KEY=VALUE. False when the fault has no such key or the value is none of its values.
static bool set_parameter(Fault &fault, std::string_view key, std::string_view value, bool &when) {
    bool ends = fault.kind == Fault::Kind::kill || fault.kind == Fault::Kind::stop;
    if (key == "host") {
        auto host = parse_number(value, no_host - 1);
        fault.host = host ? static_cast<HostIndex>(*host) : 0;
        return host.ok();
    }
    bool link = fault.kind == Fault::Kind::link_drop || fault.kind == Fault::Kind::link_delay;
    if (link && key == "peer") {
        auto peer = parse_number(value, no_host - 1);
        fault.peer = peer ? static_cast<HostIndex>(*peer) : no_host;
        return peer.ok();
    }
    if (fault.kind == Fault::Kind::link_drop && key == "messages") {
        auto messages = parse_number(value, UINT32_MAX);
        fault.messages = messages ? *messages : 0;
        return messages.ok();
    }
    if (ends && key == "at" && !when) {
        when = true;
        return value == "contact";
    }
    if (fault.kind == Fault::Kind::drop_contact && key == "count") {
        auto count = parse_number(value, UINT32_MAX);
        fault.count = count ? static_cast<std::uint32_t>(*count) : 0;
        return count.ok();
    }
    auto duration = parse_duration(value);
    if (!duration)
        return false;
    if (ends && key == "after" && !when) {
        when = true;
        fault.after = *duration;
        return true;
    }
    if ((fault.kind == Fault::Kind::delay_contact || fault.kind == Fault::Kind::link_delay) && key == "by") {
        when = true;
        fault.by = *duration;
        return true;
    }
    return false;
}

Result<Fault> parse_fault(std::string_view spec, HostIndex host_count) {
    std::string_view rest = spec;
    auto name = next_part(rest);
    Fault fault;
    if (name == "kill")
        fault.kind = Fault::Kind::kill;
    else if (name == "stop")
        fault.kind = Fault::Kind::stop;
    else if (name == "drop-contact")
        fault.kind = Fault::Kind::drop_contact;
    else if (name == "delay-contact")
        fault.kind = Fault::Kind::delay_contact;
    else if (name == "link-drop")
        fault.kind = Fault::Kind::link_drop;
    else if (name == "link-delay")
        fault.kind = Fault::Kind::link_delay;
    else
        return error(ErrorKind::invalid,
                     "fault '{}': allowed are kill, stop, drop-contact, delay-contact, link-drop and "
                     "link-delay",
                     printable(spec));
    bool link = fault.kind == Fault::Kind::link_drop || fault.kind == Fault::Kind::link_delay;
    bool host = false;
    bool when = fault.kind == Fault::Kind::drop_contact || fault.kind == Fault::Kind::link_drop;
    while (!rest.empty()) {
        auto part = next_part(rest);
        auto equals = part.find('=');
        auto key = part.substr(0, equals);
        auto value = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
        if (!set_parameter(fault, key, value, when))
            return error(ErrorKind::invalid, "fault '{}': '{}' is not right here", printable(spec), printable(part));
        host |= key == "host";
    }
    if (host && link && fault.peer == no_host)
        return error(ErrorKind::invalid, "fault '{}': peer=H is missing", printable(spec));
    if (host && link && fault.peer == fault.host)
        return error(ErrorKind::invalid, "fault '{}': host and peer are one", printable(spec));
    if (!host || !when)
        return error(ErrorKind::invalid, "fault '{}': {} is missing", printable(spec),
                     !host ? "host=H"
                     : fault.kind == Fault::Kind::delay_contact || fault.kind == Fault::Kind::link_delay
                         ? "by=TIME"
                         : "after=TIME or at=contact");
    if (fault.host >= host_count || (link && fault.peer >= host_count))
        return error(ErrorKind::invalid, "fault '{}': there are only {} hosts, 0 to {}", printable(spec), host_count,
                     host_count - 1);
    return fault;
}

} // namespace pmixhost::local
