// See sealer.h.
#include "plugins/kit/sealer.h"

#include <cstdlib>
#include <munge.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

Error munge_error(std::string_view what, munge_ctx_t context, munge_err_t code) {
    const char *text = context ? munge_ctx_strerror(context) : nullptr;
    return error(ErrorKind::unreachable, "munge {}: {}", what, text ? text : munge_strerror(code));
}

struct MungeContext {
    munge_ctx_t context = munge_ctx_create();
    MungeContext() = default;
    MungeContext(const MungeContext &) = delete;
    ~MungeContext() { munge_ctx_destroy(context); }
};

} // namespace

Result<std::string> MungeSealer::seal(std::string_view payload) {
    MungeContext munge;
    munge_err_t code = munge.context ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
    if (code == EMUNGE_SUCCESS)
        code = munge_ctx_set(munge.context, MUNGE_OPT_UID_RESTRICTION, geteuid());
    char *credential = nullptr;
    if (code == EMUNGE_SUCCESS)
        code = munge_encode(&credential, munge.context, payload.data(), static_cast<int>(payload.size()));
    std::string text = credential ? credential : "";
    std::free(credential);
    if (code != EMUNGE_SUCCESS)
        return munge_error("encode", munge.context, code);
    return text;
}

Result<Sealer::Opened> MungeSealer::open(const std::string &sealed) {
    MungeContext munge;
    void *payload = nullptr;
    int length = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    munge_err_t code =
        munge.context ? munge_decode(sealed.c_str(), munge.context, &payload, &length, &uid, &gid) : EMUNGE_NO_MEMORY;
    std::string bytes;
    if (payload && length > 0)
        bytes.assign(static_cast<char *>(payload), static_cast<std::size_t>(length));
    std::free(payload);
    if (code != EMUNGE_SUCCESS)
        return munge_error("decode", munge.context, code);
    return Opened{std::move(bytes), uid};
}

Result<void> can_seal(Sealer &sealer) {
    auto sealed = sealer.seal({});
    if (sealed)
        return {};
    return error(
        ErrorKind::unreachable,
        "{}. The hosts of a step prove with munge, in its usual socket, that they are of one user, also where "
        "Slurm itself does without (AuthType=auth/slurm) or has another socket (AuthInfo): start munged on all "
        "hosts, with one key, or use one host",
        sealed.failure().text);
}

} // namespace pmixhost::kit
