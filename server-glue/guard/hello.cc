// See hello.h.
#include "server-glue/guard/hello.h"

#include "common/text/printable.h"
#include "server-glue/guard/hello_directives.h"

#include <cstring>

namespace pmixhost {

namespace {

constexpr Rank max_rank = UINT32_MAX - 50; // PMIX_RANK_VALID
constexpr auto of_old = "it is a tool of a PMIx library before 3.0; those are not served";
constexpr std::size_t max_name = 255; // PMIX_MAX_NSLEN; module names and versions are much shorter

// Takes fields off the front; after the first that is not there, nothing is.
class Fields {
  public:
    explicit Fields(std::string_view rest) : rest_(rest) {}
    bool ok() const { return ok_; }
    std::string_view rest() const { return rest_; }
    std::string_view take(std::size_t size) {
        if (size > rest_.size())
            return fail();
        std::string_view out = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return out;
    }
    std::string name() {
        std::size_t end = rest_.find('\0');
        if (end == std::string_view::npos || end > max_name) {
            fail();
            return {};
        }
        std::string out(take(end));
        take(1);
        return out;
    }
    std::uint32_t number() {
        std::uint32_t value = 0;
        for (char c : take(4))
            value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }
    std::uint8_t byte() {
        std::string_view one = take(1);
        return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
    }

  private:
    std::string_view fail() {
        ok_ = false;
        return rest_ = {};
    }
    std::string_view rest_;
    bool ok_ = true;
};

std::uint32_t host_order(std::string_view bytes) {
    std::uint32_t value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

std::string as_stored(std::uint32_t value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

bool states_owner(HelloKind kind) {
    return kind != HelloKind::client;
}

bool states_name(HelloKind kind) {
    switch (kind) {
    case HelloKind::client:
    case HelloKind::tool_with_name:
    case HelloKind::tool_of_server:
    case HelloKind::launcher_with_name:
    case HelloKind::launcher_of_server:
    case HelloKind::singleton:
    case HelloKind::scheduler:
        return true;
    default:
        return false;
    }
}

// Are they registered by the host before they start, as a job's processes are?
bool registered_kind(HelloKind kind) {
    return kind == HelloKind::client || kind == HelloKind::tool_of_server || kind == HelloKind::launcher_of_server;
}

// NUMBER.NUMBER.NUMBER, and perhaps more: the library reads the three without looking for an end.
bool is_version(std::string_view text) {
    for (int part = 0; part < 3; ++part) {
        std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == 0 || digits > 3)
            return false;
        text.remove_prefix(digits);
        if (part < 2) {
            if (text.empty() || text.front() != '.')
                return false;
            text.remove_prefix(1);
        }
    }
    return true;
}

// One name: of a list the library takes whichever it knows.
bool is_packing_module(std::string_view name) {
    return name.size() > 1 && name.front() == 'v' && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}
// Those of a library before 3.0.
bool packs_as_of_old(std::string_view name) {
    return name == "v12" || name == "v20" || name == "v21";
}

// What libpmix' module "native" makes: uid and gid, in the host's byte order.
Result<void> native_credential_is(const Hello &hello, uid_t uid, gid_t gid) {
    if (hello.credential.size() != 8)
        return error(ErrorKind::invalid, "its credential has {} bytes instead of 8", hello.credential.size());
    uid_t said_uid = host_order(std::string_view(hello.credential).substr(0, 4));
    gid_t said_gid = host_order(std::string_view(hello.credential).substr(4, 4));
    if (said_uid != uid)
        return error(ErrorKind::denied, "it claims uid {} and is of uid {}", said_uid, uid);
    if (said_gid != gid)
        return error(ErrorKind::denied, "its group is {}, but the process is known with group {}", said_gid, gid);
    return {};
}

} // namespace

Result<std::size_t> hello_size(std::string_view header) {
    if (header.size() < hello_header_size)
        return error(ErrorKind::invalid, "there is no whole header");
    if (host_order(header) != 0xffffffffu || host_order(header.substr(4)) != 0xffffffffu)
        return error(ErrorKind::invalid, "this is not the first message of a PMIx process");
    std::size_t rest = host_order(header.substr(8));
    if (rest > max_hello - hello_header_size)
        return error(ErrorKind::limit, "its first message has {} bytes, more than {}", rest + hello_header_size,
                     max_hello);
    return rest + hello_header_size;
}

Result<Hello> parse_hello(std::string_view message) {
    auto size = hello_size(message);
    if (!size)
        return size.failure();
    if (*size != message.size())
        return error(ErrorKind::invalid, "its first message is not all there");
    Fields fields(message.substr(hello_header_size));
    Hello hello;
    hello.psec = fields.name();
    hello.credential = fields.take(fields.number());
    std::uint8_t kind = fields.byte();
    if (fields.ok() && kind > static_cast<std::uint8_t>(HelloKind::scheduler))
        return error(ErrorKind::invalid, "it is of kind {}, which is not known", kind);
    hello.kind = static_cast<HelloKind>(kind);
    if (states_owner(hello.kind)) {
        hello.uid = fields.number();
        hello.gid = fields.number();
    }
    if (states_name(hello.kind)) {
        hello.nspace = fields.name();
        hello.rank = fields.number();
    }
    hello.version = fields.name();
    if (fields.ok() && !is_version(hello.version))
        return error(ErrorKind::invalid, "'{}' is no version of PMIx", printable(hello.version));
    if (!hello.version.starts_with("2.0.")) {
        hello.bfrops = fields.name();
        const std::uint8_t buffer_type = fields.byte();
        hello.gds = fields.name();
        if (fields.ok() && !is_packing_module(hello.bfrops))
            return error(ErrorKind::invalid, "'{}' is no way in which PMIx packs data", printable(hello.bfrops));
        const bool is_old = packs_as_of_old(hello.bfrops), is_client = hello.kind == HelloKind::client;
        if (fields.ok() && is_old && !is_client)
            return error(ErrorKind::denied, "{}", of_old);
        // Who sends none leaves a zero behind the names.
        const bool sends_any = fields.rest().find_first_not_of('\0') != std::string_view::npos;
        if (!is_old && sends_any) {
            auto directives = stated_directives(hello.bfrops, buffer_type, fields.rest());
            if (!directives && !is_client)
                return error(ErrorKind::invalid, "how many directives it sends cannot be read; is PMIX_MCA_psquash "
                                                 "set in its environment?");
            // Each takes more than a byte.
            if (directives && *directives > fields.rest().size())
                return error(ErrorKind::limit, "it says that it sends {} directives, in {} bytes", *directives,
                             fields.rest().size());
        }
    }
    if (!fields.ok())
        return error(ErrorKind::invalid, "its first message ends too early");
    return hello;
}

std::string with_native_identity(std::string_view message, uid_t uid, gid_t gid) {
    Fields fields(message.substr(hello_header_size));
    fields.name();
    fields.take(fields.number());
    std::string rest = "native";
    rest += '\0';
    rest += std::string("\0\0\0\x8", 4); // of the credential
    rest += as_stored(uid) + as_stored(gid);
    rest += fields.rest();
    std::string out(message.substr(0, hello_header_size));
    out.replace(8, 4, as_stored(static_cast<std::uint32_t>(rest.size())));
    return out + rest;
}

Result<void> admissible(const Hello &hello, uid_t peer, const std::optional<ProcessOwner> &registered,
                        bool known_nspace) {
    if (hello.uid && *hello.uid != peer)
        return error(ErrorKind::denied, "it claims uid {} and is of uid {}", *hello.uid, peer);
    if (registered_kind(hello.kind)) {
        if (!registered)
            return error(ErrorKind::denied, "it wants to be rank {} of '{}', which is no process of this host",
                         hello.rank, printable(hello.nspace));
        // Its environment asks for this module. Each failure of another one in the library would take the
        // name away from the process whose it is.
        if (hello.psec != "native")
            return error(ErrorKind::denied,
                         "rank {} of '{}' uses the security module '{}' instead of 'native': is PMIX_MCA_psec or "
                         "PMIX_SECURITY_MODE set in its environment?",
                         hello.rank, printable(hello.nspace), printable(hello.psec));
        if (registered->uid != peer)
            return error(ErrorKind::denied, "rank {} of '{}' is a process of uid {}", hello.rank,
                         printable(hello.nspace), registered->uid);
        return native_credential_is(hello, peer, registered->gid);
    }
    if (hello.kind == HelloKind::legacy_tool || hello.kind == HelloKind::legacy_launcher)
        return error(ErrorKind::denied, "{}", of_old);
    // To the library, no namespace is every one's, and a rank beyond these is many.
    if (states_name(hello.kind) && (hello.nspace.empty() || hello.rank > max_rank))
        return error(ErrorKind::denied, "a tool calls itself rank {} of '{}', which is no name", hello.rank,
                     printable(hello.nspace));
    // Tools have no environment of ours and may use munge, which the library checks.
    if (known_nspace)
        return error(ErrorKind::denied, "a tool calls itself '{}', which is the name of a job",
                     printable(hello.nspace));
    if (hello.psec == "native")
        return native_credential_is(hello, peer, hello.gid.value_or(0));
    if (hello.psec != "munge")
        return error(ErrorKind::denied, "a tool uses the security module '{}'; known are native and munge",
                     printable(hello.psec));
    return {};
}

} // namespace pmixhost
