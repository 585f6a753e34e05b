// See credential.h.
#include "common/transport/credential.h"

#include <cstdlib>
#include <memory>
#include <munge.h>
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

Result<Identity> check_credential(const Bytes &credential) {
    // c_str: munge wants a C string; bytes after a NUL would be ignored, so refuse them.
    if (credential.find('\0') != Bytes::npos)
        return error(ErrorKind::denied, "munge: the credential is not text");
    void *payload = nullptr;
    int length = 0;
    Identity from;
    munge_err_t code = munge_decode(credential.c_str(), nullptr, &payload, &length, &from.uid, &from.gid);
    std::unique_ptr<void, decltype(&::free)> owner(payload, &::free);
    if (code != EMUNGE_SUCCESS)
        return failure_of(code);
    if (std::string_view(static_cast<const char *>(payload), static_cast<std::size_t>(length)) != purpose)
        return error(ErrorKind::denied, "the credential was made for another purpose");
    return from;
}

} // namespace pmixhost
