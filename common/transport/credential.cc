// See credential.h.
#include "common/transport/credential.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <memory>
#include <munge.h>
#include <netinet/in.h>
#include <string_view>

namespace pmixhost {

// What a credential says. One that somebody got for another purpose (a daemon's proof, another
// service's) says something else, and is none.
static constexpr std::string_view purpose = "pmixhost: a credential of PMIx_Get_credential";

static Error failure_of(munge_err_t code) {
    switch (code) {
    case EMUNGE_SOCKET:
        return error(ErrorKind::unsupported, "munged cannot be reached: {}", munge_strerror(code));
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
    case EMUNGE_BAD_LENGTH:
    case EMUNGE_CRED_INVALID:
    case EMUNGE_CRED_EXPIRED:
    case EMUNGE_CRED_REWOUND:
    case EMUNGE_CRED_REPLAYED:
    case EMUNGE_CRED_UNAUTHORIZED:
        return error(ErrorKind::denied, "munge refuses the credential: {}", munge_strerror(code));
    default:
        return error(ErrorKind::system, "munge: {}", munge_strerror(code));
    }
}

Result<Bytes> make_credential() {
    char *credential = nullptr;
    munge_err_t code = munge_encode(&credential, nullptr, purpose.data(), static_cast<int>(purpose.size()));
    std::unique_ptr<char, decltype(&::free)> owner(credential, &::free);
    if (code != EMUNGE_SUCCESS)
        return failure_of(code);
    return Bytes(credential);
}

namespace {

struct Decoded {
    munge_err_t code;
    Identity from;
    Bytes payload;
};
// `context` may be null. c_str: munge wants a C string; bytes after a NUL would be ignored, so refuse them.
Result<Decoded> decode(const Bytes &credential, munge_ctx_t context) {
    if (credential.find('\0') != Bytes::npos)
        return error(ErrorKind::denied, "munge: the credential is not text");
    void *payload = nullptr;
    int length = 0;
    Decoded out;
    out.code = munge_decode(credential.c_str(), context, &payload, &length, &out.from.uid, &out.from.gid);
    std::unique_ptr<void, decltype(&::free)> owner(payload, &::free);
    if (payload && length > 0)
        out.payload.assign(static_cast<const char *>(payload), static_cast<std::size_t>(length));
    return out;
}

// As munge writes it: "MUNGE:", base64, ":". It takes other forms as well (with spaces, say): of a credential that is
// not to come twice each of these would be another one.
bool is_as_munge_writes(std::string_view credential) {
    constexpr std::string_view before = "MUNGE:", after = ":";
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (credential.size() <= before.size() + after.size() || !credential.starts_with(before) ||
        !credential.ends_with(after))
        return false;
    credential.remove_prefix(before.size());
    credential.remove_suffix(after.size());
    std::size_t last = credential.find_last_not_of('='), padding = credential.size() - last - 1;
    if (credential.size() % 4 != 0 || last == credential.npos || padding > 2)
        return false;
    credential.remove_suffix(padding);
    // Bits behind the last byte are nothing.
    std::size_t unused = padding == 2 ? 15 : padding == 1 ? 3 : 0;
    return credential.find_first_not_of(digits) == credential.npos && (digits.find(credential.back()) & unused) == 0;
}

// Where the name of a host leads to itself alone, its munged has such an address.
std::string address_of(munge_ctx_t context) {
    in_addr address{};
    if (munge_ctx_get(context, MUNGE_OPT_ADDR4, &address) != EMUNGE_SUCCESS || address.s_addr == htonl(INADDR_ANY) ||
        ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET)
        return {};
    char text[INET_ADDRSTRLEN] = "";
    return ::inet_ntop(AF_INET, &address, text, sizeof text) ? text : "";
}

} // namespace

Result<Identity> check_credential(const Bytes &credential) {
    auto decoded = decode(credential, nullptr);
    if (!decoded)
        return decoded.failure();
    if (decoded->code != EMUNGE_SUCCESS)
        return failure_of(decoded->code);
    if (decoded->payload != purpose)
        return error(ErrorKind::denied, "the credential was made for another purpose");
    return decoded->from;
}

Result<PlainCredential> check_plain_credential(const Bytes &credential, Use use) {
    std::unique_ptr<munge_ctx, decltype(&munge_ctx_destroy)> context(munge_ctx_create(), &munge_ctx_destroy);
    if (!context)
        return error(ErrorKind::system, "munge: no memory");
    if (!is_as_munge_writes(credential))
        return error(ErrorKind::denied, "the credential is not as munge writes one");
    auto decoded = decode(credential, context.get());
    if (!decoded)
        return decoded.failure();
    // munge says of one that was checked before what it says of the first time.
    bool is_good = decoded->code == EMUNGE_SUCCESS || (use == Use::again && decoded->code == EMUNGE_CRED_REPLAYED);
    if (!is_good)
        return failure_of(decoded->code);
    if (!decoded->payload.empty())
        return error(ErrorKind::denied, "the credential was made for another purpose");
    return PlainCredential{decoded->from, address_of(context.get())};
}

} // namespace pmixhost
