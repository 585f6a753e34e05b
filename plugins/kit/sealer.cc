// See sealer.h.
#include "plugins/kit/sealer.h"

#include "common/start/step_secret.h"

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

SecretSealer::SecretSealer(std::string_view secret) : box_(secret, "message for the starter") {}

Result<std::string> SecretSealer::seal(std::string_view payload) {
    return box_.seal(payload);
}

Result<Sealer::Opened> SecretSealer::open(const std::string &sealed) {
    auto payload = box_.open(sealed);
    if (!payload)
        return payload.failure();
    return Opened{std::move(*payload), geteuid()};
}

std::unique_ptr<Sealer> make_sealer(std::string_view step_secret) {
    if (step_secret.empty())
        return std::make_unique<MungeSealer>();
    return std::make_unique<SecretSealer>(step_secret);
}

Result<void> can_seal(Sealer &sealer) {
    auto sealed = sealer.seal({});
    return sealed ? Result<void>() : Result<void>(sealed.failure());
}

std::string secret_for_step(Sealer &munge, std::string inherited) {
    if (!inherited.empty() || can_seal(munge))
        return inherited;
    return new_step_secret();
}

} // namespace pmixhost::kit
