// See authenticator.h.
#include "common/transport/authenticator.h"

#include "common/loop/slow_calls.h"
#include "common/transport/secret_box.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <munge.h>
#include <thread>

namespace pmixhost {

namespace {

struct ContextDeleter {
    void operator()(munge_ctx *context) const { munge_ctx_destroy(context); }
};

Result<Bytes> munge_prove(uid_t uid, const Bytes &statement) {
    std::unique_ptr<munge_ctx, ContextDeleter> context(munge_ctx_create());
    if (!context)
        return error(ErrorKind::system, "munge: no memory");
    if (munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, uid) != EMUNGE_SUCCESS)
        return error(ErrorKind::system, "munge: {}", munge_ctx_strerror(context.get()));
    // The statement has a secret in it: whatever the site's default, munge must encrypt it.
    if (munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128) != EMUNGE_SUCCESS)
        return error(ErrorKind::system, "munge: {}", munge_ctx_strerror(context.get()));
    char *credential = nullptr;
    munge_err_t code = munge_encode(&credential, context.get(), statement.data(), static_cast<int>(statement.size()));
    std::unique_ptr<char, decltype(&::free)> owner(credential, &::free);
    if (code != EMUNGE_SUCCESS)
        return error(ErrorKind::unreachable, "munge cannot make a credential: {}; is munged running?",
                     munge_strerror(code));
    return Bytes(credential);
}

// munged may be about to be started again, and a proof that is not looked at costs its host the step: the other
// side holds the connection for open. It was not asked, so the proof has not been used.
constexpr int asked_again = 50;
constexpr std::chrono::milliseconds before_that(100);

Result<Bytes> munge_verify(uid_t uid, const Bytes &proof) {
    void *payload = nullptr;
    int length = 0;
    uid_t from = static_cast<uid_t>(-1);
    gid_t group;
    // c_str: munge wants a C string; bytes after a NUL would be ignored, so refuse them.
    if (proof.find('\0') != Bytes::npos)
        return error(ErrorKind::denied, "munge: the credential is not text");
    munge_err_t code = munge_decode(proof.c_str(), nullptr, &payload, &length, &from, &group);
    for (int again = 0; code == EMUNGE_SOCKET && again < asked_again; ++again) {
        std::this_thread::sleep_for(before_that);
        code = munge_decode(proof.c_str(), nullptr, &payload, &length, &from, &group);
    }
    std::unique_ptr<void, decltype(&::free)> owner(payload, &::free);
    if (code != EMUNGE_SUCCESS)
        return error(ErrorKind::denied, "munge refuses the credential: {}", munge_strerror(code));
    if (from != uid)
        return error(ErrorKind::denied, "the credential is of uid {}, not {}", from, uid);
    return Bytes(static_cast<const char *>(payload), static_cast<std::size_t>(length));
}

// A parent in the step's tree makes and looks at a proof for each of its children before the first fence, and munged
// has two threads unless the site gives it more (munged --num-threads): a second question is answered while it works on
// the first. Answers may then come in another order than questions. Nobody minds: each handshake has one question at a
// time, the next being made of what the answer to the last was, and different handshakes know nothing of each other;
// that a proof is accepted once is munged's own affair, which decides for one of two at the same time. libmunge is safe
// for it: no context is shared by two threads (munge_ctx(3)).
constexpr SlowCalls::Threads munge_threads{.at_once = 2};

class MungeAuthenticator final : public Authenticator {
  public:
    MungeAuthenticator(EventLoop &loop, uid_t uid) : calls_(loop, SIZE_MAX, munge_threads), uid_(uid) {}
    void prove(Bytes statement, Done done) override {
        calls_.run_alone(
            TimePoint::max(), [uid = uid_, statement = std::move(statement)] { return munge_prove(uid, statement); },
            std::move(done));
    }
    void verify(Bytes proof, Done done) override {
        calls_.run_alone(
            TimePoint::max(), [uid = uid_, proof = std::move(proof)] { return munge_verify(uid, proof); },
            std::move(done));
    }

  private:
    SlowCalls calls_;
    uid_t uid_;
};

class SecretAuthenticator final : public Authenticator {
  public:
    explicit SecretAuthenticator(const Bytes &secret) : box_(secret, "proof of a daemon") {}
    void prove(Bytes statement, Done done) override { done(box_.seal(statement)); }
    void verify(Bytes proof, Done done) override { done(box_.open(proof)); }

  private:
    SecretBox box_;
};

} // namespace

std::unique_ptr<Authenticator> make_munge_authenticator(EventLoop &loop, uid_t uid) {
    return std::make_unique<MungeAuthenticator>(loop, uid);
}
std::unique_ptr<Authenticator> make_secret_authenticator(const Bytes &secret) {
    return std::make_unique<SecretAuthenticator>(secret);
}

} // namespace pmixhost
